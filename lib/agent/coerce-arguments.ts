/** Arguments of a tool call as its schema wants them. */
import type { z } from 'zod'
import { isObject, isObjectOrArray, type JsonObject } from '../base/json.ts'
import { renameArguments, simplified } from './argument-names.ts'
import { readJson } from './lenient-json.ts'
import { parseArguments } from './tool-calls.ts'

/** `args`: under the names of the schema; `input`: with its types and defaults. */
export type CoercedArguments =
  | { ok: true; args: JsonObject; input: unknown }
  | { ok: false; error: string }

/**
 * Validates arguments against the tool's schema. Names of other agents and values of the wrong type are converted when
 * the meaning is unambiguous; what the schema does not know is an error.
 */
export const coerceArguments = (schema: z.ZodType, input: JsonObject): CoercedArguments => {
  const renaming = renameArguments(schema, structuredClone(input))
  if (!renaming.ok) return renaming
  const { args } = renaming
  const value = structuredClone(args)
  // A conversion can reveal nested errors, hence several rounds.
  for (let round = 0; round < 4; round++) {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { ok: true, args, input: parsed.data }
    const count = parsed.error.issues.filter(issue => convert(value, issue)).length
    if (count === 0) return { ok: false, error: formatIssues(parsed.error.issues) }
  }
  const last = schema.safeParse(value)
  return last.success
    ? { ok: true, args, input: last.data }
    : { ok: false, error: formatIssues(last.error.issues) }
}

const formatIssues = (issues: readonly z.core.$ZodIssue[]) =>
  issues
    .slice(0, 5)
    .map(issue => `${issue.path.join('.') || 'arguments'}: ${issue.message}`)
    .join('; ')

const convert = (root: JsonObject, issue: z.core.$ZodIssue): boolean => {
  if (issue.path.length === 0) return false
  const key = issue.path.at(-1)
  let parent: unknown = root
  for (const step of issue.path.slice(0, -1))
    parent = (parent as Record<PropertyKey, unknown> | undefined)?.[step]
  if (!isObjectOrArray(parent) || key === undefined) return false
  const holder = parent as Record<PropertyKey, unknown>
  const old = holder[key]
  if (old === null && issue.code === 'invalid_type') return delete holder[key]
  // Below the smallest value, 0 says "not given".
  if (old === 0 && issue.code === 'too_small') return delete holder[key]
  const converted = fitting(issue, old)
  if (converted === undefined) return false
  holder[key] = converted
  return true
}

/** Undefined when the meaning is ambiguous. */
const fitting = (issue: z.core.$ZodIssue, value: unknown): unknown => {
  if (issue.code === 'invalid_type') return toType(issue.expected, value)
  // More than there can be: as much as there can be. The result says that more follows.
  if (issue.code === 'too_big' && typeof value === 'number' && Number.isFinite(value))
    return Number(issue.maximum)
  if (issue.code === 'invalid_value' && typeof value === 'string')
    return issue.values.find(
      each => simplified(String(each)) === (VALUES[simplified(value)] ?? simplified(value)),
    )
  return undefined
}

/** Values that other agents have, simplified. */
const VALUES: Readonly<Record<string, string>> = {
  fileswithmatches: 'filesonly',
  done: 'completed',
  complete: 'completed',
  finished: 'completed',
  canceled: 'cancelled',
  todo: 'pending',
  notstarted: 'pending',
  open: 'pending',
  doing: 'inprogress',
  file: 'files',
  filename: 'files',
  v4a: 'patch',
  diff: 'patch',
  update: 'replace',
  edit: 'replace',
  read: 'poll',
  status: 'poll',
  stop: 'kill',
  terminate: 'kill',
  send: 'write',
  active: 'inprogress',
}

/** Undefined when the meaning is ambiguous. */
const toType = (expected: string, value: unknown): unknown => {
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return String(value)
  if (expected === 'array' && isObject(value)) return [value]
  if (expected === 'string' && Array.isArray(value))
    return value.length === 1 && typeof value[0] === 'string' ? value[0] : undefined
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

/** Null for a bare word, which the caller wraps in an array. */
const readArray = (text: string): unknown[] | null => {
  const json = readJson(text)
  return json.ok && json.end === text.length && Array.isArray(json.value) ? json.value : null
}
