/**
 * The event stream: one numbered sequence of everything that happens in the process, with many readers.
 *
 * Every published event takes the next number `n`. Each source (a session, the list, the inbox …) has a bounded log, so a
 * reader that reconnects with a number gets the events it missed, or a `reset` for each source whose log no longer has
 * them. The bytes of a frame are the same for all readers. Only live frames carry an SSE id: a cursor that moved between
 * the replays of two sources would lose events of the second one.
 */
import { type Clock, every } from '../base/clock.ts'
import { TextPool } from '../base/text-pool.ts'
import { Rounds } from '../base/rounds.ts'
import { type Cursor, toCursor } from '../base/stream-cursor.ts'
import type { PushSource } from '../base/push-source.ts'
import { FRAME_END, frame, frameHead, idField } from '../base/sse.ts'
import { maskLeaving } from '../base/redact/redact.ts'
import type { Frame } from '../schema/event.ts'
import type { Question } from '../schema/question.ts'

export type Source = Frame['source']
/** `json`: its data as JSON, masked, where that was written before. */
type Event = { type: string; data: unknown; json?: string }
type StreamPosition = { stream?: string; pos?: number }
/** `profile`: what the event concerns, on sources with events of all profiles; undefined: the server itself. */
type LoggedFrame = {
  n: number
  source: Source
  bytes: Buffer
  idBytes: number
  profile: string | undefined
}
/** `floor`: the highest number that was dropped. */
type SourceLog = { frames: LoggedFrame[]; sizeBytes: number; floor: number; touchedMs: number }

type Reader = {
  sources: Set<Source>
  accepts: (source: Source, profile: string | undefined) => boolean
  mayAnswer: NonNullable<ReadOptions['mayAnswer']>
  /** What follows this number is looked up when the reader takes it. */
  last: number
  isPinged: boolean
  /** Writes what it has not been given, until it is behind. */
  write: () => void
}

const FIXED: readonly Source[] = ['list', 'inbox', 'gateway', 'notices']
const LOG_FRAMES = 1_000
const LOG_BYTES = 1 << 20
/** Of all sources together: beyond it, the session whose last event is oldest loses its log. */
const ALL_LOGS_BYTES = 4 << 20
/** Of which it is known where their dropped logs ended. */
const DROPPED_SESSIONS = 1_000
/** A reader that is this far behind catches up from the logs. */
const MAX_PENDING_BYTES = 256 << 10
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

export type ReadOptions = {
  watch: Map<string, Cursor | undefined>
  /** The connection's cursor, from the query; sources with their own cursor ignore it. */
  after?: string | undefined
  /** Cursor of a reconnect. The later of it and a source's own cursor applies. */
  lastEventId?: string | undefined
  /** Whether the reader may see events of a profile (undefined: of the server itself). Default: all. Not asked about the watched sessions. */
  accepts?: (profile: string | undefined) => boolean
  /** Whether who reads may answer the question of a session of this profile. Default: every one. */
  mayAnswer?: (question: Question, profile: string | undefined) => boolean
}

const isSession = (source: Source): boolean => source.startsWith('session:')

/** The recent frames of each source, bounded in count, bytes and idle time, and in bytes of all. */
class SourceLogs {
  readonly #clock: Clock
  /** Sessions in the order of their last events. */
  readonly #logs = new Map<Source, SourceLog>()
  #allBytes = 0
  /** The last number of each session log that was dropped as a whole: what happens in one session resets no reader of another. */
  readonly #ends = new Map<Source, number>()
  /** The highest number of those that are no longer told apart. */
  #earlierEnd = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  bytes() {
    return this.#allBytes
  }

  append(source: Source, logged: LoggedFrame): void {
    const log = this.#logOf(source)
    log.frames.push(logged)
    this.#resize(log, logged.bytes.length)
    log.touchedMs = this.#clock.monotonic()
    // Last in the order.
    this.#logs.delete(source)
    this.#logs.set(source, log)
    // Dropped in halves: shifting one by one would copy the array at every event.
    if (log.frames.length > LOG_FRAMES || log.sizeBytes > LOG_BYTES) {
      const dropped = log.frames.splice(0, Math.ceil(log.frames.length / 2))
      log.floor = dropped.at(-1)!.n
      for (const { bytes } of dropped) this.#resize(log, -bytes.length)
    }
    for (const [other, old] of this.#logs) {
      if (this.#allBytes <= ALL_LOGS_BYTES) break
      if (isSession(other) && other !== source) this.#dropSession(other, old)
    }
  }

  floorOf(source: Source): number {
    return this.#logs.get(source)?.floor ?? this.#initialFloor(source)
  }

  /** The first frame of a source after number `n`. */
  after(source: Source, n: number): LoggedFrame | undefined {
    return this.#logs.get(source)?.frames.find(each => each.n > n)
  }

  dropIdle(): void {
    for (const [source, log] of this.#logs) {
      if (!isSession(source) || this.#clock.monotonic() - log.touchedMs < IDLE_LOG_MS) continue
      this.#dropSession(source, log)
    }
  }

  #initialFloor(source: Source): number {
    return isSession(source) ? (this.#ends.get(source) ?? this.#earlierEnd) : 0
  }

  #logOf(source: Source): SourceLog {
    let log = this.#logs.get(source)
    if (!log) {
      log = {
        frames: [],
        sizeBytes: 0,
        floor: this.#initialFloor(source),
        touchedMs: this.#clock.monotonic(),
      }
      this.#logs.set(source, log)
    }
    return log
  }

  #resize(log: SourceLog, by: number): void {
    log.sizeBytes += by
    this.#allBytes += by
  }

  #dropSession(source: Source, log: SourceLog): void {
    // Last in the order.
    this.#ends.delete(source)
    this.#ends.set(source, log.frames.at(-1)?.n ?? log.floor)
    this.#resize(log, -log.sizeBytes)
    this.#logs.delete(source)
    if (this.#ends.size <= DROPPED_SESSIONS) return
    const [oldest, end] = this.#ends.entries().next().value!
    this.#ends.delete(oldest)
    this.#earlierEnd = Math.max(this.#earlierEnd, end)
  }
}

/** The connected readers, by source. */
class Readers {
  readonly all = new Set<Reader>()
  readonly #bySource = new Map<Source, Set<Reader>>()

  of(source: Source): Iterable<Reader> {
    return this.#bySource.get(source) ?? []
  }

  add(reader: Reader): void {
    this.all.add(reader)
    for (const source of reader.sources) {
      const set = this.#bySource.get(source) ?? new Set()
      this.#bySource.set(source, set.add(reader))
    }
  }

  remove(reader: Reader): void {
    this.all.delete(reader)
    for (const source of reader.sources) {
      const set = this.#bySource.get(source)
      set?.delete(reader)
      if (set?.size === 0) this.#bySource.delete(source)
    }
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

/**
 * The newest frames of all sources, in order. Readers are given their part of them when they take it: a queue for each reader
 * would be an object for each frame and reader, most of which V8 keeps until its next full collection.
 */
class RecentFrames {
  readonly #frames: LoggedFrame[] = []
  #sizeBytes = 0
  #shared: { frames: readonly LoggedFrame[]; bytes: Buffer } | undefined

  append(logged: LoggedFrame): void {
    this.#frames.push(logged)
    this.#sizeBytes += logged.bytes.length
    if (this.#frames.length <= LOG_FRAMES && this.#sizeBytes <= LOG_BYTES) return
    // The newest stays, whatever its size.
    const dropped = this.#frames.splice(0, this.#frames.length >> 1)
    for (const { bytes } of dropped) this.#sizeBytes -= bytes.length
    this.#shared = undefined
  }

  /** What a reader has not been given, as one buffer; null: nothing; undefined: too much, or no longer known. */
  after({ last, sources, accepts }: Reader): Buffer | null | undefined {
    // Numbers have no gaps.
    const from = last + 1 - (this.#frames[0]?.n ?? last + 1)
    if (from < 0) return undefined
    const batch: LoggedFrame[] = []
    let bytes = 0
    for (let at = from; at < this.#frames.length; at++) {
      const each = this.#frames[at]!
      if (!sources.has(each.source) || !accepts(each.source, each.profile)) continue
      batch.push(each)
      bytes += each.bytes.length
      if (bytes > MAX_PENDING_BYTES) return undefined
    }
    return batch.length === 0 ? null : this.#join(batch)
  }

  /** Readers of the same session are given the same frames. */
  #join(batch: readonly LoggedFrame[]): Buffer {
    if (batch.length === 1) return batch[0]!.bytes
    const isSame =
      this.#shared?.frames.length === batch.length &&
      batch.every((each, at) => each === this.#shared!.frames[at])
    if (!isSame)
      this.#shared = { frames: batch, bytes: Buffer.concat(batch.map(({ bytes }) => bytes)) }
    return this.#shared!.bytes
  }
}

/** The profile that an event of a fixed source concerns. */
const profileOfEvent = (
  data: unknown,
  profileOf: (sessionId: string) => string | undefined,
): string | undefined => {
  const about = data as { row?: { profile?: string }; profile?: string; session_id?: string }
  if (about.profile !== undefined) return about.profile
  if (about.row) return about.row.profile
  return about.session_id === undefined ? undefined : profileOf(about.session_id)
}

export class Hub {
  readonly #profileOf: (sessionId: string) => string | undefined
  #n = 0
  #isClosed = false
  readonly #logs
  readonly #recent = new RecentFrames()
  // Apart: events of sessions are many and leave soon, and one of the list among them would keep the memory of all around it.
  readonly #sessionTexts = new TextPool()
  readonly #fixedTexts = new TextPool()
  readonly #readers = new Readers()
  readonly #taps = new Set<{ source: Source; listener: (event: Event) => void }>()
  readonly #rounds = new Rounds<Reader>(reader => reader.write())
  readonly #stopPings
  readonly boot: string

  /** `boot`: 8 hex characters, new at every start. `profileOf`: a session. */
  constructor(
    boot: string,
    clock: Clock,
    profileOf: (sessionId: string) => string | undefined = () => undefined,
  ) {
    this.#profileOf = profileOf
    this.#logs = new SourceLogs(clock)
    this.#stopPings = every(clock, PING_MS, () => {
      this.#logs.dropIdle()
      for (const reader of this.#readers.all) {
        reader.isPinged = true
        this.#rounds.ask(reader)
      }
    })
    this.boot = boot
  }

  /** Bytes of the events that are kept for readers that come back. */
  logBytes(): number {
    return this.#logs.bytes()
  }

  /** `of`: the profile, where the event does not tell it. */
  publish(source: Source, event: Event, position: StreamPosition = {}, of?: string): number {
    // Everything that may throw or publish comes first: numbers have no gaps.
    const profile =
      of ?? (isSession(source) ? undefined : profileOfEvent(event.data, this.#profileOf))
    const next = this.#n + 1
    // ASCII
    const id = idField(`${this.boot}-${next}`)
    const json = event.json ?? maskLeaving(JSON.stringify(event.data))
    const place = JSON.stringify({ source, n: next, ...position }).slice(0, -1)
    const body = `${frameHead(event.type)}${place},"data":${json}}${FRAME_END}`
    const texts = isSession(source) ? this.#sessionTexts : this.#fixedTexts
    const bytes = texts.encode(`${id}${body}`)
    this.#n = next
    const logged: LoggedFrame = { n: next, source, bytes, idBytes: id.length, profile }
    this.#logs.append(source, logged)
    this.#recent.append(logged)
    for (const reader of this.#readers.of(source))
      if (reader.accepts(source, profile)) this.#rounds.ask(reader)
    for (const tap of this.#taps) if (tap.source === source) tap.listener(event)
    return next
  }

  /** Whether a page is open that is sent this question, of a person who may answer it. */
  isShown(question: Question): boolean {
    const profile = this.#profileOf(question.session_id)
    return [...this.#readers.of('inbox')].some(
      reader => reader.accepts('inbox', profile) && reader.mayAnswer(question, profile),
    )
  }

  /**
   * The stream of one connection: replayed frames, `ready`, then live frames and pings. It is pushed: a promise for each
   * reader and round would be kept by V8 until its next full collection.
   */
  stream(options: ReadOptions): PushSource {
    return sink => {
      const from = startCursors(options)
      const { accepts = () => true, mayAnswer = () => true } = options
      let mayWrite = true
      let backlog: Generator<Buffer> | null = null

      /** The next bytes; null when there are none yet. */
      const next = (): Buffer | null => {
        for (;;) {
          if (backlog) {
            const { done, value } = backlog.next()
            if (!done) return value
            backlog = null
          }
          // First, because there may always be something else.
          if (reader.isPinged) {
            reader.isPinged = false
            return PING
          }
          const pending = this.#recent.after(reader)
          const at = { boot: this.boot, n: reader.last }
          reader.last = this.#n
          if (pending !== undefined) return pending
          const sources = [...reader.sources].map((source): [Source, Cursor] => [source, at])
          backlog = batches(this.#replayAll(sources, this.#n, reader.accepts))
        }
      }
      const close = () => this.#readers.remove(reader)
      const write = () => {
        try {
          while (mayWrite) {
            const bytes = next()
            if (bytes) mayWrite = sink.write(bytes)
            else if (!this.#isClosed) return
            else {
              mayWrite = false
              sink.end()
            }
          }
        } catch (error) {
          mayWrite = false
          sink.fail(error)
        }
      }
      const reader: Reader = {
        sources: new Set(from.keys()),
        accepts: (source, profile) => isSession(source) || accepts(profile),
        mayAnswer,
        last: this.#n,
        isPinged: false,
        write,
      }
      // Subscribing and the replay start in one tick, so no event falls between them.
      this.#readers.add(reader)
      backlog = batches(this.#replayAll(from, this.#n, reader.accepts))
      write()
      return {
        resume() {
          mayWrite = true
          write()
        },
        close,
      }
    }
  }

  /** The current position, sent along with data that HTTP fetches in the same tick. */
  cursor() {
    return `${this.boot}-${this.#n}`
  }

  /** Calls `listener` for every event of this source until the returned function is called. The listener must not throw. */
  tap(source: Source, listener: (event: Event) => void): () => void {
    const tap = { source, listener }
    this.#taps.add(tap)
    return () => this.#taps.delete(tap)
  }

  readers() {
    return this.#readers.all.size
  }

  /** Ends every stream after what was published, so that open pages do not delay the shutdown. */
  close(): void {
    this.#isClosed = true
    this.#stopPings()
    for (const reader of this.#readers.all) reader.write()
  }

  /**
   * The frames of one source after `from`, up to number `to`, without ids; or its reset. Frames are looked up as they
   * are consumed, so a slow reader does not retain them.
   */
  *#replay(
    [source, from]: [Source, Cursor | undefined],
    to: number,
    accepts: Reader['accepts'],
  ): Generator<Buffer> {
    if (!from) return
    let at = from.n
    while (true) {
      if (from.boot !== this.boot || at > this.#n || at < this.#logs.floorOf(source)) {
        yield Buffer.from(frame('reset', { source, n: this.#n, data: {} }))
        return
      }
      const next = this.#logs.after(source, at)
      if (!next || next.n > to) return
      at = next.n
      if (accepts(source, next.profile)) yield next.bytes.subarray(next.idBytes)
    }
  }

  *#replayAll(
    from: Iterable<[Source, Cursor | undefined]>,
    to: number,
    accepts: Reader['accepts'],
  ) {
    for (const each of from) yield* this.#replay(each, to, accepts)
    yield Buffer.from(frame('ready', { n: to }, `${this.boot}-${to}`))
  }
}
