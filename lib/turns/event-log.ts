/**
 * The event log of one turn: append-only, on disk before it is sent, readable from any position by many readers.
 *
 * `live/<stream_id>.jsonl`: a header `{"v":1,"session_id","stream_id","at"}`, then one line per event,
 * `{"pos":n,"type":…,"data":…}`, positions from 1 without gaps. The newest events also stay in memory until the turn has ended; a
 * reader that needs others is served from the file. There is no flush timer: a line is written, then it is sent.
 */
import { existsSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { FRAME_END, frameHead } from '../base/sse.ts'
import { createTextPool } from '../base/text-pool.ts'
import { maskLeaving } from '../base/redact/redact.ts'
import type { Hub } from '../http/hub.ts'
import type { TurnEvent } from '../schema/event.ts'
import { openJournal } from '../store/journal.ts'
import { readWholeText } from '../store/read-text.ts'

export type LoggedEvent = { pos: number; type: TurnEvent['type']; data: TurnEvent['data'] }
export type LogHeader = { session_id: string; stream_id: string; at: number }

/** The only time that an event becomes JSON: for its line, and for all who are sent it. Masked here and not by those who append, so that no field is forgotten, on the disk either. */
const toJson = ({ data }: TurnEvent): string => maskLeaving(JSON.stringify(data))

const lineOf = (pos: number, { type }: TurnEvent, json: string): string =>
  `{"pos":${pos},"type":"${type}","data":${json}}`

/** `json`: the data of the event, written and masked. */
type OnAppend = (event: TurnEvent, pos: number, json: string) => void

/** Sends the events of a log to the readers of its session. */
export const toReaders =
  (hub: Pick<Hub, 'publish'>, { session_id: id, stream_id: stream }: LogHeader): OnAppend =>
  (event, pos, json) =>
    void hub.publish(`session:${id}`, { ...event, json }, { stream, pos })

const LF = 10
const CHUNK_BYTES = 64 << 10
const TAIL_EVENTS = 500
const TAIL_BYTES = 256 << 10

/** A line in memory: its offset in the file, and its frame once a reader has needed it. */
type TailLine = { pos: number; line: Buffer; offset: number; frame?: LogFrame }

/** Builds the SSE frame of `{"pos":7,"type":"token","data":{…}}` from its bytes, without parsing; undefined for a torn line. */
const toFrame = (line: Buffer): LogFrame | undefined => {
  const head = HEAD.exec(line.toString('latin1', 0, HEAD_BYTES))
  if (!head || line.at(-1) !== BRACE) return undefined
  const [{ length }, pos = '', type = ''] = head
  const data = line.subarray(length, -1)
  const frame = Buffer.concat([Buffer.from(frameHead(type, pos)), data, END])
  return { pos: Number(pos), type: type as LoggedEvent['type'], data, frame }
}

/** One event for the readers of the stream; they share the bytes of `frame`. */
export type LogFrame = { pos: number; type: LoggedEvent['type']; data: Buffer; frame: Buffer }

const HEAD = /^\{"pos":(\d+),"type":"(\w+)","data":/
const HEAD_BYTES = 96
const BRACE = 0x7d
const END = Buffer.from(FRAME_END)

export type EventLog = ReturnType<typeof createEventLog>

/** Opens a new log, or continues one that an earlier process left behind. */
export const createEventLog = (path: string, header: LogHeader, onAppend: OnAppend = () => {}) => {
  const resumed = existsSync(path) ? readLiveFile(path) : undefined
  // Nothing follows its writes: it is in no copy and no backup, and no attributes of it are kept.
  const file = openJournal(path, { create: !resumed, isFollowed: false })
  if (!resumed) file.append([JSON.stringify({ v: 1, ...header })])
  let pos = resumed?.events.at(-1)?.pos ?? 0
  let closed = false
  /** It has events that are not in the file. */
  let isUnsaved = false
  let reading = 0
  let tail: TailLine[] = []
  let tailBytes = 0
  let encode = createTextPool()
  const waiters = new Set<() => void>()

  const wake = (): void => {
    for (const resolve of waiters) resolve()
    waiters.clear()
  }

  const pushTail = (text: string, offset: number): void => {
    const line = encode(text)
    tail.push({ pos, line, offset })
    tailBytes += line.length
    if (tail.length > TAIL_EVENTS || tailBytes > TAIL_BYTES) {
      const dropped = tail.splice(0, Math.ceil(tail.length / 2))
      for (const entry of dropped) tailBytes -= entry.line.length
    }
  }

  /** Writes the event, then sends it. Throws UserError 'full' when the disk is full. */
  const append = (event: TurnEvent): number => {
    if (closed) return pos
    const json = toJson(event)
    const line = lineOf(pos + 1, event, json)
    const offset = file.size
    file.append([line])
    pos += 1
    pushTail(line, offset)
    onAppend(event, pos, json)
    wake()
    return pos
  }

  /** Sends an event without writing it: the last events of a turn when the disk is full. */
  const emitUnsaved = (event: TurnEvent): void => {
    if (closed) return
    isUnsaved = true
    pos += 1
    const json = toJson(event)
    pushTail(lineOf(pos, event, json), file.size)
    onAppend(event, pos, json)
    wake()
  }

  /** The logs of ended turns stay readable for minutes, and each has up to a megabyte here. */
  const dropTail = (): void => {
    if (!closed || isUnsaved || reading > 0) return
    tail = []
    tailBytes = 0
    // Its memory as well.
    encode = createTextPool()
  }

  /** Lines of the file from `offset` on, read in chunks. */
  async function* fromFile(offset: number): AsyncGenerator<Buffer> {
    const handle = await open(path)
    try {
      let rest: Buffer = Buffer.alloc(0)
      let position = offset
      while (true) {
        const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
        const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position)
        if (bytesRead === 0) return
        position += bytesRead
        const buffered = Buffer.concat([rest, chunk.subarray(0, bytesRead)])
        let start = 0
        for (let stop = buffered.indexOf(LF); stop !== -1; stop = buffered.indexOf(LF, start)) {
          yield buffered.subarray(start, stop)
          start = stop + 1
        }
        rest = buffered.subarray(start)
      }
    } finally {
      await handle.close()
    }
  }

  /**
   * Every event after `after`, then new ones, until the log is closed and read to its end. A position that the log has not
   * reached is none of it: the reader gets everything.
   */
  async function* frames(after: number, signal: AbortSignal): AsyncGenerator<LogFrame> {
    reading += 1
    try {
      yield* follow(after, signal)
    } finally {
      reading -= 1
      dropTail()
    }
  }

  async function* follow(after: number, signal: AbortSignal): AsyncGenerator<LogFrame> {
    let at = after > pos ? 0 : Math.max(0, after)
    /** File offset at or before the line that follows `at`, so that a reader that falls behind again does not start over. */
    let offset = 0
    // One listener for the whole read: one per wait would accumulate on the signal of a long stream.
    let resume = () => {}
    const onAbort = () => resume()
    signal.addEventListener('abort', onAbort, { once: true })
    while (!signal.aborted) {
      if (at < pos) {
        const first = tail[0]?.pos ?? pos + 1
        if (at + 1 < first) {
          for await (const line of fromFile(offset)) {
            if (signal.aborted) return
            const found = toFrame(line)
            if (found && found.pos >= first) break
            offset += line.length + 1
            if (!found || found.pos <= at) continue
            at = found.pos
            yield found
          }
          // An unreadable line must not block the reader forever.
          at = Math.max(at, first - 1)
          continue
        }
        const entry = tail[at + 1 - first]!
        at = entry.pos
        offset = entry.offset + entry.line.length + 1
        entry.frame ??= toFrame(entry.line)!
        yield entry.frame
      } else if (closed) {
        return
      } else {
        await new Promise<void>(resolve => {
          resume = resolve
          waiters.add(resolve)
        })
        waiters.delete(resume)
      }
    }
  }

  async function* read(after: number, signal: AbortSignal): AsyncGenerator<LoggedEvent> {
    for await (const { pos: at, type, data } of frames(after, signal)) {
      yield { pos: at, type, data: JSON.parse(data.toString()) }
    }
  }

  return {
    ...header,
    path,
    append,
    emitUnsaved,
    read,
    frames,
    position: () => pos,
    /** Bytes of the events in memory. */
    heldBytes: () => tailBytes,
    isClosed: () => closed,
    /** No more events: readers finish and end. The file stays until `remove`. */
    close(): void {
      if (closed) return
      closed = true
      file.close()
      dropTail()
      wake()
    },
    remove(): void {
      rmSync(path, { force: true })
      isUnsaved = false
      dropTail()
    },
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
