/**
 * The only EventSource of the page: one connection for all sources.
 *
 * Tracks the position of each source, reconnects from there with increasing delays, detects dead connections by missing
 * pings, and changes subscriptions by opening the next connection before closing the last. Events may arrive
 * twice; receivers drop duplicates by `n`.
 */
import type { Clock } from '../../lib/base/clock.ts'
import type { Frame } from '../../lib/schema/event.ts'

export type Source = Frame['source']
export type Cursor = { boot: string; n: number }
export type Positions = ReadonlyMap<string, string>

export type StreamState =
  | { kind: 'idle' }
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'waiting'; retryAtMs: number }

type Incoming = { data: string; lastEventId: string }
export type EventSourceLike = {
  addEventListener(type: string, listener: (event: Incoming) => void): void
  close(): void
}

export type StreamOptions = {
  /** The browser drops events of other types. */
  types: readonly Frame['type'][]
  open: (query: { watch: string; after: string }) => EventSourceLike
  onFrame: (frame: Frame) => void
  onPing: () => void
  onState: (state: StreamState) => void
  /** Awaited before the next attempt: an expired session needs a sign-in first. Must not reject. */
  beforeRetry: () => Promise<void>
  clock: Clock
}

const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
/** Pings arrive every 10 s; without two of them the connection is considered dead. */
const SILENCE_MS = 22_000

export const parseCursor = (text: string | undefined): Cursor | undefined => {
  const match = /^([0-9a-f]+)-(\d+)$/.exec(text ?? '')
  return match ? { boot: match[1]!, n: Number(match[2]) } : undefined
}

/** The earlier of two cursors of one boot. Of different boots the first: the server replies with a reset anyway. */
export const earlier = (a: string, b: string): string => {
  const [x, y] = [parseCursor(a), parseCursor(b)]
  return x && y && x.boot === y.boot && y.n < x.n ? b : a
}

type Position = { at: string; since: string }

const rewind = (position: Position, to: string): boolean => {
  if (earlier(position.since, to) === position.since) return false
  Object.assign(position, { at: to, since: to })
  return true
}

export class Stream {
  readonly #options: StreamOptions
  /**
   * Position of each watched session (the cursor of its reply, or the last event id), and since when it has been
   * received without a gap.
   */
  readonly #positions = new Map<string, Position>()
  readonly #fixed: Position = { at: '', since: '' }
  #current: EventSourceLike | null = null
  #next: EventSourceLike | null = null
  #failures = 0
  #stopped = true
  #cancelTimer = () => {}
  #cancelSilence = () => {}

  constructor(options: StreamOptions) {
    this.#options = options
  }

  readonly #retry = async (): Promise<void> => {
    this.#cancelTimer()
    const attempt = this.#failures
    await this.#options.beforeRetry()
    if (!this.#stopped && attempt === this.#failures && !this.#current && !this.#next)
      this.#connect()
  }

  /** Opens the stream from `cursor`, which came with the session list. */
  start(cursor: string): void {
    if (!this.#stopped) return
    this.#stopped = false
    this.#failures = 0
    Object.assign(this.#fixed, { at: cursor, since: cursor })
    this.#connect()
  }

  /**
   * Sets the subscriptions. A new session, or one needed from an earlier position, requires a new
   * connection; an unsubscribed one is dropped with the next change.
   */
  watch(positions: Positions, list = ''): void {
    let changed = rewind(this.#fixed, list)
    for (const [id, at] of positions) {
      const position = this.#positions.get(id)
      if (!position) this.#positions.set(id, { at, since: at })
      if (!position || rewind(position, at)) changed = true
    }
    for (const id of this.#positions.keys()) if (!positions.has(id)) this.#positions.delete(id)
    if (changed && (this.#current || this.#next)) this.#connect()
  }

  /** Skips the countdown; nothing happens while a connection is up. */
  retryNow(): void {
    if (!this.#stopped && !this.#current && !this.#next) void this.#retry()
  }

  close(): void {
    this.#stopped = true
    this.#close()
    this.#positions.clear()
    this.#options.onState({ kind: 'idle' })
  }

  #resetSilenceTimer(): void {
    this.#cancelSilence()
    this.#cancelSilence = this.#options.clock.timer(SILENCE_MS, () => this.#fail())
  }

  /** An event id covers every source of its connection. */
  #advance(id: string): void {
    if (!id) return
    this.#fixed.at = id
    for (const position of this.#positions.values()) position.at = id
  }

  #connect(): void {
    const { types, open, onState, onFrame, onPing } = this.#options
    this.#cancelTimer()
    this.#next?.close()
    const watch = [...this.#positions].map(([id, { at }]) => (at ? `${id}@${at}` : id)).join(',')
    const source = open({ watch, after: this.#fixed.at })
    this.#next = source
    const alive = () => source === this.#next || source === this.#current
    this.#resetSilenceTimer()
    if (!this.#current) onState({ kind: 'connecting' })
    for (const type of types) {
      source.addEventListener(type, event => {
        if (!alive()) return
        this.#resetSilenceTimer()
        onFrame({ ...JSON.parse(event.data), type } as Frame)
        // A connection that is being replaced must not change the position of the next one.
        if (source === this.#current && !this.#next) this.#advance(event.lastEventId)
      })
    }
    source.addEventListener('ping', () => {
      if (!alive()) return
      this.#resetSilenceTimer()
      onPing()
    })
    source.addEventListener('ready', event => {
      if (!alive()) return
      this.#resetSilenceTimer()
      if (source === this.#next) {
        this.#current?.close()
        this.#current = source
        this.#next = null
        this.#failures = 0
        onState({ kind: 'live' })
      }
      if (source === this.#current && !this.#next) this.#advance(event.lastEventId)
    })
    source.addEventListener('error', () => {
      if (source === this.#next) this.#fail()
      else if (source === this.#current) {
        source.close()
        this.#current = null
        // If the next connection is already opening, its result decides.
        if (!this.#next) this.#fail()
      }
    })
  }

  #close(): void {
    this.#cancelTimer()
    this.#cancelSilence()
    this.#next?.close()
    this.#current?.close()
    this.#next = null
    this.#current = null
  }

  #fail(): void {
    const { onState, clock } = this.#options
    this.#close()
    if (this.#stopped) return
    const pauseMs = PAUSES_MS[Math.min(this.#failures, PAUSES_MS.length - 1)]!
    this.#failures += 1
    onState({ kind: 'waiting', retryAtMs: clock.now() + pauseMs })
    this.#cancelTimer = clock.timer(pauseMs, this.#retry)
  }
}
