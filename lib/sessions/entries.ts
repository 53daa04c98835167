/**
 * The file format of a session: `sessions/<id>.jsonl`, append-only, one JSON object per line.
 *
 * Every line begins with `n`, a number that rises (gaps are allowed, reuse is not), `t`, its type, and `at`, seconds
 * since 1970, for information only: order is the order of lines, never of times.
 * The file's NAME is the session's id. Later lines win over earlier ones, so the file can be read from its end: nothing
 * in it is an index into the list of messages.
 *
 *   {"n":1,"t":"session","at":…,"v":1,"id":…,"meta":{…}}     header; `gen` counts purges, `from` names a converted file
 *   {"n":…,"t":"meta","at":…,"patch":{…}}                    later wins, null clears
 *   {"n":…,"t":"message","at":…,"message":{"id":"m7",…}}     `message` is the last key and the line has exactly this shape
 *   {"n":…,"t":"cut","at":…,"after":7}                       hides every message above it with n > 7, every summary with to > 7
 *   {"n":…,"t":"uncut","at":…,"cut":12}                      undoes the cut with n 12 above it
 *   {"n":…,"t":"show","at":…,"after":12,"cuts":[[9,3]]}      another version of a message is shown: from here on exactly this is hidden
 *                                                            of what stands above it: n > 12, and for each of `cuts` n between its two numbers.
 *                                                            Cuts above it count no more.
 *   {"n":…,"t":"summary","at":…,"from":2,"to":9,"text":…}    is sent to the model instead of the messages with these n; `last` is the
 *                                                            id of the last of them. A later one that overlaps it replaces it.
 *   {"n":…,"t":"unsummary","at":…,"summary":12}              undoes the summary with n 12 above it
 *   {"n":…,"t":"asked","at":…,"question":{…}}                an approval or a question waits for the user
 *   {"n":…,"t":"answered","at":…,"id":…,"kind":…,"answer":…} the first answer wins; `by` whom, the `rule` that was given with it, or the
 *                                                            `reason` why no one answered, or what (`auto`) allowed it without a question
 *   {"n":…,"t":"turn_started","at":…,"stream_id":…,…}  {"n":…,"t":"turn_ended","at":…,"stream_id":…,"how":…}
 *                                                            `resumable`: it continues after a restart; `by`: begun by a `task` or `program`; `external`: run by an external agent; `limit`: what ended it before
 *                                                            its work was done, `steps` or `budget`; `replaces`: its message is another version of the one with this id
 *   {"n":…,"t":"turn_parked","at":…,"stream_id":…}           the service stopped in order, and it continues after that
 *   {"n":…,"t":"turn_resumed","at":…,"stream_id":…}          it was continued after a restart
 *   {"n":…,"t":"sent","at":…,"id":"m7","before":…}           the message was sent to the model with this text before it; `text`, when given,
 *                                                            replaces its own text; `images` names stored copies of attached
 *                                                            images. Later turns send it the same way.
 *   {"n":…,"t":"provider_state","at":…,"id":"m7",…}          reasoning of this message in the provider's form, for the engine only: `key`
 *                                                            names the endpoint, `items` go back to it, `sources` are call indexes
 *   {"n":…,"t":"renamed","at":…,"from":…,"to":…}             earlier names of the file stay valid as aliases
 *
 * A message's id is `m<n>` with the number that was free when it started streaming, and is never reused.
 * An unreadable line is skipped and counted; a line of an unknown type is skipped silently.
 */
import { isObject, type JsonObject } from '../base/json.ts'
import { AutoApproval } from '../schema/decision.ts'
import { readImages, type StoredImage } from '../schema/image.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import { type Question, type Rule, RuleScope, Unanswered } from '../schema/question.ts'
import type { Draft, SessionMode } from '../schema/session.ts'
import type { Usage } from '../schema/usage.ts'
import { isValidMessage, toMessage } from './import-messages.ts'
import { toMeta } from './import-record.ts'

/** The stored keys of the record C, `composer_draft`, and unknown keys of an imported file. */
export type Meta = {
  title?: string
  workspace?: string
  model?: string | null
  profile?: string | null
  pinned?: boolean
  archived?: boolean
  project_id?: string | null
  personality?: string | null
  input_tokens?: number
  output_tokens?: number
  estimated_cost?: number
  cache_read_tokens?: number
  cache_write_tokens?: number
  composer_draft?: Draft
  /** As in `SessionRow`. */
  mode?: SessionMode
  /** What prompt and tools of this chat were reduced to, and for which model and window; see `window-fit.ts`. */
  small_window?: {
    provider: string
    model: string
    context_length: number
    extent: 'short' | 'few tools'
  }
  /** Only in converted and purged files, where they differ from the times of the lines. */
  created_at?: number
  updated_at?: number
  [key: string]: unknown
}

/** In a patch, null clears a key. */
export type MetaPatch = { [K in keyof Meta]?: Meta[K] | null }

export type TurnEnd = 'done' | 'failed' | 'cancelled' | 'interrupted'
/** What ended a turn before its work was done. */
export type TurnLimit = 'steps' | 'budget'

/** How a user message, or a result with a warning, was sent to the model. It must not change later, or the provider's prompt cache is lost. */
export type Sent = { id: string; before: string; text?: string; images?: StoredImage[] }

/** What the endpoint `key` gets back with a message in later turns; see `ProviderState` of the engine. */
export type StoredState = { key: string; items: unknown[]; sources?: number[][] }

type Kinds = {
  session: { v: 1; id: string; gen?: number; from?: { size: number; sha256: string }; meta: Meta }
  meta: { patch: MetaPatch }
  message: { message: Message }
  cut: { after: number }
  uncut: { cut: number }
  /** `cuts` as in `Summary`. */
  show: { after: number; cuts: [number, number][] }
  summary: { from: number; to: number; last?: string; text: string }
  unsummary: { summary: number }
  asked: { question: Question }
  answered: {
    id: string
    kind: Question['kind']
    answer: string
    by?: string
    rule?: Rule
    /** Allowed without a question; the `asked` line is written with it. */
    auto?: AutoApproval
    /** No one answered. */
    reason?: Unanswered
  }
  turn_started: {
    stream_id: string
    model: string
    provider: string
    message_id: string
    /** It continues after a restart. */
    resumable?: true
    /** Who began it, if not a person. */
    by?: 'task' | 'program'
    /** An external agent runs it. */
    external?: true
    /** Its message is another version of the one with this id. */
    replaces?: string
  }
  turn_parked: { stream_id: string }
  turn_resumed: { stream_id: string }
  turn_ended: { stream_id: string; how: TurnEnd; usage?: Usage; limit?: TurnLimit }
  sent: Sent
  provider_state: { id: string } & StoredState
  renamed: { from: string; to: string }
}

export type EntryType = keyof Kinds
type Of<K extends EntryType> = { n: number; t: K; at: number } & Kinds[K]
/** One line of the file. */
export type JournalEntry = { [K in EntryType]: Of<K> }[EntryType]
export type MessageEntry = Of<'message'>
export type SummaryEntry = Of<'summary'>
export type AskedEntry = Of<'asked'>
export type AnsweredEntry = Of<'answered'>
export type SentEntry = Of<'sent'>
export type StateEntry = Of<'provider_state'>

/** A line to append: `n` and `at` are assigned then. */
export type NewEntry = {
  [K in EntryType]: { t: K } & (K extends 'message' ? { message: NewMessage } : Kinds[K])
}[EntryType]

/** Messages that differ from their line, so the bytes of the line must not be used for them. */
const repaired = new WeakSet<object>()

/** Validates and repairs the message of a line; false when it is not a message. */
const repairMessage = (line: JsonObject): boolean => {
  const { message } = line
  if (!isObject(message)) return false
  if (typeof message.id === 'string' && isValidMessage(message)) return true
  const result = toMessage(message)
  if (!result) return false
  const id = typeof message.id === 'string' ? message.id : `m${String(line.n)}`
  line.message = { ...result, id }
  repaired.add(line.message as object)
  return true
}

const ENDS: ReadonlySet<unknown> = new Set(['done', 'failed', 'cancelled', 'interrupted'])
const LIMITS: ReadonlySet<unknown> = new Set(['steps', 'budget'])
const isUsage = (usage: unknown): boolean =>
  isObject(usage) && Object.values(usage).every(amount => typeof amount === 'number')

const isCut = (cut: unknown): cut is [number, number] =>
  Array.isArray(cut) && cut.length === 2 && cut.every(Number.isInteger)

const isRule = (rule: unknown): boolean =>
  isObject(rule) &&
  RuleScope.safeParse(rule.scope).success &&
  (rule.words === null ||
    (Array.isArray(rule.words) && rule.words.every(word => typeof word === 'string')))

const checks: { [K in EntryType]: (line: JsonObject) => boolean } = {
  session: line => {
    if (!isObject(line.meta)) return false
    line.meta = toMeta(line.meta)
    return true
  },
  meta: line => {
    if (!isObject(line.patch)) return false
    line.patch = toMeta(line.patch)
    return true
  },
  message: repairMessage,
  cut: line => Number.isInteger(line.after),
  uncut: line => Number.isInteger(line.cut),
  show: line =>
    Number.isInteger(line.after) &&
    Array.isArray(line.cuts) &&
    line.cuts.every(cut => isCut(cut) && cut[0] <= (line.n as number)),
  summary: line =>
    typeof line.text === 'string' && Number.isInteger(line.from) && Number.isInteger(line.to),
  unsummary: line => Number.isInteger(line.summary),
  asked: line => isObject(line.question) && questionId(line.question) !== undefined,
  answered: line => {
    if (!isRule(line.rule)) delete line.rule
    if (!AutoApproval.safeParse(line.auto).success) delete line.auto
    if (!Unanswered.safeParse(line.reason).success) delete line.reason
    return typeof line.id === 'string'
  },
  turn_started: line => {
    for (const key of ['model', 'provider', 'message_id'])
      if (typeof line[key] !== 'string') line[key] = ''
    for (const key of ['resumable', 'external']) if (line[key] !== true) delete line[key]
    if (line.by !== 'task' && line.by !== 'program') delete line.by
    if (typeof line.replaces !== 'string') delete line.replaces
    return typeof line.stream_id === 'string'
  },
  turn_parked: line => typeof line.stream_id === 'string',
  turn_resumed: line => typeof line.stream_id === 'string',
  turn_ended: line => {
    if (line.usage !== undefined && !isUsage(line.usage)) delete line.usage
    if (!LIMITS.has(line.limit)) delete line.limit
    return typeof line.stream_id === 'string' && ENDS.has(line.how)
  },
  sent: line => {
    if (line.images !== undefined) line.images = readImages(line.images)
    return (
      typeof line.id === 'string' &&
      typeof line.before === 'string' &&
      (line.text === undefined || typeof line.text === 'string')
    )
  },
  provider_state: line =>
    typeof line.id === 'string' &&
    typeof line.key === 'string' &&
    Array.isArray(line.items) &&
    (line.sources === undefined ||
      (Array.isArray(line.sources) && line.sources.every(Array.isArray))),
  renamed: line => typeof line.from === 'string' && typeof line.to === 'string',
}

/** The id of an approval or a question, which are stored under different keys. */
export const questionId = (question: Record<string, unknown>): string | undefined => {
  const id = question.kind === 'approval' ? question.approval_id : question.clarify_id
  return typeof id === 'string' ? id : undefined
}

/** Some editors write a byte order mark before the text, and a power cut may leave zero bytes. */
export const withoutMark = (text: string): string => text.replace(/^[\ufeff\0]+/, '')

/** Parses a line. Null: unreadable. `'unknown'`: a line of a newer version. */
export const parseEntry = (text: string): JournalEntry | 'unknown' | null => {
  let line: unknown
  try {
    line = JSON.parse(withoutMark(text))
  } catch {
    // Torn, or edited by hand. The caller counts it.
    return null
  }
  if (!isObject(line) || !Number.isInteger(line.n) || (line.n as number) < 1) return null
  if (typeof line.t !== 'string') return null
  if (!Object.hasOwn(checks, line.t)) return 'unknown'
  if (!checks[line.t as EntryType](line)) return null
  if (typeof line.at !== 'number') line.at = 0
  return line as JournalEntry
}

/** The number of a line of an unknown type, which `parseEntry` has validated. It must not be reused. */
export const numberOf = (text: string): number => (JSON.parse(withoutMark(text)) as { n: number }).n

/** The text of one line, without its LF. */
export const formatEntry = (entry: JournalEntry): string => {
  const { n, t, at, ...rest } = entry
  if (t !== 'message') return JSON.stringify({ n, t, at, ...rest })
  const { id, role, ...message } = (entry as MessageEntry).message
  return JSON.stringify({ n, t, at, message: { id, role, ...message } })
}

const HEAD = /^\{"n":(\d+),"t":"message","at":[0-9.]+,"message":/
const HEAD_BYTES = 96
const BRACE = 0x7d

/** For a message line in our own form: its number and the offset of the message's JSON, which ends one byte before the line. */
export const messageHead = (bytes: Buffer): { n: number; start: number } | null => {
  const match = HEAD.exec(bytes.toString('latin1', 0, HEAD_BYTES))
  return match && { n: Number(match[1]), start: match[0].length }
}

const STATE_HEAD = /^\{"n":(\d+),"t":"provider_state",/

const QUESTION_HEAD = /^\{"n":(\d+),"t":"(?:asked|answered)",/

/** Whether it is an `asked` or `answered` line in our own form, without parsing. */
export const isQuestionLine = (bytes: Buffer): boolean =>
  QUESTION_HEAD.test(bytes.toString('latin1', 0, HEAD_BYTES))

/** As `parseEntry`, but `provider_state` lines, which only the engine reads and which may be long, are returned without content. */
export const parseForTranscript = (text: string): JournalEntry | 'unknown' | null => {
  const state = STATE_HEAD.exec(text)
  return state
    ? { n: Number(state[1]), t: 'provider_state', at: 0, id: '', key: '', items: [] }
    : parseEntry(text)
}

/** Whether `parseEntry` would return a `provider_state` entry, without parsing. */
export const isStateLine = (bytes: Buffer): boolean =>
  STATE_HEAD.test(bytes.toString('latin1', 0, HEAD_BYTES))

const ID = /^\{"id":"([^"\\]+)"/
const ID_BYTES = 160

/** The id of a message whose JSON begins at this byte of its line. */
export const messageId = (bytes: Buffer, start: number): string =>
  ID.exec(bytes.toString('utf8', start, start + ID_BYTES))?.[1] ??
  // Another program may write the keys of a message in another order.
  (JSON.parse(bytes.toString('utf8', start, bytes.length - 1)) as Message).id

/** True when the line can be spliced into a response and scanned for secrets without parsing. */
export const isPlainMessage = (bytes: Buffer, entry: MessageEntry, text: string): boolean =>
  !repaired.has(entry.message) &&
  messageHead(bytes)?.n === entry.n &&
  // A line with a trailing CR or space does not end where ours do.
  bytes.at(-1) === BRACE &&
  Object.keys(entry).length === 4 &&
  // An escaped ASCII letter could hide a secret from the filter.
  !/\\u00[2-7]/.test(text)

/** Lines of messages from another program, which follow the header. `updated`: when the session was last changed there. */
export const messageEntries = (messages: readonly NewMessage[], updated: number): MessageEntry[] =>
  messages.map((message, index) => {
    const n = index + 2
    // A message time after the session's must not move the session in the list.
    const time = typeof message.timestamp === 'number' ? message.timestamp : updated
    const at = Math.min(time, updated)
    return { n, t: 'message', at, message: { ...message, id: `m${n}` } as Message }
  })

/** The text of message content, a string or parts. */
export const contentText = (content: Message['content']): string =>
  typeof content === 'string'
    ? content
    : content
        .map(part => (part.type === 'text' && typeof part.text === 'string' ? part.text : ''))
        .filter(Boolean)
        .join('\n')
