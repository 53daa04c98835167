/** Turns what a model wrote as tool calls into calls that can be run: names, ids and arguments put right. */
import { z } from 'zod'
import { isObject, isObjectOrArray } from '../base/json.ts'
import type { ToolCall } from '../schema/message.ts'
import { repairJson } from './repair-json.ts'
import type { Tool } from './types.ts'

/** One call as its deltas built it. */
export type RawCall = { id: string; name: string; arguments: string }

const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** The tool a misspelled name most likely means: other case, other separators, a `functions.` in front. */
export const repairName = (name: string, known: readonly string[]): string => {
  if (known.includes(name)) return name
  const wanted = plain(name.replace(/^.*[.:/]/, ''))
  return known.find(candidate => plain(candidate) === wanted) ?? name
}

/** `sources`: indexes of the call in the response, several when the model repeated it. */
export type NormalizedCall = { call: ToolCall; sources: number[] }

/**
 * Gives each call a name on offer where one is meant, and an id that stands nowhere else in the
 * conversation (small servers count from `call_0` in every answer); drops the exact doubles some models stutter.
 */
export const normalizeCalls = (
  raw: readonly RawCall[],
  known: readonly string[],
  taken: Set<string>,
  messageId: string,
): NormalizedCall[] => {
  const seen = new Map<string, NormalizedCall>()
  for (const [at, { id, name, arguments: text }] of raw.entries()) {
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
    }
    seen.set(same, { call, sources: [at] })
  }
  return [...seen.values()]
}

/** The arguments as an object, or null when the text is not one. */
export const parseArguments = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(text)
    // Some models quote the whole object once more.
    if (typeof value === 'string' && value.trim().startsWith('{')) return parseArguments(value)
    return isObject(value) ? value : null
  } catch {
    return mendedArguments(text)
  }
}

/** Small models write line breaks into strings, leave a comma at the end, or quote like Python. Null where it is nothing of that kind. */
const mendedArguments = (text: string): Record<string, unknown> | null => {
  const strict = repairJson(text)
  if (strict === null || strict === text) return null
  try {
    const value: unknown = JSON.parse(strict)
    return isObject(value) ? value : null
  } catch {
    // Not JSON in any way we know: the caller tells the model so.
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

/** Checks arguments against the tool's schema; values of the wrong type are converted when their meaning is plain. */
export const coerceArguments = (
  schema: z.ZodType,
  args: Record<string, unknown>,
): CoercedArguments => {
  const value: Record<string, unknown> = structuredClone(args)
  // A conversion can bring nested mistakes to light, so a few rounds.
  for (let round = 0; round < 4; round++) {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { ok: true, input: parsed.data }
    const changed = parsed.error.issues.filter(issue => convert(value, issue)).length
    if (changed === 0) return { ok: false, error: sayIssues(parsed.error.issues) }
  }
  const last = schema.safeParse(value)
  return last.success
    ? { ok: true, input: last.data }
    : { ok: false, error: sayIssues(last.error.issues) }
}

const sayIssues = (issues: readonly z.core.$ZodIssue[]) =>
  issues
    .slice(0, 5)
    .map(issue => `${issue.path.join('.') || 'arguments'}: ${issue.message}`)
    .join('; ')

const convert = (root: Record<string, unknown>, issue: z.core.$ZodIssue): boolean => {
  if (issue.code !== 'invalid_type' || issue.path.length === 0) return false
  const key = issue.path.at(-1)
  let place: unknown = root
  for (const step of issue.path.slice(0, -1))
    place = (place as Record<PropertyKey, unknown> | undefined)?.[step]
  if (!isObjectOrArray(place) || key === undefined) return false
  const holder = place as Record<PropertyKey, unknown>
  const old = holder[key]
  if (old === null) return delete holder[key]
  const fresh = toType(issue.expected, old)
  if (fresh === undefined) return false
  holder[key] = fresh
  return true
}

/** `undefined` when there is no plain reading. */
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
    // A bare word: the caller makes it a list of one.
    return null
  }
}

/** An answer without the calls some models write into it as text. */
export const stripCallMarkup = (text: string): string =>
  text.includes('<function_calls>')
    ? text.replace(/<function_calls>[\s\S]*?(?:<\/function_calls>|$)/g, '').trimEnd()
    : text

/** The tools as a provider receives them. */
export const describeTools = (tools: readonly Tool[]) =>
  tools.map(tool => ({
    name: tool.name,
    description: tool.summary,
    parameters: tool.parameters ?? toJsonSchema(tool.input),
  }))

/** OpenAI-style parameters have no `$schema`. */
const toJsonSchema = (schema: z.ZodType): unknown => {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' })
  return parameters
}
