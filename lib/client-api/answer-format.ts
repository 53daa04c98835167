/** Structured output: the form that a request asks for, and whether an answer has it. */
import type { AnswerForm, AnswerFormat } from '../agent/answer-form.ts'
import { asObject, isObject } from '../base/json.ts'
import { messageOf } from '../errors.ts'
import { badParameter } from './parse.ts'

/** `param` names the schema in the request. */
export type RequestedFormat = AnswerFormat & { param: string }

const MAX_PROBLEM_CHARS = 1_000

/** `definition` is where the API has name and schema, `within` its path. Null: plain text. */
export const parseFormat = (
  format: unknown,
  param: string,
  definition: unknown = format,
  within = param,
): RequestedFormat | null => {
  if (format === undefined || format === null) return null
  const { type } = asObject(format)
  const { name = 'answer', schema, strict = false } = asObject(definition)
  if (type === 'text') return null
  if (type === 'json_object' && schema === undefined)
    return { name: 'answer', schema: null, strict: false, param }
  if (type !== 'json_schema')
    throw badParameter(
      `${param}.type`,
      type === 'json_object'
        ? 'The type "json_object" has no schema: use "json_schema".'
        : 'The type of a format is "text", "json_object" or "json_schema".',
    )
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name))
    throw badParameter(`${within}.name`, 'A name has letters, digits, _ and -, at most 64.')
  if (!isObject(schema)) throw badParameter(`${within}.schema`, 'A JSON Schema is an object.')
  if (strict !== null && typeof strict !== 'boolean')
    throw badParameter(`${within}.strict`, 'strict is true or false.')
  return { name, schema, strict: strict ?? false, param: `${within}.schema` }
}

export type ReadAnswer = (text: string) => { json: string } | { problem: string }

/** Models add fences and sentences although they are told not to. */
const candidates = (text: string): string[] => {
  const [fenced, ...more] = [...text.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, inside]) => inside)
  const start = text.search(/[[{]/)
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  return [
    text.trim(),
    ...(fenced !== undefined && more.length === 0 ? [fenced.trim()] : []),
    ...(start >= 0 && end > start ? [text.slice(start, end + 1)] : []),
  ]
}

const tryParse = (text: string): { value: unknown } | null => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    // Not this part of the text.
    return null
  }
}

/** Returns what is wrong with a value; null: nothing. Throws for a schema that is none. */
const problemFinder = async ({ schema }: RequestedFormat) => {
  if (schema === null)
    return (value: unknown) => (isObject(value) ? null : 'It is not a JSON object.')
  // Imported on demand: few programs ask for it.
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv')
  // Such a schema would be checked later, and its errors be rejections that nobody handles.
  if (schema.$async !== undefined) throw new Error('$async is not possible.')
  const validate = new AjvJsonSchemaValidator().getValidator(schema)
  return (value: unknown) => {
    const { valid, errorMessage } = validate(value)
    return valid ? null : (errorMessage ?? 'It does not match the schema.')
  }
}

/** Throws a 400 for a schema that is none. */
export const answerReader = async (format: RequestedFormat): Promise<ReadAnswer> => {
  const problemOf = await problemFinder(format).catch((error: unknown) => {
    const reason = messageOf(error).slice(0, MAX_PROBLEM_CHARS)
    throw badParameter(format.param, `This JSON Schema cannot be used: ${reason}`)
  })
  return text => {
    let first: string | null = null
    for (const json of candidates(text)) {
      const candidate = tryParse(json)
      const problem = candidate && problemOf(candidate.value)
      if (candidate && problem === null) return { json }
      first ??= problem
    }
    return { problem: (first ?? 'It is not JSON.').slice(0, MAX_PROBLEM_CHARS) }
  }
}

export const toAnswerForm = (format: RequestedFormat, read: ReadAnswer): AnswerForm => ({
  name: format.name,
  schema: format.schema,
  strict: format.strict,
  problemOf(text) {
    const answer = read(text)
    return 'problem' in answer ? answer.problem : null
  },
})
