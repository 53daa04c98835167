/** How an answered approval or question is named, on the page and in notices. */
import type { ApprovalChoice, Question, Unanswered } from '../../../lib/schema/question.ts'
import { t } from './answer-strings.ts'

const CHOICES: readonly ApprovalChoice[] = ['once', 'session', 'always', 'deny']

export type GivenAnswer = {
  kind: Question['kind']
  answer: string
  reason?: Unanswered | undefined
}

/** `Allowed once`, `No answer in time`, or the words of the person. */
export const answerWords = ({ kind, answer, reason }: GivenAnswer): string => {
  if (reason) return t(`ask.was.${reason}`)
  return kind === 'clarify'
    ? answer
    : t(`ask.was.${CHOICES.find(choice => choice === answer) ?? 'deny'}`)
}
