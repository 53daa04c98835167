/**
 * The log of one turn: append-only, on disk before it is sent, readable by anybody from any position.
 *
 * `live/<stream_id>.jsonl`: a header `{"v":1,"session_id","stream_id","at"}`, then one line an event,
 * `{"pos":n,"type":…,"data":…}`, positions from 1 without a gap. The newest events also stay in memory; a reader who
 * asks for older ones is served from the file. There is no flush timer: a line is written, then it is sent.
 */
import { createReadStream, existsSync, readFileSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { TurnEvent } from '../schema/event.ts'
import { openJournal } from '../store/journal.ts'

export type Logged = { pos: number; type: TurnEvent['type']; data: TurnEvent['data'] }
export type LogHeader = { session_id: string; stream_id: string; at: number }

const TAIL_EVENTS = 500
const TAIL_BYTES = 256 << 10

type Kept = { pos: number; line: string }

export type EventLog = ReturnType<typeof createEventLog>

/** Opens a new log, or one that a former process left behind (then `resume` is its last position). */
export const createEventLog = (
  path: string,
  header: LogHeader,
  onAppend: (event: TurnEvent, pos: number) => void = () => {},
) => {
  const resumed = existsSync(path) ? readLiveFile(path) : undefined
  const file = openJournal(path, resumed ? {} : { create: true })
  if (!resumed) file.append([JSON.stringify({ v: 1, ...header })])
  let pos = resumed?.events.at(-1)?.pos ?? 0
  let closed = false
  let tail: Kept[] = []
  let tailBytes = 0
  const waiting = new Set<() => void>()

  const wake = (): void => {
    for (const resolve of waiting) resolve()
    waiting.clear()
  }

  const keep = (line: string): void => {
    tail.push({ pos, line })
    tailBytes += line.length
    if (tail.length > TAIL_EVENTS || tailBytes > TAIL_BYTES) {
      const gone = tail.splice(0, Math.ceil(tail.length / 2))
      for (const kept of gone) tailBytes -= kept.line.length
    }
  }

  /** Writes the event, then tells the readers. Throws Refusal 'full' when the disk takes no more. */
  const append = (event: TurnEvent): number => {
    if (closed) return pos
    const line = JSON.stringify({ pos: pos + 1, type: event.type, data: event.data })
    file.append([line])
    pos += 1
    keep(line)
    onAppend(event, pos)
    wake()
    return pos
  }

  /** Tells the readers what could not be written: the last words of a turn whose disk is full. */
  const say = (event: TurnEvent): void => {
    if (closed) return
    pos += 1
    keep(JSON.stringify({ pos, type: event.type, data: event.data }))
    onAppend(event, pos)
    wake()
  }

  async function* fromFile(after: number, until: number): AsyncGenerator<Logged> {
    const lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity })
    for await (const line of lines) {
      const logged = parseLine(line)
      if (logged && logged.pos > after && logged.pos <= until) yield logged
      if (logged && logged.pos >= until) return
    }
  }

  /** Every event after `after`, then the ones to come, until the log is closed and read. */
  async function* read(after: number, signal: AbortSignal): AsyncGenerator<Logged> {
    let at = Math.max(0, after)
    // One listener for the whole read: one a wait would pile up on the signal of a long stream.
    let resume = () => {}
    const onAbort = () => resume()
    signal.addEventListener('abort', onAbort, { once: true })
    while (!signal.aborted) {
      if (at < pos) {
        const first = tail[0]?.pos ?? pos + 1
        if (at + 1 < first) {
          for await (const logged of fromFile(at, first - 1)) {
            if (signal.aborted) return
            at = logged.pos
            yield logged
          }
          // A line that cannot be read back must not hold a reader for ever.
          at = Math.max(at, first - 1)
          continue
        }
        const kept = tail[at + 1 - first]!
        at = kept.pos
        yield parseLine(kept.line)!
      } else if (closed) {
        return
      } else {
        await new Promise<void>(resolve => {
          resume = resolve
          waiting.add(resolve)
        })
        waiting.delete(resume)
      }
    }
  }

  return {
    ...header,
    path,
    append,
    say,
    read,
    position: () => pos,
    isClosed: () => closed,
    /** No more events: readers finish what is there and end. The file stays until `remove`. */
    close(): void {
      if (closed) return
      closed = true
      file.close()
      wake()
    },
    remove(): void {
      rmSync(path, { force: true })
      tail = []
    },
  }
}

const parseLine = (line: string): Logged | undefined => {
  try {
    const value = JSON.parse(line) as Partial<Logged>
    return typeof value.pos === 'number' ? (value as Logged) : undefined
  } catch {
    // A torn tail: it was never sent, so nobody misses it.
    return undefined
  }
}

/** What a former process left: header and whole lines; a torn tail is ignored. Undefined when even the header is torn. */
export const readLiveFile = (path: string): { header: LogHeader; events: Logged[] } | undefined => {
  const [first = '', ...rest] = readFileSync(path, 'utf8').split('\n')
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
