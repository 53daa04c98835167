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
export type Wanted = ReadonlyMap<string, string>

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

export const createStream = (options: StreamOptions) => {
  const { types, open, onFrame, onPing, onState, beforeRetry, clock } = options
  /**
   * Position of each watched session (the cursor of its reply, or the last event id), and since when it has been
   * received without a gap.
   */
  const positions = new Map<string, Position>()
  const fixed: Position = { at: '', since: '' }
  let current: EventSourceLike | null = null
  let next: EventSourceLike | null = null
  let failures = 0
  let stopped = true
  let cancelTimer = () => {}
  let cancelSilence = () => {}

  const resetSilenceTimer = (): void => {
    cancelSilence()
    cancelSilence = clock.timer(SILENCE_MS, () => fail())
  }

  /** An event id covers every source of its connection. */
  const advance = (id: string): void => {
    if (!id) return
    fixed.at = id
    for (const position of positions.values()) position.at = id
  }

  const connect = (): void => {
    cancelTimer()
    next?.close()
    const watch = [...positions].map(([id, { at }]) => (at ? `${id}@${at}` : id)).join(',')
    const source = open({ watch, after: fixed.at })
    next = source
    const alive = () => source === next || source === current
    resetSilenceTimer()
    if (!current) onState({ kind: 'connecting' })
    for (const type of types) {
      source.addEventListener(type, event => {
        if (!alive()) return
        resetSilenceTimer()
        onFrame({ ...JSON.parse(event.data), type } as Frame)
        // A connection that is being replaced must not change the position of the next one.
        if (source === current && !next) advance(event.lastEventId)
      })
    }
    source.addEventListener('ping', () => {
      if (!alive()) return
      resetSilenceTimer()
      onPing()
    })
    source.addEventListener('ready', event => {
      if (!alive()) return
      resetSilenceTimer()
      if (source === next) {
        current?.close()
        current = source
        next = null
        failures = 0
        onState({ kind: 'live' })
      }
      if (source === current && !next) advance(event.lastEventId)
    })
    source.addEventListener('error', () => {
      if (source === next) fail()
      else if (source === current) {
        source.close()
        current = null
        // If the next connection is already opening, its result decides.
        if (!next) fail()
      }
    })
  }

  const close = (): void => {
    cancelTimer()
    cancelSilence()
    next?.close()
    current?.close()
    next = null
    current = null
  }

  function fail(): void {
    close()
    if (stopped) return
    const pauseMs = PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)]!
    failures += 1
    onState({ kind: 'waiting', retryAtMs: clock.now() + pauseMs })
    cancelTimer = clock.timer(pauseMs, retry)
  }

  async function retry(): Promise<void> {
    cancelTimer()
    const attempt = failures
    await beforeRetry()
    if (!stopped && attempt === failures && !current && !next) connect()
  }

  return {
    /** Opens the stream from `cursor`, which came with the session list. */
    start(cursor: string): void {
      if (!stopped) return
      stopped = false
      failures = 0
      Object.assign(fixed, { at: cursor, since: cursor })
      connect()
    },
    /**
     * Sets the subscriptions. A new session, or one needed from an earlier position, requires a new
     * connection; an unsubscribed one is dropped with the next change.
     */
    watch(wanted: Wanted, list = ''): void {
      let changed = rewind(fixed, list)
      for (const [id, at] of wanted) {
        const position = positions.get(id)
        if (!position) positions.set(id, { at, since: at })
        if (!position || rewind(position, at)) changed = true
      }
      for (const id of positions.keys()) if (!wanted.has(id)) positions.delete(id)
      if (changed && (current || next)) connect()
    },
    /** Skips the countdown; nothing happens while a connection is up. */
    retryNow(): void {
      if (!stopped && !current && !next) void retry()
    },
    close(): void {
      stopped = true
      close()
      positions.clear()
      onState({ kind: 'idle' })
    },
  }
}

export type Stream = ReturnType<typeof createStream>
