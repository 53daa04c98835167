/** Parses the query or body with an endpoint's schema; reports the first problem as one sentence. */
import { z } from 'zod'
import { isObjectOrArray } from '../base/json.ts'
import { invalid } from '../errors.ts'

const MAX_NAMES = 200
/** Longer ones would keep the whole query, as parts of its text. */
const MAX_NAME = 12
/** Names of fields, each once: with another copy of its name, V8 sets a property in ten times the time. */
const NAMES = new Map<string, string>()

const nameOf = (text: string): string => {
  const cached = NAMES.get(text)
  if (cached !== undefined) return cached
  // Clients choose them.
  if (NAMES.size < MAX_NAMES && text.length <= MAX_NAME) NAMES.set(text, text)
  return text
}

/** The first value of a key counts, empty values count as absent, and no key can reach a prototype. */
export const parseQuery = (text: string): Record<string, string> => {
  const query: Record<string, string> = Object.create(null)
  const add = (key: string, value: string): void => {
    if (value !== '' && !(key in query)) query[key] = value
  }
  if (text === '') return query
  // `URLSearchParams` takes several times as long, for the sake of escapes that most queries don't have.
  if (/^\?|[%+]/.test(text)) {
    for (const [key, value] of new URLSearchParams(text)) add(key, value)
    return query
  }
  for (const pair of text.split('&')) {
    const at = pair.indexOf('=')
    if (at >= 0) add(nameOf(pair.slice(0, at)), pair.slice(at + 1))
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

/** The message for issues whose schema has none. */
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

/** Required fields that are empty, in the order of the schema. */
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

/** The schema inside `optional`, `default` and similar wrappers. */
const innerSchema = (schema: z.core.$ZodType): z.core.$ZodType | undefined => {
  const { def } = schema._zod as { def: { innerType?: z.core.$ZodType; in?: z.core.$ZodType } }
  return def.innerType ?? def.in
}

/** The schema itself accepts null, so null is passed on. */
const acceptsNull = (schema: z.core.$ZodType): boolean => {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodNull) return true
  if (schema instanceof z.ZodUnion) return schema.options.some(acceptsNull)
  const next = innerSchema(schema)
  return next !== undefined && acceptsNull(next)
}

/**
 * Removes null fields unless their schema accepts null: many clients send null for what they leave out. Unknown fields
 * stay as they are.
 */
const dropNulls = (schema: z.core.$ZodType, value: unknown): unknown => {
  if (!isObjectOrArray(value)) return value
  if (schema instanceof z.ZodArray) {
    const { element } = schema
    return Array.isArray(value) ? value.map(item => dropNulls(element, item)) : value
  }
  if (schema instanceof z.ZodUnion) {
    const fitting = schema.options.find(
      option => option instanceof z.ZodArray === Array.isArray(value) && hasFields(option),
    )
    return fitting ? dropNulls(fitting, value) : value
  }
  if (!(schema instanceof z.ZodObject)) {
    const next = innerSchema(schema)
    return next ? dropNulls(next, value) : value
  }
  if (Array.isArray(value)) return value
  const fields: Record<string, unknown> = Object.create(null)
  for (const [key, item] of Object.entries(value)) {
    const field = Object.hasOwn(schema.shape, key) ? schema.shape[key] : undefined
    if (field === undefined) fields[key] = item
    else if (item !== null || acceptsNull(field)) fields[key] = dropNulls(field, item)
  }
  return fields
}

const hasFields = (schema: z.core.$ZodType): boolean => {
  if (schema instanceof z.ZodObject || schema instanceof z.ZodArray) return true
  const next = innerSchema(schema)
  return next !== undefined && hasFields(next)
}

/** zod's length check also reads `length` of objects, and throws a TypeError when that is not a primitive. */
const safeParse = <S extends z.ZodType>(schema: S, value: unknown) => {
  try {
    return schema.safeParse(value, { error: sentence })
  } catch (error) {
    if (error instanceof TypeError) throw invalid('The input is not valid')
    throw error
  }
}

/** Throws a 400 with one sentence. */
export const parseInput = <S extends z.ZodType>(
  schema: S,
  input: Record<string, unknown>,
): z.output<S> => parseFields(schema, dropNulls(schema, input) as Record<string, unknown>)

/** The same for a query, which has no nulls. */
export const parseFields = <S extends z.ZodType>(
  schema: S,
  value: Record<string, unknown>,
): z.output<S> => {
  const result = safeParse(schema, value)
  if (result.success) return result.data
  const { issues } = result.error
  const missing = missingFields(schema, value, new Set(issues.map(issue => issue.path[0])))
  if (missing.length > 0)
    throw invalid(`Missing required field(s): ${missing.join(', ')}`, { code: 'missing_fields' })
  throw invalid(issues[0]?.message ?? 'The input is not valid')
}
