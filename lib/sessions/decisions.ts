/**
 * Decisions of a transcript, derived from the `asked` and `answered` lines of its journal. A decision belongs to the last
 * visible message above its `asked` line; a copied or imported message carries those of its original itself.
 */
import { shorten } from '../base/shorten.ts'
import { asString } from '../base/json.ts'
import { placeOf } from '../base/network-key.ts'
import type { Decision } from '../schema/decision.ts'
import type { Message } from '../schema/message.ts'
import type { Question, Unanswered } from '../schema/question.ts'
import { type AnsweredEntry, type AskedEntry, questionId } from './entries.ts'

const WHAT_CHARS = 4_000
const PLAN_CHARS = 200

/** Who answered, in lines of turns that ended before anyone did. Newer lines have a `reason`. */
const ENDED: ReadonlySet<string | undefined> = new Set([
  ...['end of turn', 'cancel', 'restart', 'new turn', 'edit', 'delete', 'mode'],
])

/** Why no one answered; undefined when someone did. */
export const reasonOf = ({
  answer,
  by,
  reason,
}: Pick<AnsweredEntry, 'answer' | 'by' | 'reason'>): Unanswered | undefined => {
  if (reason) return reason
  if (answer !== 'deny' && answer !== '') return undefined
  if (by === 'timeout' || by === 'withdrawn') return by
  return ENDED.has(by) ? 'ended' : undefined
}

/** `by` is `Anna (192.168.0.7)` where several people use the service, and otherwise an address or a device. */
const personIn = (by = ''): string => /^(.+) \([^()]*\)$/.exec(by)?.[1] ?? ''

const firstLine = (markdown: string): string =>
  shorten(
    markdown
      .split('\n')
      .map(line => line.replace(/^#+\s*/, '').trim())
      .find(Boolean) ?? '',
    PLAN_CHARS,
  )

/** The lines may have been edited by hand. */
const askedIn = (question: Question): Pick<Decision, 'kind' | 'what' | 'choices'> => {
  if (question.kind === 'approval') {
    const { network } = question
    const what = shorten(asString(question.command), WHAT_CHARS)
    const isKnown = typeof network?.host === 'string'
    return { kind: 'approval', what: isKnown ? `${what} → ${placeOf(network)}` : what }
  }
  const text = asString(question.question)
  if (question.plan === true) return { kind: 'plan', what: firstLine(text) }
  const { choices_offered: offered } = question
  const choices = Array.isArray(offered) ? offered.filter(each => typeof each === 'string') : []
  return {
    kind: 'clarify',
    what: shorten(text, WHAT_CHARS),
    ...(choices.length > 0 && { choices }),
  }
}

export const toDecision = ({ question, at }: AskedEntry, answered: AnsweredEntry): Decision => {
  const { id, answer, by, rule, auto = by === 'yolo' ? by : undefined } = answered
  const { call_id, requested_at } = question
  const reason = reasonOf(answered)
  const person = personIn(by)
  const scope = rule?.scope ?? (answer === 'session' ? answer : undefined)
  return {
    id,
    ...askedIn(question),
    ...(typeof call_id === 'string' && { call_id }),
    answer: asString(answer),
    ...(reason && { reason }),
    ...(person && { by: person }),
    ...(auto && { auto }),
    ...(scope && question.kind === 'approval' && { scope }),
    ...(rule?.words && { rule: `${rule.words.join(' ')} *` }),
    // What needed no question did not wait.
    asked_at: answered.auto ? answered.at : typeof requested_at === 'number' ? requested_at : at,
    answered_at: answered.at,
  }
}

/** Pairs the questions of a journal with their answers, read from its beginning. */
export class Answers {
  readonly #open = new Map<string, AskedEntry[]>()
  readonly #answers = new Map<AskedEntry, AnsweredEntry>()

  ask(entry: AskedEntry): void {
    const id = questionId(entry.question) ?? ''
    this.#open.set(id, [...(this.#open.get(id) ?? []), entry])
  }

  answer(answered: AnsweredEntry): void {
    for (const entry of this.#open.get(answered.id) ?? []) this.#answers.set(entry, answered)
    this.#open.delete(answered.id)
  }

  /** None when it is open. */
  decisionOf(entry: AskedEntry): Decision[] {
    const answered = this.#answers.get(entry)
    return answered ? [toDecision(entry, answered)] : []
  }
}

export const withDecisions = (message: Message, decisions: readonly Decision[]): Message =>
  decisions.length === 0
    ? message
    : { ...message, _decisions: [...(message._decisions ?? []), ...decisions] }
