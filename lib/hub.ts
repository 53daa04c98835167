/**
 * One numbered stream of everything that happens in the process, and its many readers.
 *
 * Every published event takes the next number `n`. A source (one session, the list, the inbox …) keeps a bounded log, so a
 * reader that comes back with a number gets what it missed, or a `reset` for each source that cannot tell. The bytes of a
 * frame are the same for all readers; only live frames carry an SSE id, because a cursor that moved between the replays of
 * two sources would lose the second one's events (storage.md, A4).
 */
import { frame, idField } from './base/sse.ts'
import type { Frame } from './schema/event.ts'

export type Source = Frame['source']
type Event = { type: string; data: unknown }
type Place = { stream?: string; pos?: number }
type Logged = { n: number; bytes: Buffer; idBytes: number }
type Log = { frames: Logged[]; sizeBytes: number; floor: number; touchedMs: number }

type Reader = {
  sources: Set<Source>
  queue: { n: number; bytes: Buffer }[]
  queuedBytes: number
  /** The last number that was taken, so that a reader who fell behind knows from where to catch up. */
  last: number
  behind: boolean
  wake: (() => void) | null
}

const FIXED: readonly Source[] = ['list', 'inbox', 'gateway', 'notices']
const LOG_FRAMES = 1_000
const LOG_BYTES = 1 << 20
const QUEUE_BYTES = 256 << 10
const IDLE_LOG_MS = 5 * 60_000
const PING_MS = 10_000
const PING = Buffer.from(frame('ping', {}))

const BATCH_BYTES = 64 << 10

/** Small frames go out together. */
function* batches(frames: Iterable<Buffer>): Generator<Buffer> {
  let held: Buffer[] = []
  let bytes = 0
  for (const each of frames) {
    held.push(each)
    bytes += each.length
    if (bytes < BATCH_BYTES) continue
    yield held.length === 1 ? each : Buffer.concat(held)
    held = []
    bytes = 0
  }
  if (held.length > 0) yield Buffer.concat(held)
}

export type Cursor = { boot: string; n: number }

/** `<boot>-<n>` → its parts; undefined when it is anything else. */
export const parseCursor = (text: string | undefined): Cursor | undefined => {
  const match = /^([0-9a-f]{8})-(\d{1,15})$/.exec(text ?? '')
  return match ? { boot: match[1]!, n: Number(match[2]) } : undefined
}

/** A given cursor that cannot be read is one of another boot: it leads to a reset, never to silence. */
const toCursor = (text: string | undefined): Cursor | undefined =>
  text ? (parseCursor(text) ?? { boot: '', n: 0 }) : undefined

/** `watch=<id>,<id>@<boot>-<n>` → one entry an id. Entries that are no session id are left out. */
export const parseWatch = (text: string | undefined): Map<string, Cursor | undefined> => {
  const watch = new Map<string, Cursor | undefined>()
  for (const part of (text ?? '').split(',').slice(0, 64)) {
    const [id = '', at] = part.split('@')
    if (/^[0-9A-Za-z][0-9A-Za-z_-]{0,127}$/.test(id)) watch.set(id, toCursor(at))
  }
  return watch
}

export type ReadOptions = {
  watch: Map<string, Cursor | undefined>
  /** From the query; sources with a cursor of their own do not use it. */
  after?: string | undefined
  /** Of a reconnect, where no source is new: the later of it and a source's own cursor holds. */
  lastEventId?: string | undefined
  signal: AbortSignal
}

export type Hub = ReturnType<typeof createHub>

/** `boot` is 8 hex characters, new at every start. `nowMs` decides when an idle log is dropped. */
export const createHub = ({ boot, nowMs = Date.now }: { boot: string; nowMs?: () => number }) => {
  let n = 0
  let closed = false
  /** No session log that was dropped held a number above this one. */
  let droppedSessions = 0
  const logs = new Map<Source, Log>()
  const readers = new Map<Source, Set<Reader>>()
  const everyone = new Set<Reader>()
  const taps = new Set<(source: Source, event: Event) => void>()

  const logOf = (source: Source): Log => {
    let log = logs.get(source)
    if (!log) {
      const floor = source.startsWith('session:') ? droppedSessions : 0
      log = { frames: [], sizeBytes: 0, floor, touchedMs: nowMs() }
      logs.set(source, log)
    }
    return log
  }

  const remember = (source: Source, frame: Logged): void => {
    const log = logOf(source)
    log.frames.push(frame)
    log.sizeBytes += frame.bytes.length
    log.touchedMs = nowMs()
    // Dropped in halves: shifting one by one would copy the array at every event.
    if (log.frames.length > LOG_FRAMES || log.sizeBytes > LOG_BYTES) {
      const gone = log.frames.splice(0, Math.ceil(log.frames.length / 2))
      log.floor = gone.at(-1)!.n
      for (const { bytes } of gone) log.sizeBytes -= bytes.length
    }
  }

  const enqueue = (reader: Reader, bytes: Buffer): void => {
    if (!reader.behind) {
      reader.queue.push({ n, bytes })
      reader.queuedBytes += bytes.length
      if (reader.queuedBytes > QUEUE_BYTES) {
        reader.behind = true
        reader.queue = []
        reader.queuedBytes = 0
      }
    }
    reader.wake?.()
  }

  const publish = (source: Source, event: Event, place: Place = {}): number => {
    n += 1
    const id = Buffer.from(idField(`${boot}-${n}`))
    const body = Buffer.from(frame(event.type, { source, n, ...place, data: event.data }))
    const bytes = Buffer.concat([id, body])
    remember(source, { n, bytes, idBytes: id.length })
    for (const reader of readers.get(source) ?? []) enqueue(reader, bytes)
    for (const tap of taps) tap(source, event)
    return n
  }

  /** Missed frames of one source without ids, up to number `to`, or its reset. Looked up as they are taken: a slow reader holds none. */
  function* replay(source: Source, from: Cursor | undefined, to: number): Generator<Buffer> {
    if (!from) return
    let at = from.n
    while (true) {
      const log = logs.get(source)
      const floor = log?.floor ?? (source.startsWith('session:') ? droppedSessions : 0)
      if (from.boot !== boot || at > n || at < floor) {
        yield Buffer.from(frame('reset', { source, n, data: {} }))
        return
      }
      const next = log?.frames.find(logged => logged.n > at)
      if (!next || next.n > to) return
      at = next.n
      yield next.bytes.subarray(next.idBytes)
    }
  }

  function* replayAll(from: Iterable<[Source, Cursor | undefined]>, to: number) {
    for (const [source, at] of from) yield* replay(source, at, to)
    yield Buffer.from(frame('ready', { n: to }, `${boot}-${to}`))
  }

  const positions = ({
    watch,
    after,
    lastEventId,
  }: ReadOptions): Map<Source, Cursor | undefined> => {
    const resumed = toCursor(lastEventId)
    const connection = resumed ?? toCursor(after)
    const later = (own: Cursor) =>
      resumed && (resumed.boot !== own.boot || resumed.n > own.n) ? resumed : own
    const from = new Map<Source, Cursor | undefined>(FIXED.map(source => [source, connection]))
    for (const [id, own] of watch) from.set(`session:${id}`, own ? later(own) : connection)
    return from
  }

  const attach = (reader: Reader): void => {
    everyone.add(reader)
    for (const source of reader.sources) {
      const set = readers.get(source) ?? new Set()
      readers.set(source, set.add(reader))
    }
  }

  const detach = (reader: Reader): void => {
    everyone.delete(reader)
    for (const source of reader.sources) {
      const set = readers.get(source)
      set?.delete(reader)
      if (set?.size === 0) readers.delete(source)
    }
  }

  /** The stream of one connection: opening batch, `ready`, then live frames and pings until `signal` aborts. */
  async function* read(options: ReadOptions): AsyncGenerator<Buffer> {
    const from = positions(options)
    const reader: Reader = {
      sources: new Set(from.keys()),
      queue: [],
      queuedBytes: 0,
      last: n,
      behind: false,
      wake: null,
    }
    const onAbort = () => reader.wake?.()
    options.signal.addEventListener('abort', onAbort)
    // Subscribing and the opening batch happen in one tick: nothing can slip between them.
    attach(reader)
    try {
      yield* batches(replayAll(from, n))
      while (!options.signal.aborted && !closed) {
        if (reader.behind) {
          const at = { boot, n: reader.last }
          const sources = [...reader.sources].map((source): [Source, Cursor] => [source, at])
          reader.behind = false
          reader.last = n
          yield* batches(replayAll(sources, n))
        } else if (reader.queue.length > 0) {
          const batch = reader.queue
          reader.queue = []
          reader.queuedBytes = 0
          reader.last = batch.at(-1)!.n
          yield batch.length === 1
            ? batch[0]!.bytes
            : Buffer.concat(batch.map(({ bytes }) => bytes))
        } else {
          await new Promise<void>(resolve => {
            reader.wake = resolve
          })
          reader.wake = null
        }
      }
    } finally {
      options.signal.removeEventListener('abort', onAbort)
      detach(reader)
    }
  }

  const dropIdleLogs = (): void => {
    for (const [source, log] of logs) {
      if (!source.startsWith('session:') || nowMs() - log.touchedMs < IDLE_LOG_MS) continue
      droppedSessions = Math.max(droppedSessions, log.frames.at(-1)?.n ?? log.floor)
      logs.delete(source)
    }
  }

  const timer = setInterval(() => {
    dropIdleLogs()
    for (const reader of everyone) enqueue(reader, PING)
  }, PING_MS)
  timer.unref()

  return {
    boot,
    /** Where "now" is; goes out with data fetched by HTTP in the same tick. */
    cursor: () => `${boot}-${n}`,
    publish,
    read,
    dropIdleLogs,
    /** Calls `listener` for every event until the returned function is called. The listener must not throw. */
    tap(listener: (source: Source, event: Event) => void): () => void {
      taps.add(listener)
      return () => taps.delete(listener)
    },
    readers: () => everyone.size,
    /** Ends every stream: a service that goes must not be held by pages that listen. */
    close(): void {
      closed = true
      clearInterval(timer)
      for (const reader of everyone) reader.wake?.()
    },
  }
}
