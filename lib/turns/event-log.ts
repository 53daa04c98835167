/**
 * The event log of one turn: append-only, on disk before it is sent, readable from any position by many readers.
 *
 * `live/<stream_id>.jsonl`: a header `{"v":1,"session_id","stream_id","at"}`, then one line per event,
 * `{"pos":n,"type":…,"data":…}`. Readers are served from the file. There is no flush timer: a line is written, then it is sent.
 *
 * Positions count from 1 without gaps. In a cluster, where another machine may take a turn over with its journal, but without its
 * log, they mean the same on every machine: the nth recorded message of a turn is at n × `MESSAGE_STEP`, and what follows it counts
 * on from there. So the next owner gives a reader exactly the messages that it has not seen.
 */
import { closeSync, existsSync, rmSync } from 'node:fs'
import type { Clock } from '../base/clock.ts'
import { maskLeaving } from '../base/redact/redact.ts'
import { FRAME_END, frameHead } from '../base/sse.ts'
import { missing } from '../errors.ts'
import type { Hub } from '../http/hub.ts'
import type { TurnEvent } from '../schema/event.ts'
import { Journal, readLines } from '../store/journal.ts'
import { openFile, readWholeText } from '../store/read-text.ts'

export type LoggedEvent = { pos: number; type: TurnEvent['type']; data: TurnEvent['data'] }
export type LogHeader = { session_id: string; stream_id: string; at: number }

/** More than the events between two messages. */
const MESSAGE_STEP = 1_000_000
/** What another machine streams after the same message, once it continued the turn: a turn is continued at most three times there. */
const RESUME_STEP = MESSAGE_STEP / 8

/** `json`: the data of the event, written and masked. */
type OnAppend = (event: TurnEvent, pos: number, json: string) => void

/** Sends the events of a log to the readers of its session. */
export const toReaders =
  (hub: Hub, { session_id: id, stream_id: stream }: LogHeader): OnAppend =>
  (event, pos, json) =>
    void hub.publish(`session:${id}`, { ...event, json }, { stream, pos })

/** One event for the readers of the stream. */
export type LogFrame = { pos: number; type: LoggedEvent['type']; data: Buffer; frame: Buffer }

const HEAD = /^\{"pos":(\d+),"type":"(\w+)","data":/
const HEAD_BYTES = 96
const BRACE = 0x7d
const END = Buffer.from(FRAME_END)

/** Builds the SSE frame of `{"pos":7,"type":"token","data":{…}}` from its bytes, without parsing; undefined for a torn line. */
const toFrame = (line: Buffer): LogFrame | undefined => {
  const head = HEAD.exec(line.toString('latin1', 0, HEAD_BYTES))
  if (!head || line.at(-1) !== BRACE) return undefined
  const [{ length }, pos = '', type = ''] = head
  const data = line.subarray(length, -1)
  const frame = Buffer.concat([Buffer.from(frameHead(type, pos)), data, END])
  return { pos: Number(pos), type: type as LoggedEvent['type'], data, frame }
}

export class EventLog implements LogHeader {
  readonly session_id: string
  readonly stream_id: string
  readonly at: number
  readonly path: string
  readonly #file: Journal
  readonly #onAppend: OnAppend
  readonly #waiters = new Set<() => void>()
  /** The last events when the disk is full, which the file does not have. */
  readonly #unsaved: LogFrame[] = []
  readonly #step: number
  #pos = 0
  #messages = 0
  #isClosed = false

  /** Opens a new log, or continues one that an earlier process left behind. `mayMove`: another machine may take the turn over. */
  constructor(
    path: string,
    header: LogHeader,
    onAppend: OnAppend = () => {},
    { mayMove = false } = {},
  ) {
    this.#step = mayMove ? MESSAGE_STEP : 0
    this.session_id = header.session_id
    this.stream_id = header.stream_id
    this.at = header.at
    this.path = path
    this.#onAppend = onAppend
    const resumed = existsSync(path) ? readLiveFile(path) : undefined
    // Nothing follows its writes: it is in no copy and no backup, and no attributes of it are kept.
    this.#file = new Journal(path, { create: !resumed, isFollowed: false })
    if (resumed) {
      this.#pos = resumed.events.at(-1)?.pos ?? 0
      this.#messages = resumed.events.filter(({ type }) => type === 'message').length
    } else this.#file.append([JSON.stringify({ v: 1, ...header })])
  }

  /** The position of the last event. A function of its own, which can be passed on. */
  readonly position = (): number => this.#pos

  /** Writes the event, then sends it. Throws UserError 'full' when the disk is full. */
  append(event: TurnEvent): number {
    if (!this.#isClosed) this.#send(event, line => void this.#file.append([line]))
    return this.#pos
  }

  /** Another machine has sent events after the last message, which this log does not have; it was continued `resumes` times before. */
  skipUnknown(resumes: number): void {
    this.#pos += RESUME_STEP * (resumes + 1)
  }

  /** Sends an event without writing it: the last events of a turn when the disk is full. */
  emitUnsaved(event: TurnEvent): void {
    if (!this.#isClosed)
      this.#send(event, line => void this.#unsaved.push(toFrame(Buffer.from(line))!))
  }

  /**
   * Every event after `after`, then new ones, until the log is closed and read to its end. A position that the log has not
   * reached is none of it: the reader gets everything. One that has read a closed log gets its last event again, which says
   * that it is the end.
   */
  async *frames(after: number, signal: AbortSignal): AsyncGenerator<LogFrame> {
    let at = after > this.#pos ? 0 : after
    if (this.#isClosed && at === this.#pos) at -= 1
    let offset = 0
    // One listener for the whole read: one per wait would accumulate on the signal of a long stream.
    let resume = () => {}
    const onAbort = () => resume()
    signal.addEventListener('abort', onAbort, { once: true })
    const fd = openFile(this.path)
    try {
      while (!signal.aborted) {
        for (const line of readLines(fd, offset)) {
          offset = line.offset + line.bytes.length + 1
          const frame = toFrame(line.bytes)
          if (!frame || frame.pos <= at) continue
          at = frame.pos
          yield frame
          if (signal.aborted) return
        }
        for (const unsaved of this.#unsaved.filter(({ pos }) => pos > at)) {
          at = unsaved.pos
          yield unsaved
        }
        if (at < this.#pos && this.#unsaved.length > 0) continue
        if (this.#isClosed) return
        await new Promise<void>(resolve => {
          resume = resolve
          this.#waiters.add(resolve)
        })
        this.#waiters.delete(resume)
      }
    } finally {
      closeSync(fd)
      signal.removeEventListener('abort', onAbort)
    }
  }

  async *read(after: number, signal: AbortSignal): AsyncGenerator<LoggedEvent> {
    for await (const { pos, type, data } of this.frames(after, signal))
      yield { pos, type, data: JSON.parse(data.toString()) }
  }

  /** No more events: readers finish and end. The file stays until `remove`. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#file.close()
    this.#wake()
  }

  remove(): void {
    rmSync(this.path, { force: true })
    this.#unsaved.length = 0
  }

  /** The only time that an event becomes JSON: for its line, and for all who are sent it. Masked here and not by those who append, so that no field is forgotten, on the disk either. */
  #send(event: TurnEvent, store: (line: string) => void): void {
    const json = maskLeaving(JSON.stringify(event.data))
    const isMessage = event.type === 'message'
    const pos = Math.max(this.#pos + 1, isMessage ? (this.#messages + 1) * this.#step : 0)
    store(`{"pos":${pos},"type":"${event.type}","data":${json}}`)
    this.#pos = pos
    if (isMessage) this.#messages += 1
    this.#onAppend(event, this.#pos, json)
    this.#wake()
  }

  #wake(): void {
    for (const resolve of this.#waiters) resolve()
    this.#waiters.clear()
  }
}

/** How long the log of a finished turn stays readable. */
const RETENTION_MS = 5 * 60_000

/** The logs of running and recently finished turns, and of side questions. */
export class EventLogs {
  readonly #clock: Clock
  readonly #logs = new Map<string, EventLog>()
  readonly #removals = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  put(log: EventLog): void {
    this.#logs.set(log.stream_id, log)
  }

  /** Throws 'stream not found' for an unknown or expired stream. */
  get(streamId: string): EventLog {
    const log = this.#logs.get(streamId)
    if (!log) throw missing('stream not found', { code: 'stream_not_found' })
    return log
  }

  /** Closes a log. Its file is removed after the retention time. */
  retire(log: EventLog): void {
    log.close()
    const cancel = this.#clock.timer(RETENTION_MS, () => {
      this.#removals.delete(cancel)
      this.#logs.delete(log.stream_id)
      log.remove()
    })
    this.#removals.add(cancel)
  }

  close(): void {
    for (const cancel of this.#removals) cancel()
    for (const log of this.#logs.values()) log.close()
  }
}

const parseLine = (line: string): LoggedEvent | undefined => {
  try {
    const value = JSON.parse(line) as Partial<LoggedEvent>
    return typeof value.pos === 'number' ? (value as LoggedEvent) : undefined
  } catch {
    // A torn tail was never sent.
    return undefined
  }
}

/** Reads a live file of an earlier process: header and complete lines. Undefined when the header is torn. */
export const readLiveFile = (
  path: string,
): { header: LogHeader; events: LoggedEvent[] } | undefined => {
  const [first = '', ...rest] = readWholeText(path).split('\n')
  try {
    const header = JSON.parse(first) as LogHeader
    if (typeof header.session_id !== 'string' || typeof header.stream_id !== 'string')
      return undefined
    return { header, events: rest.map(parseLine).filter(event => event !== undefined) }
  } catch {
    // The process died while it wrote the header: no event was sent from this file.
    return undefined
  }
}
