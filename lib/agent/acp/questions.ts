/** Questions that an agent asks the user, beside permission requests. */
import { z } from 'zod'
import { asObject } from '../../base/json.ts'
import { Refusal } from '../../base/refusal.ts'
import { Unapproved } from '../../base/unapproved.ts'
import type { AgentRequest } from '../types.ts'
import { type CallUpdate, listOf } from './updates.ts'

const Question = z.object({
  question: z.string().trim().min(1),
  options: listOf(
    z.object({ label: z.string().min(1), description: z.string().nullish().catch(null) }),
  ),
  multiSelect: z.boolean().nullish().catch(null),
})
const Questions = listOf(Question)
type Question = z.infer<typeof Question>

/** The questions of a permission request that is one: Qwen Code asks the user this way. Empty for any other request. */
export const questionsIn = ({ _meta, rawInput }: CallUpdate): Question[] =>
  _meta?.qwenInteractionKind === 'user_question' || _meta?.toolName === 'ask_user_question'
    ? Questions.parse(asObject(rawInput).questions)
    : []

const questionText = ({ question, options, multiSelect }: Question): string => {
  const described = options.flatMap(({ label, description }) =>
    description ? [`- ${label}: ${description}`] : [],
  )
  return [
    question,
    ...(described.length > 0 ? ['', ...described] : []),
    ...(multiSelect ? ['', 'Several answers are possible, separated by commas.'] : []),
  ].join('\n')
}

export const canAsk = (tools: AgentRequest['tools']): boolean =>
  tools.some(({ kind }) => kind === 'ask')

/** Throws `Unapproved` where there is no one to ask, or no one answered. */
export const askInstead = async (
  question: string,
  choices: string[],
  { clarify, tools }: AgentRequest,
  callId: string,
): Promise<string> => {
  if (!canAsk(tools)) throw new Unapproved('noOne')
  const answer = await clarify(question, choices, callId)
  if (answer === null) throw new Unapproved('timeout')
  return answer
}

/** The answers by the index of their question, as Qwen Code reads them. Throws `Refusal` when one stays without an answer. */
export const askQuestions = async (
  questions: readonly Question[],
  request: AgentRequest,
  callId: string,
): Promise<Record<string, string>> => {
  const answers: Record<string, string> = {}
  for (const [at, question] of questions.entries()) {
    const labels = question.options.map(({ label }) => label)
    const answer = (await askInstead(questionText(question), labels, request, callId)).trim()
    if (answer === '') throw new Refusal('user', 'The user did not answer.')
    answers[String(at)] = answer
  }
  return answers
}
