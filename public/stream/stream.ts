/**
 * The only EventSource: one connection that carries everything the page needs.
 *
 * It knows where each source stands, reconnects from there with growing pauses, notices a dead link by missing pings, and
 * changes what is watched by opening the next connection before it closes the last (storage.md, A4). Frames may come
 * twice; whoever reads them drops doubles by `n`.
 */
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
  open: (query: { watch: string; after: string }) => EventSourceLike
  onFrame: (frame: Frame) => void
  onPing: () => void
  onState: (state: StreamState) => void
  /** Awaited after a failure, before the next attempt: a session that has ended needs a sign-in first. Must not reject. */
  beforeRetry: () => Promise<void>
  nowMs: () => number
  schedule: (run: () => void, afterMs: number) => () => void
}

const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
/** Pings come every 10 s; two and a bit missing mean a dead link that the socket has not noticed. */
const SILENCE_MS = 22_000

const FRAME_TYPES = [
  'turn_started',
  'token',
  'reasoning',
  'retry',
  'message',
  'tool',
  'tool_output',
  'subagent',
  'tool_complete',
  'approval',
  'clarify',
  'answered',
  'warning',
  'compressing',
  'compressed',
  'done',
  'apperror',
  'cancel',
  'title_status',
  'title',
  'stream_end',
  'row',
  'gone',
  'asked',
  'settled',
  'queue',
  'aside',
  'notice',
  'gateway',
  'reset',
] as const satisfies readonly Frame['type'][]
/** Compiles only while every type is listened to: the browser drops what nobody named. */
type AllFrameTypes = Frame['type'] extends (typeof FRAME_TYPES)[number] ? typeof FRAME_TYPES : never

export const parseCursor = (text: string | undefined): Cursor | undefined => {
  const match = /^([0-9a-f]+)-(\d+)$/.exec(text ?? '')
  return match ? { boot: match[1]!, n: Number(match[2]) } : undefined
}

/** The earlier of two cursors of one boot. Of two boots, the one given first: the service answers with a reset anyway. */
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
  const { open, onFrame, onPing, onState, beforeRetry, nowMs, schedule } = options
  /**
   * Where each watched session stands (the cursor of its reply, or the last id that covered it), and since when it has been
   * carried without a gap: whoever wants it from then on has had every frame.
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
    cancelSilence = schedule(() => fail(), SILENCE_MS)
  }

  /** A live id covers every source of the connection that carried it. */
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
    for (const type of FRAME_TYPES satisfies AllFrameTypes) {
      source.addEventListener(type, event => {
        if (!alive()) return
        resetSilenceTimer()
        onFrame({ ...JSON.parse(event.data), type } as Frame)
        // An older connection that is about to be replaced must not move what the next one was opened with.
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
        // The next connection may be on its way already; it decides.
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
    onState({ kind: 'waiting', retryAtMs: nowMs() + pauseMs })
    cancelTimer = schedule(retry, pauseMs)
  }

  async function retry(): Promise<void> {
    cancelTimer()
    const attempt = failures
    await beforeRetry()
    if (!stopped && attempt === failures && !current && !next) connect()
  }

  return {
    /** Opens from `cursor`, the number that came with the session list. */
    start(cursor: string): void {
      if (!stopped) return
      stopped = false
      failures = 0
      Object.assign(fixed, { at: cursor, since: cursor })
      connect()
    },
    /**
     * What to carry from now on. A session that is new, or is wanted from before it has been carried, takes a new
     * connection; one that nobody wants any more is dropped with the next change.
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
