/**
 * What one tab has already seen of each source: drops doubles, and holds frames back while a snapshot is on its way.
 *
 * A snapshot fetched by HTTP says with its cursor up to where it reaches; frames that came meanwhile wait here, and those
 * the snapshot contains are dropped (storage.md, A4).
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
  /** The source cannot be resumed: fetch it, then `resume` with the reply's cursor. */
  refetch: (source: Source, request: SnapshotRequest) => void
}

export const createEventCursors = ({ deliver, refetch }: EventCursorsOptions) => {
  const states = new Map<Source, SourceState>()

  const stateOf = (source: Source): SourceState => {
    let state = states.get(source)
    if (!state) {
      state = { boot: '', n: 0, buffered: null, request: null }
      states.set(source, state)
    }
    return state
  }

  /** Frames of the source wait from here until `resume` with this hold; an earlier hold is void. */
  const beginSnapshot = (source: Source): SnapshotRequest => {
    const state = stateOf(source)
    state.request = { source }
    state.buffered = state.buffered ?? []
    return state.request
  }

  const emit = (state: SourceState, frame: Frame): void => {
    if (frame.n <= state.n) return
    state.n = frame.n
    deliver(frame)
  }

  return {
    beginSnapshot,
    /** Follows a source without a snapshot, for those that have none. */
    subscribe: (source: Source): void => void stateOf(source),
    /** False when a later hold or `forget` has made this one void: the snapshot must then not be used. */
    isCurrent: (request: SnapshotRequest): boolean =>
      states.get(request.source)?.request === request,
    completeSnapshot(request: SnapshotRequest, cursor: string | undefined): void {
      const state = states.get(request.source)
      if (state?.request !== request) return
      const at = parseCursor(cursor)
      const buffered = state.buffered ?? []
      state.boot = at?.boot ?? state.boot
      state.n = at?.n ?? state.n
      state.buffered = null
      state.request = null
      for (const frame of buffered) emit(state, frame)
    },
    receive(frame: Frame): void {
      const state = states.get(frame.source)
      if (!state) return
      if (frame.type === 'reset') {
        state.n = 0
        state.buffered = []
        refetch(frame.source, beginSnapshot(frame.source))
      } else if (state.buffered) state.buffered.push(frame)
      else emit(state, frame)
    },
    unsubscribe: (source: Source): void => void states.delete(source),
    /** `<boot>-<n>` of what this tab has; empty while it does not know. */
    cursor(source: Source): string {
      const state = states.get(source)
      return state?.boot ? `${state.boot}-${state.n}` : ''
    },
    sessions: (): string[] =>
      [...states.keys()]
        .filter(source => source.startsWith('session:'))
        .map(source => source.slice('session:'.length)),
  }
}

export type EventCursors = ReturnType<typeof createEventCursors>
