/** From query or body to what an endpoint takes, or to one sentence that says what is wrong. */
import { z } from 'zod'
import { invalid } from '../errors.ts'

/** First value wins, a blank value equals absent, and no key can reach a prototype. */
export const parseQuery = (text: string): Record<string, string> => {
  const query: Record<string, string> = Object.create(null)
  if (text === '') return query
  for (const [key, value] of new URLSearchParams(text)) {
    if (value !== '' && !(key in query)) query[key] = value
  }
  return query
}

const NOUNS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

const count = (n: unknown, origin: string) =>
  `${n} ${origin === 'array' ? (n === 1 ? 'entry' : 'entries') : n === 1 ? 'character' : 'characters'}`

/** Used only where a schema brings no words of its own. */
const sentence = (issue: z.core.$ZodRawIssue): string => {
  const name = (issue.path ?? []).map(String).join('.').slice(0, 100) || 'The input'
  switch (issue.code) {
    case 'invalid_type':
      return `${name} must be ${NOUNS[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `${name} must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`
    case 'too_big':
      return issue.origin === 'string' || issue.origin === 'array'
        ? `${name} must have at most ${count(issue.maximum, issue.origin)}`
        : `${name} must be at most ${issue.maximum}`
    case 'too_small':
      return issue.origin === 'string' || issue.origin === 'array'
        ? `${name} must have at least ${count(issue.minimum, issue.origin)}`
        : `${name} must be at least ${issue.minimum}`
    default:
      return `${name} is not valid`
  }
}

const isBlank = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0)

/** Fields that were refused, are blank, and may not be; in the order of the schema. */
const missingFields = (
  schema: z.ZodType,
  value: Record<string, unknown>,
  refused: Set<unknown>,
): string[] => {
  if (!(schema instanceof z.ZodObject)) return []
  return Object.keys(schema.shape).filter(
    key =>
      refused.has(key) && isBlank(value[key]) && !schema.shape[key].safeParse(undefined).success,
  )
}

export const parseInput = <S extends z.ZodType>(
  schema: S,
  value: Record<string, unknown>,
): z.output<S> => {
  const result = schema.safeParse(value, { error: sentence })
  if (result.success) return result.data
  const { issues } = result.error
  const missing = missingFields(schema, value, new Set(issues.map(issue => issue.path[0])))
  if (missing.length > 0) throw invalid(`Missing required field(s): ${missing.join(', ')}`)
  throw invalid(issues[0]?.message ?? 'The input is not valid')
}
