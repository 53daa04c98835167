/** Answers an agent's elicitation form by asking the user about each field. */
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  ElicitationContentValue,
} from '@agentclientprotocol/sdk'
import { z } from 'zod'
import { asObject } from '../../base/json.ts'
import { Refusal } from '../../base/refusal.ts'
import { Unapproved } from '../../base/unapproved.ts'
import type { AgentRequest } from '../types.ts'
import { type CallUpdate, listOf } from './updates.ts'

const choices = z.object({ const: z.string(), title: z.string() })
const Field = z.object({
  type: z.string(),
  title: z.string().nullish().catch(null),
  description: z.string().nullish().catch(null),
  enum: z.array(z.string()).nullish().catch(null),
  oneOf: z.array(choices).nullish().catch(null),
  items: z
    .object({
      enum: z.array(z.string()).nullish().catch(null),
      anyOf: z.array(choices).nullish().catch(null),
    })
    .nullish()
    .catch(null),
})
type Field = z.infer<typeof Field>

const Form = z.object({
  mode: z.literal('form'),
  message: z.string(),
  requestedSchema: z.object({
    properties: z.record(z.string(), Field).catch({}),
    required: z.array(z.string()).nullish().catch(null),
  }),
})

const MAX_FIELDS = 10

const offered = ({
  type,
  enum: plain,
  oneOf,
  items,
}: Field): { value: string; title: string }[] => {
  if (type === 'boolean')
    return [
      { value: 'true', title: 'Yes' },
      { value: 'false', title: 'No' },
    ]
  const titled = oneOf ?? items?.anyOf
  if (titled) return titled.map(({ const: value, title }) => ({ value, title }))
  return (plain ?? items?.enum ?? []).map(value => ({ value, title: value }))
}

/** Undefined if the answer doesn't fit the field's type. */
const toValue = (field: Field, answer: string): ElicitationContentValue | undefined => {
  const options = offered(field)
  const chosen = options.find(({ title, value }) => title === answer || value === answer)?.value
  switch (field.type) {
    case 'boolean':
      return chosen === undefined ? undefined : chosen === 'true'
    case 'number':
    case 'integer': {
      const number = Number(answer)
      const isRight = field.type === 'number' ? Number.isFinite(number) : Number.isInteger(number)
      return answer.trim() !== '' && isRight ? number : undefined
    }
    case 'array': {
      const words = answer.split(',').map(word => word.trim())
      return words.flatMap(
        word => options.find(({ title, value }) => title === word || value === word)?.value ?? [],
      )
    }
    default:
      return options.length > 0 ? chosen : answer
  }
}

/** Cancels without an answer or an attended session; declines an answer that doesn't fit, so that the agent may ask again. */
export const askForm = async (
  elicitation: CreateElicitationRequest,
  request: AgentRequest,
  callId: string,
): Promise<CreateElicitationResponse> => {
  const form = Form.safeParse(elicitation)
  const canAsk = request.tools.some(({ kind }) => kind === 'ask')
  if (!form.success || !canAsk) return { action: 'cancel' }
  const { message, requestedSchema } = form.data
  const fields = Object.entries(requestedSchema.properties).slice(0, MAX_FIELDS)
  if (fields.length === 0) {
    const answer = await request.clarify(message, ['Yes', 'No'], callId)
    return answer === 'Yes' ? { action: 'accept', content: {} } : { action: 'decline' }
  }
  const content: Record<string, ElicitationContentValue> = {}
  for (const [key, field] of fields) {
    const about = [field.title ?? key, field.description].filter(Boolean).join(': ')
    const question = fields.length > 1 ? `${message} (${about})` : message
    const titles = offered(field).map(({ title }) => title)
    const answer = await request.clarify(question, titles, callId)
    if (answer === null) return { action: 'cancel' }
    const value = answer.trim() === '' ? undefined : toValue(field, answer)
    if (value === undefined) {
      if (requestedSchema.required?.includes(key)) return { action: 'decline' }
      continue
    }
    content[key] = value
  }
  return { action: 'accept', content }
}

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

const textOf = ({ question, options, multiSelect }: Question): string => {
  const described = options.flatMap(({ label, description }) =>
    description ? [`- ${label}: ${description}`] : [],
  )
  return [
    question,
    ...(described.length > 0 ? ['', ...described] : []),
    ...(multiSelect ? ['', 'Several answers are possible, separated by commas.'] : []),
  ].join('\n')
}

/** Throws `Unapproved` where there is no one to ask, or no one answered. */
export const askInstead = async (
  question: string,
  choices: string[],
  { clarify, tools }: AgentRequest,
  callId: string,
): Promise<string> => {
  if (!tools.some(({ kind }) => kind === 'ask')) throw new Unapproved('noOne')
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
    const answer = (await askInstead(textOf(question), labels, request, callId)).trim()
    if (answer === '') throw new Refusal('user', 'The user did not answer.')
    answers[String(at)] = answer
  }
  return answers
}
