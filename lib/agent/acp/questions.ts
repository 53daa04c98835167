/** Answers an agent's elicitation form by asking the user about each field. */
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  ElicitationContentValue,
} from '@agentclientprotocol/sdk'
import { z } from 'zod'
import type { AgentRequest } from '../types.ts'

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
  request: Pick<AgentRequest, 'clarify' | 'tools'>,
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
