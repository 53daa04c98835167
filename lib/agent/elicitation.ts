/** Forms of MCP servers and external agents (elicitation): each field is a question to the user. */
import { z } from 'zod'

/** Longer forms are declined. */
const MAX_FIELDS = 20

const maybe = <T extends z.ZodType>(type: T) => type.nullish().catch(null)
const Titled = maybe(z.array(z.object({ const: z.string(), title: z.string() })))
const Names = maybe(z.array(z.string()))
const Field = z.object({
  type: z.string().catch('string'),
  title: maybe(z.string()),
  description: maybe(z.string()),
  enum: Names,
  oneOf: Titled,
  items: maybe(z.object({ enum: Names, anyOf: Titled })),
})
type Field = z.infer<typeof Field>

const Form = z.object({
  mode: z.literal('form').default('form'),
  message: z.string().max(4_000),
  requestedSchema: z.object({
    properties: z.record(z.string(), Field).default({}),
    required: z.array(z.string()).nullish().catch(null),
  }),
})

type Value = string | number | boolean | string[]
type FormAnswer =
  | { action: 'accept'; content: Record<string, Value> }
  | { action: 'decline' }
  | { action: 'cancel' }

const YES_NO = [
  { value: 'true', title: 'Yes' },
  { value: 'false', title: 'No' },
]

const offered = ({ type, enum: plain, oneOf, items }: Field) => {
  if (type === 'boolean') return YES_NO
  const titled = oneOf ?? items?.anyOf
  if (titled) return titled.map(({ const: value, title }) => ({ value, title }))
  return (plain ?? items?.enum ?? []).map(value => ({ value, title: value }))
}

/** Undefined if the answer doesn't fit the field's type. */
const toValue = (field: Field, answer: string): Value | undefined => {
  const options = offered(field)
  const text = answer.trim()
  const chosenBy = (word: string) =>
    options.find(({ title, value }) => title === word || value === word)?.value
  switch (field.type) {
    case 'boolean':
      return chosenBy(text) === undefined ? undefined : chosenBy(text) === 'true'
    case 'number':
    case 'integer': {
      const isRight = field.type === 'number' ? Number.isFinite : Number.isInteger
      return text !== '' && isRight(Number(text)) ? Number(text) : undefined
    }
    case 'array':
      return text.split(',').flatMap(word => chosenBy(word.trim()) ?? [])
    default:
      return options.length > 0 ? chosenBy(answer) : answer
  }
}

/**
 * `ask`: resolves with null when the user does not answer; null where there is nobody to ask. Declines an answer that doesn't
 * fit, so that the other side may ask again.
 */
export const answerForm = async (
  params: unknown,
  ask: ((question: string, choices: string[]) => Promise<string | null>) | null,
): Promise<FormAnswer> => {
  const form = Form.safeParse(params)
  if (!form.success || !ask) return { action: 'cancel' }
  const { message, requestedSchema } = form.data
  const fields = Object.entries(requestedSchema.properties)
  if (fields.length > MAX_FIELDS) return { action: 'decline' }
  if (fields.length === 0) {
    const titles = YES_NO.map(({ title }) => title)
    const isAccepted = (await ask(message, titles)) === titles[0]
    return isAccepted ? { action: 'accept', content: {} } : { action: 'decline' }
  }
  const content: Record<string, Value> = {}
  for (const [key, field] of fields) {
    const about = [field.title ?? key, field.description].filter(Boolean).join(': ')
    const titles = offered(field).map(({ title }) => title)
    const answer = await ask(`${message}\n\n${about}`, titles)
    if (answer === null) return { action: 'cancel' }
    const value = answer.trim() === '' ? undefined : toValue(field, answer)
    if (value !== undefined) content[key] = value
    else if (requestedSchema.required?.includes(key)) return { action: 'decline' }
  }
  return { action: 'accept', content }
}
