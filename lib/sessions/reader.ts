/** Reads one session: completely, a page from its end, or its messages as JSON bytes. */
import type { Clock } from '../base/clock.ts'
import { missing } from '../errors.ts'
import { redactValue, secretsVersion } from '../base/redact/redact.ts'
import type { Decision } from '../schema/decision.ts'
import type { Message } from '../schema/message.ts'
import { fileStamp, type JournalLine, readLines, readLinesBackward } from '../store/journal.ts'
import { toDecision, withDecisions } from './decisions.ts'
import {
  type AnsweredEntry,
  type JournalEntry,
  isQuestionLine,
  isStateLine,
  messageHead,
  messageId,
  parseEntry,
  questionId,
  type StoredState,
} from './entries.ts'
import {
  foldFile,
  readEntries,
  type SessionFile,
  type SessionFiles,
  sessionMissing,
  withFile,
  withFileInSlices,
} from './files.ts'
import { type Folded, foldSteps, isHidden, type Summary } from './fold.ts'
import { spliceMessages } from './message-bytes.ts'
import { RecentReads } from './recent-reads.ts'
import { withVersions } from './versions.ts'

export type Tail = {
  messages: Message[]
  /** Visible messages before the first returned. */
  offset: number
  truncated: boolean
}

export type TailOptions = { limit: number; before?: string | undefined; raw?: boolean }

const messageMissing = () => missing('Message not found', { code: 'message_not_found' })

const toTail = (messages: Message[], offset: number): Tail => ({
  messages,
  offset,
  truncated: offset > 0,
})

/** For a file that is not in our own form. */
const tailOf = ({ messages }: Folded, limit: number, before: string | undefined): Tail => {
  const end = before === undefined ? messages.length : messages.findIndex(({ id }) => id === before)
  if (end === -1) throw messageMissing()
  const offset = Math.max(0, end - limit)
  return toTail(messages.slice(offset, end), offset)
}

/** Reads a clean journal from its end, and parses only what is returned: the cost does not depend on its length. */
const readTail = (
  path: string,
  { cuts, count }: Summary,
  limit: number,
  before: string | undefined,
): Tail =>
  withFile(path, fd => {
    const messages: Message[] = []
    /** The first answer below the line that is read. */
    const answers = new Map<string, AnsweredEntry>()
    /** What was asked between the line that is read and the next visible message, last first. */
    let decisions: Decision[] = []
    let isBelow = before !== undefined
    let offset = count
    for (const { bytes } of readLinesBackward(fd)) {
      if (!isBelow && messages.length >= limit) break
      const head = messageHead(bytes)
      if (head ? isHidden(cuts, head.n) : !isQuestionLine(bytes)) continue
      if (head) offset -= 1
      if (head && isBelow) {
        isBelow = messageId(bytes, head.start) !== before
        continue
      }
      const entry = parseEntry(bytes.toString())
      if (entry === null || entry === 'unknown') continue
      if (entry.t === 'message') {
        messages.push(withDecisions(entry.message, decisions.reverse()))
        decisions = []
      } else if (entry.t === 'answered') answers.set(entry.id, entry)
      else if (entry.t === 'asked' && !isBelow && !isHidden(cuts, entry.n)) {
        const answer = answers.get(questionId(entry.question) ?? '')
        if (answer) decisions.push(toDecision(entry, answer))
      }
    }
    if (isBelow) throw messageMissing()
    return toTail(messages.reverse(), Math.max(0, offset))
  })

type States = Map<string, StoredState>

const addState = (states: States, entry: JournalEntry | 'unknown' | null): void => {
  if (entry === null || entry === 'unknown' || entry.t !== 'provider_state') return
  const { id, key, items, sources } = entry
  states.set(id, { key, items, ...(sources && { sources }) })
}

/** What providers get back with messages, by message id: the last line of a message counts. */
export const readStates = (path: string): States => {
  const states: States = new Map()
  for (const entry of readEntries(path, isStateLine)) addState(states, entry)
  return states
}

/** The same lines; the states among them are added to `states`. */
function* statesOf(lines: Iterable<JournalLine>, states: States): Generator<JournalLine> {
  for (const line of lines) {
    if (isStateLine(line.bytes)) addState(states, parseEntry(line.bytes.toString()))
    yield line
  }
}

/** A session as a model is sent it: the transcript, and what providers get back with its messages, by message id. */
export type ForModel = { folded: Folded; states: ReadonlyMap<string, StoredState> }

/** Reads the file once, in slices. Not redacted. */
export const readForModel = async (file: SessionFile): Promise<ForModel> => {
  const states: States = new Map()
  const fold =
    file.format === 'json'
      ? foldFile(file)
      : await withFileInSlices(file.path, fd => foldSteps(file.id, statesOf(readLines(fd), states)))
  if (!fold) throw sessionMissing()
  return { folded: fold.folded, states }
}

const isInOwnForm = ({ clean, format }: Summary): boolean => clean && format === 'jsonl'

/** `load` reads the whole session: for files that are not in our own form. */
export const tailFrom = (
  files: SessionFiles,
  summary: Summary,
  { limit, before, raw = false }: TailOptions,
  load: () => Folded,
): Tail => {
  const most = Math.max(0, Math.trunc(limit))
  const tail = isInOwnForm(summary)
    ? readTail(files.jsonl(summary.id), summary, most, before)
    : tailOf(load(), most, before)
  if (raw) return tail
  const messages = redactValue(tail.messages)
  return { ...tail, messages: messages.map(each => withVersions(each, summary.versions)) }
}

/** Where a session may contain secrets: a few numbers, which take most of the time of reading it to find. */
const PLACES = { maxBytes: 256 * 1024, keptMs: 10 * 60_000 }
/** With the key and the version. */
const placesBytes = (offsets: readonly number[]): number => 200 + 8 * offsets.length

/** Reads all messages of a session as a JSON array, redacted. */
export class WholeReader {
  readonly #files: SessionFiles
  readonly #places: RecentReads

  constructor(files: SessionFiles, clock: Clock) {
    this.#files = files
    this.#places = new RecentReads(clock, PLACES)
  }

  /** `stamp`: of the file that the summary is of. `load` reads the whole session: for files that are not in our own form. */
  read(summary: Summary, stamp: string | undefined, load: () => Folded): Buffer {
    if (!isInOwnForm(summary))
      return Buffer.from(
        JSON.stringify(
          redactValue(load().messages).map(each => withVersions(each, summary.versions)),
        ),
      )
    const path = this.#files.jsonl(summary.id)
    const version = `${stamp} ${secretsVersion()}`
    return spliceMessages(path, summary, (size, find) =>
      // The file may have changed since it was compared.
      fileStamp(path) === stamp
        ? this.#places.read(summary.id, `${version} ${size}`, find, placesBytes)
        : find(),
    )
  }
}
