/** The same fold as `foldForward`, from the last line up, so that the cost of a tail does not depend on the file's size. */
import type { Line } from '../store/journal.ts'
import type { Decision } from '../schema/decision.ts'
import type { Message } from '../schema/message.ts'
import type { Question } from '../schema/question.ts'
import { reasonOf, toDecision, withDecisions } from './decisions.ts'
import {
  type AnsweredEntry,
  messageHead,
  type Meta,
  numberOf,
  parseForTranscript,
  questionId,
  type Sent,
  type SummaryEntry,
} from './entries.ts'
import { type Folded, isHidden, toSent, type Turn, withVersion } from './fold.ts'

export type BackwardOptions = {
  /** Stop after this many visible messages. */
  limit?: number
  /** The active cuts from the catalog, when reading does not start at the end of the file. */
  cuts?: readonly [number, number][] | undefined
  /** The answer to a question, in the lines after those that are read. */
  answerBelow?: (id: string) => AnsweredEntry | undefined
}

export type Backward = Omit<Folded, 'format' | 'renamedTo'> & {
  /** True when the first line was reached and every field is final; otherwise only `messages` is, for its range. */
  complete: boolean
}

/** Takes lines from last to first. Later lines win, so the first occurrence counts. */
export const foldBackward = (
  id: string,
  lines: Iterable<Line>,
  { limit = Number.POSITIVE_INFINITY, cuts, answerBelow }: BackwardOptions = {},
): Backward => {
  const messages: Message[] = []
  const numbers: number[] = []
  const summaries: SummaryEntry[] = []
  const sent: Sent[] = []
  const questions: Question[] = []
  /** The first answer below the line that is read. */
  const answers = new Map<string, AnsweredEntry>()
  /** What was asked between the line that is read and the next visible message, last first. */
  let decisions: Decision[] = []
  let missed = false
  let isAnswered = false
  const aliases: string[] = []
  const meta = new Map<string, unknown>()
  const ended = new Map<string, Pick<Turn, 'how' | 'usage' | 'limit'>>()
  const undone = new Set<number>()
  const unsummed = new Set<number>()
  let turn: Turn | null = null
  let header: { created_at: number; updated_at: number; gen: number } | null = null
  let lastMessageAt = 0
  let lowestCut = Number.POSITIVE_INFINITY
  /** The cuts of the last `show`; those above it count no more. */
  let shown: readonly [number, number][] | null = null
  const replacements: { of: string; id: string }[] = []
  let last = 0
  let bad = 0
  let complete = true

  const hidden = (n: number): boolean =>
    cuts ? isHidden(cuts, n) : n > lowestCut || (shown !== null && isHidden(shown, n))
  /** The time of the turn that ended next, for a message without one. */
  let endedAt: number | undefined
  const stamped = (message: Message): Message =>
    message.timestamp === undefined && endedAt !== undefined
      ? { ...message, timestamp: Math.floor(endedAt) }
      : message
  const keep = (values: object): void => {
    if (header) return
    for (const [key, value] of Object.entries(values)) if (!meta.has(key)) meta.set(key, value)
  }

  for (const { bytes } of lines) {
    if (messages.length >= limit) {
      complete = false
      break
    }
    if (bytes.length === 0) continue
    const head = messageHead(bytes)
    // A tail may skip hidden lines unparsed; a complete fold must find out whether they are readable.
    if (head && limit !== Number.POSITIVE_INFINITY && hidden(head.n)) continue
    const text = bytes.toString()
    const entry = parseForTranscript(text)
    if (entry === 'unknown') {
      last = Math.max(last, numberOf(text))
      continue
    }
    if (entry === null) {
      bad += 1
      continue
    }
    last = Math.max(last, entry.n)
    switch (entry.t) {
      case 'message':
        if (!header) lastMessageAt = Math.max(lastMessageAt, entry.at)
        if (hidden(entry.n)) break
        messages.push(withDecisions(stamped(entry.message), decisions.reverse()))
        decisions = []
        numbers.push(entry.n)
        break
      case 'summary':
        if (!hidden(entry.to) && !unsummed.has(entry.n)) summaries.push(entry)
        break
      case 'sent':
        sent.push(toSent(entry))
        break
      case 'unsummary':
        unsummed.add(entry.summary)
        break
      case 'cut':
        if (!shown && !undone.has(entry.n)) lowestCut = Math.min(lowestCut, entry.after)
        break
      case 'show':
        if (!shown && !undone.has(entry.n)) lowestCut = Math.min(lowestCut, entry.after)
        shown ??= entry.cuts
        break
      case 'uncut':
        undone.add(entry.cut)
        break
      case 'answered':
        answers.set(entry.id, entry)
        if (entry.auto) break
        if (!isAnswered) missed = reasonOf(entry) === 'timeout'
        isAnswered = true
        break
      case 'asked': {
        const id = questionId(entry.question) ?? ''
        const answer = answers.get(id)
        if (!answer) questions.push(entry.question)
        const given = answer ?? answerBelow?.(id)
        if (given && !hidden(entry.n)) decisions.push(toDecision(entry, given))
        break
      }
      case 'turn_ended':
        endedAt = entry.at
        if (!ended.has(entry.stream_id)) {
          const { how, usage = null, limit } = entry
          ended.set(entry.stream_id, { how, usage, ...(limit && { limit }) })
        }
        break
      case 'turn_started': {
        const { stream_id, model, provider, message_id, at } = entry
        const end = ended.get(stream_id) ?? { how: null, usage: null }
        if (entry.replaces) replacements.push({ of: entry.replaces, id: message_id })
        turn ??= { stream_id, model, provider, message_id, at, ...end, ...(missed && { missed }) }
        isAnswered = true
        missed = false
        break
      }
      case 'renamed':
        aliases.push(entry.from)
        break
      case 'meta':
        keep(entry.patch)
        break
      case 'session': {
        const { created_at, updated_at, ...rest } = entry.meta
        keep(rest)
        header ??= {
          created_at: typeof created_at === 'number' ? created_at : entry.at,
          updated_at: typeof updated_at === 'number' ? updated_at : entry.at,
          gen: entry.gen ?? 0,
        }
        break
      }
    }
  }

  return {
    id,
    created_at: header?.created_at ?? 0,
    updated_at: Math.max(header?.updated_at ?? 0, lastMessageAt),
    gen: header?.gen ?? 0,
    meta: Object.fromEntries([...meta].filter(([, value]) => value !== null)) as Meta,
    messages: messages.reverse(),
    numbers: numbers.reverse(),
    summaries: summaries.reverse(),
    sent: sent.reverse(),
    versions: replacements.reduceRight<string[][]>(
      (all, { of, id: version }) => withVersion(all, of, version),
      [],
    ),
    questions: questions.reverse(),
    turn,
    aliases: [...new Set(aliases.reverse())],
    nextN: last + 1,
    bad,
    complete,
  }
}
