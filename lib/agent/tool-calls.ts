/** Normalizes tool calls of a model: repairs names, ids and arguments. */
import type { z } from 'zod'
import { isObject, isObjectOrArray } from '../base/json.ts'
import type { ToolCall } from '../schema/message.ts'
import { repairJson } from './repair-json.ts'

/** A call as received. `via`: see `ToolCall`. */
export type RawCall = { id: string; name: string; arguments: string; via?: string }

const simplified = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Maps a misspelled name to a known tool: other case, other separators, a prefix such as `functions.`. */
export const repairName = (name: string, known: readonly string[]): string => {
  if (known.includes(name)) return name
  const wanted = simplified(name.replace(/^.*[.:/]/, ''))
  return known.find(candidate => simplified(candidate) === wanted) ?? name
}

/** `sources`: indexes of the call in the response, several when the model repeated it. */
export type NormalizedCall = { call: ToolCall; sources: number[] }

/**
 * Repairs names, makes ids unique in the conversation (small servers restart at `call_0` in every response), and drops
 * exact duplicates, which some models repeat. Adds the ids to `taken`.
 */
export const normalizeCalls = (
  raw: readonly RawCall[],
  known: readonly string[],
  taken: Set<string>,
  messageId: string,
): NormalizedCall[] => {
  const seen = new Map<string, NormalizedCall>()
  for (const [at, { id, name, arguments: text, via }] of raw.entries()) {
    const tool = repairName(name.trim(), known)
    const written = text.trim() === '' ? '{}' : text
    const same = `${tool}\n${written}`
    const first = seen.get(same)
    if (first) {
      first.sources.push(at)
      continue
    }
    const unique = id !== '' && !taken.has(id) ? id : `call_${messageId}_${seen.size + 1}`
    taken.add(unique)
    const call: ToolCall = {
      id: unique,
      type: 'function',
      function: { name: tool, arguments: written },
      ...(via !== undefined && { via }),
    }
    seen.set(same, { call, sources: [at] })
  }
  return [...seen.values()]
}

/** The arguments as an object; null when the text is not a JSON object, even after repair. */
export const parseArguments = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(text)
    // Some models encode the object twice.
    if (typeof value === 'string' && value.trim().startsWith('{')) return parseArguments(value)
    return isObject(value) ? value : null
  } catch {
    return repairedArguments(text)
  }
}

/** Repairs what small models get wrong: raw line breaks in strings, trailing commas, Python literals. Null when that does not help. */
const repairedArguments = (text: string): Record<string, unknown> | null => {
  const strict = repairJson(text)
  if (strict === null || strict === text) return null
  try {
    const value: unknown = JSON.parse(strict)
    return isObject(value) ? value : null
  } catch {
    // Not repairable: the caller reports it to the model.
    return null
  }
}

/** Nothing is missing, and nothing has to be put right: the text itself is an object. */
export const isJsonObject = (text: string): boolean => {
  try {
    return isObject(JSON.parse(text))
  } catch {
    // Not yet, or not at all.
    return false
  }
}

export type CoercedArguments = { ok: true; input: unknown } | { ok: false; error: string }

/** Validates arguments against the tool's schema, converting values of the wrong type when the meaning is unambiguous. */
export const coerceArguments = (
  schema: z.ZodType,
  args: Record<string, unknown>,
): CoercedArguments => {
  const value: Record<string, unknown> = structuredClone(args)
  // A conversion can reveal nested errors, hence several rounds.
  for (let round = 0; round < 4; round++) {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { ok: true, input: parsed.data }
    const changed = parsed.error.issues.filter(issue => convert(value, issue)).length
    if (changed === 0) return { ok: false, error: formatIssues(parsed.error.issues) }
  }
  const last = schema.safeParse(value)
  return last.success
    ? { ok: true, input: last.data }
    : { ok: false, error: formatIssues(last.error.issues) }
}

const formatIssues = (issues: readonly z.core.$ZodIssue[]) =>
  issues
    .slice(0, 5)
    .map(issue => `${issue.path.join('.') || 'arguments'}: ${issue.message}`)
    .join('; ')

const convert = (root: Record<string, unknown>, issue: z.core.$ZodIssue): boolean => {
  if (issue.code !== 'invalid_type' || issue.path.length === 0) return false
  const key = issue.path.at(-1)
  let parent: unknown = root
  for (const step of issue.path.slice(0, -1))
    parent = (parent as Record<PropertyKey, unknown> | undefined)?.[step]
  if (!isObjectOrArray(parent) || key === undefined) return false
  const holder = parent as Record<PropertyKey, unknown>
  const old = holder[key]
  if (old === null) return delete holder[key]
  const converted = toType(issue.expected, old)
  if (converted === undefined) return false
  holder[key] = converted
  return true
}

/** Undefined when the meaning is ambiguous. */
const toType = (expected: string, value: unknown): unknown => {
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return String(value)
  if (expected === 'array' && isObject(value)) return [value]
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (expected === 'number' || expected === 'int')
    return text !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined
  if (expected === 'boolean')
    return { true: true, yes: true, '1': true, false: false, no: false, '0': false }[
      text.toLowerCase()
    ]
  if (expected === 'object' || expected === 'record') return parseArguments(text) ?? undefined
  if (expected === 'array') return readArray(text) ?? [value]
  return undefined
}

const readArray = (text: string): unknown[] | null => {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : null
  } catch {
    // A bare word: the caller wraps it in an array.
    return null
  }
}

/** Removes tool call markup that some models write into their text. */
export const stripCallMarkup = (text: string): string =>
  text.includes('<function_calls>')
    ? text.replace(/<function_calls>[\s\S]*?(?:<\/function_calls>|$)/g, '').trimEnd()
    : text
