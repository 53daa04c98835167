/**
 * The event stream: one numbered sequence of everything that happens in the process, with many readers.
 *
 * Every published event takes the next number `n`. Each source (a session, the list, the inbox …) has a bounded log, so a
 * reader that reconnects with a number gets the events it missed, or a `reset` for each source whose log no longer has
 * them. The bytes of a frame are the same for all readers. Only live frames carry an SSE id: a cursor that moved between
 * the replays of two sources would lose events of the second one (storage.md, A4).
 */
import { createRounds } from './base/rounds.ts'
import { frame, idField } from './base/sse.ts'
import type { Frame } from './schema/event.ts'

export type Source = Frame['source']
type Event = { type: string; data: unknown }
type StreamPosition = { stream?: string; pos?: number }
/** `profile`: what the event concerns, on sources with events of all profiles; undefined: the server itself. */
type LoggedFrame = { n: number; bytes: Buffer; idBytes: number; profile: string | undefined }
/** `floor`: the highest number that was dropped. */
type SourceLog = { frames: LoggedFrame[]; sizeBytes: number; floor: number; touchedMs: number }

type Reader = {
  sources: Set<Source>
  accepts: (source: Source, profile: string | undefined) => boolean
  queue: { n: number; bytes: Buffer }[]
  queuedBytes: number
  /** The last number that was delivered: where a reader that fell behind catches up from. */
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

/** Joins small frames into writes of about 64 KiB. */
function* batches(frames: Iterable<Buffer>): Generator<Buffer> {
  let buffered: Buffer[] = []
  let bytes = 0
  for (const each of frames) {
    buffered.push(each)
    bytes += each.length
    if (bytes < BATCH_BYTES) continue
    yield buffered.length === 1 ? each : Buffer.concat(buffered)
    buffered = []
    bytes = 0
  }
  if (buffered.length > 0) yield Buffer.concat(buffered)
}

export type Cursor = { boot: string; n: number }

/** Parses `<boot>-<n>`; undefined when it is malformed. */
export const parseCursor = (text: string | undefined): Cursor | undefined => {
  const match = /^([0-9a-f]{8})-(\d{1,15})$/.exec(text ?? '')
  return match ? { boot: match[1]!, n: Number(match[2]) } : undefined
}

/** A malformed cursor counts as one of another boot: it leads to a reset, not to missing events. */
const toCursor = (text: string | undefined): Cursor | undefined =>
  text ? (parseCursor(text) ?? { boot: '', n: 0 }) : undefined

/** Parses `watch=<id>,<id>@<boot>-<n>` into one entry per id. Malformed ids are skipped. */
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
  /** The connection's cursor, from the query; sources with their own cursor ignore it. */
  after?: string | undefined
  /** Cursor of a reconnect. The later of it and a source's own cursor applies. */
  lastEventId?: string | undefined
  /** Whether the reader may see events of a profile (undefined: of the server itself). Default: all. Not asked about the watched sessions. */
  accepts?: (profile: string | undefined) => boolean
  signal: AbortSignal
}

const isSession = (source: Source): boolean => source.startsWith('session:')

/** The recent frames of each source, bounded in count, bytes and idle time. */
const createSourceLogs = (nowMs: () => number) => {
  const logs = new Map<Source, SourceLog>()
  /** The highest number in any session log that was dropped as a whole. */
  let droppedSessions = 0

  const initialFloor = (source: Source): number => (isSession(source) ? droppedSessions : 0)

  const logOf = (source: Source): SourceLog => {
    let log = logs.get(source)
    if (!log) {
      log = { frames: [], sizeBytes: 0, floor: initialFloor(source), touchedMs: nowMs() }
      logs.set(source, log)
    }
    return log
  }

  return {
    append(source: Source, logged: LoggedFrame): void {
      const log = logOf(source)
      log.frames.push(logged)
      log.sizeBytes += logged.bytes.length
      log.touchedMs = nowMs()
      // Dropped in halves: shifting one by one would copy the array at every event.
      if (log.frames.length > LOG_FRAMES || log.sizeBytes > LOG_BYTES) {
        const dropped = log.frames.splice(0, Math.ceil(log.frames.length / 2))
        log.floor = dropped.at(-1)!.n
        for (const { bytes } of dropped) log.sizeBytes -= bytes.length
      }
    },
    floorOf: (source: Source): number => logs.get(source)?.floor ?? initialFloor(source),
    /** The first frame of a source after number `n`. */
    after: (source: Source, n: number): LoggedFrame | undefined =>
      logs.get(source)?.frames.find(each => each.n > n),
    dropIdle(): void {
      for (const [source, log] of logs) {
        if (!isSession(source) || nowMs() - log.touchedMs < IDLE_LOG_MS) continue
        droppedSessions = Math.max(droppedSessions, log.frames.at(-1)?.n ?? log.floor)
        logs.delete(source)
      }
    },
  }
}

/** The connected readers, by source. */
const createReaders = () => {
  const all = new Set<Reader>()
  const bySource = new Map<Source, Set<Reader>>()
  return {
    all,
    of: (source: Source): Iterable<Reader> => bySource.get(source) ?? [],
    add(reader: Reader): void {
      all.add(reader)
      for (const source of reader.sources) {
        const set = bySource.get(source) ?? new Set()
        bySource.set(source, set.add(reader))
      }
    },
    remove(reader: Reader): void {
      all.delete(reader)
      for (const source of reader.sources) {
        const set = bySource.get(source)
        set?.delete(reader)
        if (set?.size === 0) bySource.delete(source)
      }
    },
  }
}

/** Where each source of a connection is read from; undefined starts with live events. */
const startCursors = ({
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

/** Queues a frame for a reader; one that falls behind by more than 256 KiB catches up from the logs instead. */
const enqueue = (reader: Reader, n: number, bytes: Buffer): void => {
  if (!reader.behind) {
    reader.queue.push({ n, bytes })
    reader.queuedBytes += bytes.length
    if (reader.queuedBytes > QUEUE_BYTES) {
      reader.behind = true
      reader.queue = []
      reader.queuedBytes = 0
    }
  }
}

/** Takes everything that is queued, as one buffer. */
const drain = (reader: Reader): Buffer => {
  const batch = reader.queue
  reader.queue = []
  reader.queuedBytes = 0
  reader.last = batch.at(-1)!.n
  return batch.length === 1 ? batch[0]!.bytes : Buffer.concat(batch.map(({ bytes }) => bytes))
}

export type Hub = ReturnType<typeof createHub>

type HubOptions = {
  /** 8 hex characters, new at every start. */
  boot: string
  /** Decides when an idle log is dropped. */
  nowMs?: () => number
  /** The profile of a session. */
  profileOf?: (sessionId: string) => string | undefined
}

/** The profile that an event of a fixed source concerns. */
const profileOfEvent = (
  data: unknown,
  profileOf: NonNullable<HubOptions['profileOf']>,
): string | undefined => {
  const about = data as { row?: { profile?: string }; profile?: string; session_id?: string }
  if (about.profile !== undefined) return about.profile
  if (about.row) return about.row.profile
  return about.session_id === undefined ? undefined : profileOf(about.session_id)
}

export const createHub = ({ boot, nowMs = Date.now, profileOf = () => undefined }: HubOptions) => {
  let n = 0
  let closed = false
  const logs = createSourceLogs(nowMs)
  const readers = createReaders()
  const taps = new Set<(source: Source, event: Event) => void>()
  const wake = createRounds<Reader>(reader => reader.wake?.())

  const send = (reader: Reader, bytes: Buffer): void => {
    enqueue(reader, n, bytes)
    wake(reader)
  }

  /** `of`: the profile, where the event does not tell it. */
  const publish = (
    source: Source,
    event: Event,
    position: StreamPosition = {},
    of?: string,
  ): number => {
    n += 1
    const profile = of ?? (isSession(source) ? undefined : profileOfEvent(event.data, profileOf))
    const id = Buffer.from(idField(`${boot}-${n}`))
    const body = Buffer.from(frame(event.type, { source, n, ...position, data: event.data }))
    const bytes = Buffer.concat([id, body])
    logs.append(source, { n, bytes, idBytes: id.length, profile })
    for (const reader of readers.of(source))
      if (reader.accepts(source, profile)) send(reader, bytes)
    for (const tap of taps) tap(source, event)
    return n
  }

  /**
   * The frames of one source after `from`, up to number `to`, without ids; or its reset. Frames are looked up as they
   * are consumed, so a slow reader does not retain them.
   */
  function* replay(
    [source, from]: [Source, Cursor | undefined],
    to: number,
    accepts: Reader['accepts'],
  ): Generator<Buffer> {
    if (!from) return
    let at = from.n
    while (true) {
      if (from.boot !== boot || at > n || at < logs.floorOf(source)) {
        yield Buffer.from(frame('reset', { source, n, data: {} }))
        return
      }
      const next = logs.after(source, at)
      if (!next || next.n > to) return
      at = next.n
      if (accepts(source, next.profile)) yield next.bytes.subarray(next.idBytes)
    }
  }

  function* replayAll(
    from: Iterable<[Source, Cursor | undefined]>,
    to: number,
    accepts: Reader['accepts'],
  ) {
    for (const each of from) yield* replay(each, to, accepts)
    yield Buffer.from(frame('ready', { n: to }, `${boot}-${to}`))
  }

  /** The stream of one connection: replayed frames, `ready`, then live frames and pings until `signal` aborts. */
  async function* read(options: ReadOptions): AsyncGenerator<Buffer> {
    const from = startCursors(options)
    const { accepts = () => true } = options
    const reader: Reader = {
      sources: new Set(from.keys()),
      accepts: (source, profile) => isSession(source) || accepts(profile),
      queue: [],
      queuedBytes: 0,
      last: n,
      behind: false,
      wake: null,
    }
    const onAbort = () => reader.wake?.()
    options.signal.addEventListener('abort', onAbort)
    // Subscribing and the replay start in one tick, so no event falls between them.
    readers.add(reader)
    try {
      yield* batches(replayAll(from, n, reader.accepts))
      while (!options.signal.aborted) {
        if (reader.behind) {
          const at = { boot, n: reader.last }
          const sources = [...reader.sources].map((source): [Source, Cursor] => [source, at])
          reader.behind = false
          reader.last = n
          yield* batches(replayAll(sources, n, reader.accepts))
        } else if (reader.queue.length > 0) {
          yield drain(reader)
        } else if (closed) {
          return
        } else {
          await new Promise<void>(resolve => {
            reader.wake = resolve
          })
          reader.wake = null
        }
      }
    } finally {
      options.signal.removeEventListener('abort', onAbort)
      readers.remove(reader)
    }
  }

  const timer = setInterval(() => {
    logs.dropIdle()
    for (const reader of readers.all) send(reader, PING)
  }, PING_MS)
  timer.unref()

  return {
    boot,
    /** The current position, sent along with data that HTTP fetches in the same tick. */
    cursor: () => `${boot}-${n}`,
    publish,
    read,
    dropIdleLogs: logs.dropIdle,
    /** Calls `listener` for every event until the returned function is called. The listener must not throw. */
    tap(listener: (source: Source, event: Event) => void): () => void {
      taps.add(listener)
      return () => taps.delete(listener)
    },
    readers: () => readers.all.size,
    /** Ends every stream after what was published, so that open pages do not delay the shutdown. */
    close(): void {
      closed = true
      clearInterval(timer)
      for (const reader of readers.all) reader.wake?.()
    },
  }
}
