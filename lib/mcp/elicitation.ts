/** MCP elicitation: asks the user for each field of a server's form through the question of the running call. */
import { z } from 'zod'

/** Resolves with null when the user does not answer, or `signal` withdrew the question. */
export type AskUser = (
  question: string,
  choices: string[],
  signal?: AbortSignal,
) => Promise<string | null>

type Answer = { action: 'accept'; content: Record<string, unknown> } | { action: 'decline' }

const DECLINED: Answer = { action: 'decline' }
/** Longer forms are declined. */
const MAX_FIELDS = 20
const ANSWERABLE = new Set(['string', 'number', 'integer', 'boolean'])

const Field = z.looseObject({
  type: z.string().catch('string'),
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  enum: z.array(z.string()).optional().catch(undefined),
  oneOf: z
    .array(z.looseObject({ const: z.string(), title: z.string() }))
    .optional()
    .catch(undefined),
})

const Question = z.looseObject({
  mode: z.string().optional(),
  message: z.string().max(4_000),
  requestedSchema: z.looseObject({
    properties: z.record(z.string(), Field).default({}),
    required: z.array(z.string()).catch([]),
  }),
})

const choicesOf = (field: z.output<typeof Field>): string[] =>
  field.enum ??
  field.oneOf?.map(({ title }) => title) ??
  (field.type === 'boolean' ? ['Yes', 'No'] : [])

/** Undefined when the text is no value of the field's type. */
const toValue = (field: z.output<typeof Field>, text: string): unknown => {
  const word = text.trim()
  if (field.type === 'boolean') return /^(?:y|yes|true|1|on)$/i.test(word)
  if (field.type === 'string')
    return field.oneOf?.find(({ title }) => title === text)?.const ?? text
  const number = Number(word)
  const fits = Number.isFinite(number) && (field.type === 'number' || Number.isInteger(number))
  return word !== '' && fits ? number : undefined
}

/** Declines without `askUser`, which belongs to the only running call: with several calls the session is ambiguous. */
export const answerElicitation = async (
  params: unknown,
  askUser: AskUser | undefined,
  canceled: AbortSignal,
): Promise<Answer> => {
  const parsed = Question.safeParse(params)
  if (!parsed.success || !askUser || (parsed.data.mode ?? 'form') !== 'form') return DECLINED
  const { message, requestedSchema } = parsed.data
  const fields = Object.entries(requestedSchema.properties)
  if (fields.length === 0 || fields.length > MAX_FIELDS) return DECLINED
  const content: Record<string, unknown> = {}
  for (const [name, field] of fields) {
    const isNeeded = requestedSchema.required.includes(name)
    if (!ANSWERABLE.has(field.type)) {
      if (isNeeded) return DECLINED
      continue
    }
    const label = [field.title ?? name, field.description].filter(Boolean).join(': ')
    const answer = await askUser(`${message}\n\n${label}`, choicesOf(field), canceled)
    if (answer === null) return DECLINED
    const value = toValue(field, answer)
    if (value !== undefined && answer.trim() !== '') content[name] = value
    else if (isNeeded) return DECLINED
  }
  return { action: 'accept', content }
}
