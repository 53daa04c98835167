/**
 * Event cursors of one tab: drops duplicate events and buffers events while a snapshot is being fetched.
 *
 * A snapshot fetched by HTTP has a cursor. Events received during the request are buffered; those up to
 * the cursor are dropped.
 */
import type { Frame } from '../../lib/schema/event.ts'
import { parseCursor, type Source } from './stream.ts'

export type SnapshotRequest = { source: Source }

type SourceState = {
  boot: string
  n: number
  buffered: Frame[] | null
  request: SnapshotRequest | null
}

export type EventCursorsOptions = {
  deliver: (frame: Frame) => void
  /** The source can't be resumed: fetch it, then call `completeSnapshot` with the reply's cursor. */
  refetch: (source: Source, request: SnapshotRequest) => void
}

export class EventCursors {
  readonly #options: EventCursorsOptions
  readonly #states = new Map<Source, SourceState>()

  constructor(options: EventCursorsOptions) {
    this.#options = options
  }

  readonly receive = (frame: Frame): void => {
    const state = this.#states.get(frame.source)
    if (!state) return
    if (frame.type === 'reset') {
      state.n = 0
      state.buffered = []
      this.#options.refetch(frame.source, this.beginSnapshot(frame.source))
    } else if (state.buffered) state.buffered.push(frame)
    else this.#emit(state, frame)
  }

  /** Buffers events of the source until `completeSnapshot` with this request; supersedes earlier requests. */
  beginSnapshot(source: Source): SnapshotRequest {
    const state = this.#stateOf(source)
    state.request = { source }
    state.buffered = state.buffered ?? []
    return state.request
  }

  /** Subscribes to a source that has no snapshot. */
  subscribe(source: Source): void {
    this.#stateOf(source)
  }

  /** False when the request was superseded or the source unsubscribed; the snapshot must then be discarded. */
  isCurrent(request: SnapshotRequest): boolean {
    return this.#states.get(request.source)?.request === request
  }

  completeSnapshot(request: SnapshotRequest, cursor: string | undefined): void {
    const state = this.#states.get(request.source)
    if (state?.request !== request) return
    const at = parseCursor(cursor)
    const buffered = state.buffered ?? []
    state.boot = at?.boot ?? state.boot
    state.n = at?.n ?? state.n
    state.buffered = null
    state.request = null
    for (const frame of buffered) this.#emit(state, frame)
  }

  unsubscribe(source: Source): void {
    this.#states.delete(source)
  }

  /** Cursor `<boot>-<n>` of this tab; empty while unknown. */
  cursor(source: Source): string {
    const state = this.#states.get(source)
    return state?.boot ? `${state.boot}-${state.n}` : ''
  }

  sessions(): string[] {
    return [...this.#states.keys()]
      .filter(source => source.startsWith('session:'))
      .map(source => source.slice('session:'.length))
  }

  #stateOf(source: Source): SourceState {
    let state = this.#states.get(source)
    if (!state) {
      state = { boot: '', n: 0, buffered: null, request: null }
      this.#states.set(source, state)
    }
    return state
  }

  #emit(state: SourceState, frame: Frame): void {
    if (frame.n <= state.n) return
    state.n = frame.n
    this.#options.deliver(frame)
  }
}
