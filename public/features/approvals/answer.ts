/** Answers to approvals and questions, from every place that shows one. The first answer counts, on whichever device it was given. */
import type { RuleAnswer } from '../messages/transcript-context.ts'
import { signal } from '@preact/signals'
import type { Question, Unanswered, ApprovalChoice } from '../../../lib/schema/question.ts'
import { type ApiCall, isUnreachable } from '../../api.ts'
import { questionId } from '../messages/chat-reducer.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from './answer-strings.ts'

const CHOICES: readonly ApprovalChoice[] = ['once', 'session', 'always', 'deny']

type GivenAnswer = {
  kind: Question['kind']
  answer: string
  reason?: Unanswered | undefined
}

/** `Allowed once`, `No answer in time`, or the words of the person. */
const answerWords = ({ kind, answer, reason }: GivenAnswer): string => {
  if (reason) return t(`ask.was.${reason}`)
  return kind === 'clarify'
    ? answer
    : t(`ask.was.${CHOICES.find(choice => choice === answer) ?? 'deny'}`)
}

export type Outcome =
  /** It is settled, by this answer (`counted`) or in another way. */
  | { kind: 'counted' | 'late'; words: string }
  /** It may be answered again. */
  | { kind: 'failed'; words: string; error: unknown }

/** As long as the server holds a reply back. */
const ANSWER_MS = 35_000

/** By the id of the question: null while its answer is under way, or why it failed. */
const unsettled = signal<ReadonlyMap<string, string | null>>(new Map())
/** What is being written as the answer, by the id of the question: its card is gone while another chat is shown. */
const answers = signal<ReadonlyMap<string, string>>(new Map())
/** By the question as it was shown: one that is asked anew has the same id. */
const outcomes = new WeakMap<Question, string>()

export type AnswerState = {
  /** The answer is under way: nothing is to be pressed. */
  isSent: boolean
  /** It needs no answer any more: `words` say why, in place of the buttons. */
  isSettled: boolean
  /** What became of the answer; empty while nothing needs to be said. */
  words: string
}

/** Follows the request that was made for this question, from whichever place. */
export const answerState = (question: Question): AnswerState => {
  const failure = unsettled.value.get(questionId(question))
  const words = outcomes.get(question)
  return {
    isSent: failure === null || words !== undefined,
    isSettled: failure === undefined && words !== undefined,
    words: failure ?? words ?? '',
  }
}

export const writtenAnswer = (question: Question): string =>
  answers.value.get(questionId(question)) ?? ''

export const writeAnswer = (question: Question, text: string): void => {
  const next = new Map(answers.value)
  if (text) next.set(questionId(question), text)
  else next.delete(questionId(question))
  answers.value = next
}

/** `undefined`: settled. */
const note = (question: Question, failure: string | null | undefined): void => {
  const next = new Map(unsettled.value)
  if (failure === undefined) next.delete(questionId(question))
  else next.set(questionId(question), failure)
  unsettled.value = next
}

type Reply = { accepted: boolean; answer: string | null; reason?: Unanswered | undefined }

const send = (
  api: ApiCall,
  question: Question,
  answer: string,
  rule: RuleAnswer | undefined,
): Promise<Reply> => {
  const { session_id } = question
  const options = { signal: AbortSignal.timeout(ANSWER_MS) }
  return question.kind === 'approval'
    ? api(
        'POST /api/approval/respond',
        { session_id, choice: answer, approval_id: question.approval_id, ...rule },
        options,
      )
    : api(
        'POST /api/clarify/respond',
        { session_id, response: answer, clarify_id: question.clarify_id },
        options,
      )
}

const outcomeOf = ({ kind }: Question, { accepted, answer, reason }: Reply): Outcome => {
  // Without an answer what asked is gone: the chat was deleted, or the server has restarted.
  const words = answerWords({
    kind,
    answer: answer ?? '',
    reason: reason ?? (answer === null ? 'withdrawn' : undefined),
  })
  if (accepted) return { kind: 'counted', words }
  const isAnswered = answer !== null && !reason
  return { kind: 'late', words: isAnswered ? t('chat.answered', { answer: words }) : words }
}

const failureOf = (error: unknown): Outcome => ({
  kind: 'failed',
  words: isUnreachable(error) || !(error instanceof Error) ? t('error.server') : error.message,
  error,
})

/** Null when nothing was sent: another press has sent an answer already. Never rejects. */
export const answerQuestion = async (
  api: ApiCall,
  question: Question,
  answer: string,
  rule?: RuleAnswer,
): Promise<Outcome | null> => {
  if (answerState(question).isSent) return null
  note(question, null)
  const outcome = await send(api, question, answer, rule).then(
    reply => outcomeOf(question, reply),
    failureOf,
  )
  if (outcome.kind !== 'failed') outcomes.set(question, outcome.words)
  if (outcome.kind === 'counted') writeAnswer(question, '')
  note(question, outcome.kind === 'failed' ? outcome.words : undefined)
  return outcome
}

/** Also says what became of it where its card is gone by then. */
export const answerWithToast = async (
  { api, toasts }: { api: ApiCall; toasts: Pick<Toasts, 'show' | 'showError'> },
  ...args: [question: Question, answer: string, rule?: RuleAnswer]
): Promise<void> => {
  const outcome = await answerQuestion(api, ...args)
  if (outcome?.kind === 'late') toasts.show(outcome.words)
  if (outcome?.kind === 'failed') toasts.showError(outcome.error)
}
