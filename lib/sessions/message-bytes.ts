/** Builds the JSON array of a session's messages from the journal's bytes, parsing only lines that may contain secrets. */
import { redactJsonLine, suspectOffsets } from '../base/redact/redact.ts'
import type { Decision } from '../schema/decision.ts'
import type { Message } from '../schema/message.ts'
import { Answers, withDecisions } from './decisions.ts'
import { type AskedEntry, isQuestionLine, messageHead, parseEntry } from './entries.ts'
import { isHidden, type Summary } from './fold.ts'
import { versionsOf } from './versions.ts'
import { readWhole } from '../store/read-text.ts'

const LF = 10
const COMMA = 44

/** Of a message: its bytes, and the decisions about what was asked after it. */
type Range = { from: number; to: number; decisions: Decision[] }

/** The visible messages of a clean journal. */
const ranges = (bytes: Buffer, cuts: readonly [number, number][]): Range[] => {
  const messages: Range[] = []
  const answers = new Answers()
  const questions: { entry: AskedEntry; range: Range }[] = []
  let start = 0
  const readQuestion = (line: Buffer): void => {
    const entry = parseEntry(line.toString())
    if (!entry || entry === 'unknown') return
    if (entry.t === 'answered') answers.answer(entry)
    const range = messages.at(-1)
    if (entry.t !== 'asked' || !range || isHidden(cuts, entry.n)) return
    answers.ask(entry)
    questions.push({ entry, range })
  }
  for (let stop = bytes.indexOf(LF); stop !== -1; stop = bytes.indexOf(LF, start)) {
    const line = bytes.subarray(start, stop)
    const head = messageHead(line)
    if (!head && isQuestionLine(line)) readQuestion(line)
    if (head && !(cuts.length > 0 && isHidden(cuts, head.n))) {
      messages.push({ from: start + head.start, to: stop - 1, decisions: [] })
    }
    start = stop + 1
  }
  for (const { entry, range } of questions) range.decisions.push(...answers.decisionOf(entry))
  return messages
}

/** The JSON of a message with its decisions. */
const jsonOf = (bytes: Buffer, { from, to, decisions }: Range): string => {
  const json = bytes.toString('utf8', from, to)
  return decisions.length === 0
    ? json
    : JSON.stringify(withDecisions(JSON.parse(json) as Message, decisions))
}

/** Only the messages, when most of the file is something else (reasoning for providers), which would be scanned in vain. */
const compacted = (bytes: Buffer, messages: Range[]): { bytes: Buffer; messages: Range[] } => {
  const size = messages.reduce((sum, { from, to }) => sum + to - from, 0)
  if (size > bytes.length / 2) return { bytes, messages }
  let at = 0
  return {
    bytes: Buffer.concat(messages.map(({ from, to }) => bytes.subarray(from, to))),
    messages: messages.map(({ from, to, decisions }) => {
      const start = at
      at += to - from
      return { from: start, to: at, decisions }
    }),
  }
}

/**
 * Makes the array in the same memory: each message moves to the front, over the head of its line, and overwrites nothing that
 * is still needed. A second buffer of its size would be new memory for each reading of a long session.
 */
const inPlace = (bytes: Buffer, messages: readonly Range[]): Buffer => {
  let at = 0
  bytes[at++] = 0x5b
  for (const [index, { from, to }] of messages.entries()) {
    if (index > 0) bytes[at++] = COMMA
    bytes.copyWithin(at, from, to)
    at += to - from
  }
  bytes[at++] = 0x5d
  return bytes.subarray(0, at)
}

const ID = /^\{"id":"([^"\\]+)"/

const ID_BYTES = 160

const idOf = (bytes: Buffer, { from, to }: Range): string =>
  ID.exec(bytes.toString('utf8', from, Math.min(to, from + ID_BYTES)))?.[1] ??
  (JSON.parse(bytes.toString('utf8', from, to)) as { id: string }).id

/**
 * The messages of a clean journal as a JSON array. Only those are parsed that have decisions or may have a secret. `recall`: what
 * the filter has found in so many bytes of this file, with these cuts; `find` takes most of the time.
 */
export const spliceMessages = (
  path: string,
  { cuts, versions = [] }: Summary,
  recall: (size: number, find: () => readonly number[]) => readonly number[],
): Buffer => {
  const whole = readWhole(path)
  const { bytes, messages } = compacted(whole, ranges(whole, cuts))
  // latin1: one character per byte, so text offsets are byte offsets.
  const places = recall(whole.length, () => suspectOffsets(bytes.toString('latin1')))
  const isPlain =
    places.length === 0 &&
    versions.length === 0 &&
    messages.every(({ decisions }) => decisions.length === 0)
  if (bytes === whole && isPlain && messages.length > 0) return inPlace(whole, messages)
  const parts: (Range | Buffer)[] = []
  let place = 0
  let size = 2
  for (const range of messages) {
    while (place < places.length && (places[place] as number) < range.from) place += 1
    const suspect = place < places.length && (places[place] as number) < range.to
    const ids = versions.length > 0 ? versionsOf(versions, idOf(bytes, range)) : undefined
    const isMade = suspect || range.decisions.length > 0
    const safe = isMade ? redactJsonLine(jsonOf(bytes, range)) : ids ? jsonOf(bytes, range) : ''
    const more = ids ? `${safe.slice(0, -1)},"_versions":${JSON.stringify(ids)}}` : safe
    const part = more ? Buffer.from(more) : range
    parts.push(part)
    size += ('from' in part ? part.to - part.from : part.length) + 1
  }
  const out = Buffer.allocUnsafe(size)
  let at = 0
  out[at++] = 0x5b
  for (const [index, part] of parts.entries()) {
    if (index > 0) out[at++] = COMMA
    at += 'from' in part ? bytes.copy(out, at, part.from, part.to) : part.copy(out, at)
  }
  out[at++] = 0x5d
  return out.subarray(0, at)
}
