/** A tool call as models and servers write it, and its arguments as an object. */
import { isObject } from '../base/json.ts'
import { readJson } from './lenient-json.ts'

/** A call as received. `via`: see `ToolCall`. */
export type RawCall = { id: string; name: string; arguments: string; via?: string }

/** `reason`: what cannot be read, and where, for the model. */
export type ReadArguments =
  | { ok: true; args: Record<string, unknown>; isClosed: boolean }
  | { ok: false; reason: string }

/** A code fence, its language, or a tag before the object. */
const FENCE = /^\s*(?:```[\w-]*|json|<[\w:]+>)\s*(?=\{)/
/** Another value behind the object, or another argument: a bracket was closed too early. */
const MORE = /^[\s,;]*[[{]|\{\s*"|^\s*,\s*["'\w]+\s*:/
const NEAR_CHARS = 20
/** Places where the last of several growing texts may begin. */
const MAX_STARTS = 200

/**
 * The arguments as an object. Nothing, `null`, `[]`, and `""` are no arguments. Text after the object is ignored, such as the end of a
 * code fence or `</tool_call>`; a second object, or another argument, is not.
 */
export const readArguments = (text: string): ReadArguments => {
  if (text.trim() === '') return { ok: true, args: {}, isClosed: true }
  const strict = readStrictly(text)
  if (strict) return { ok: true, args: strict, isClosed: true }
  const start = FENCE.exec(text)?.[0].length ?? 0
  const result = readJson(text, start)
  const args = result.ok ? asArguments(result.value) : null
  const rest = result.ok ? text.slice(result.end) : ''
  if (result.ok && args && !MORE.test(rest)) return { ok: true, args, isClosed: result.isClosed }
  const last = lastOfGrowing(text)
  if (last) return { ok: true, args: last, isClosed: true }
  if (!result.ok) return { ok: false, reason: `${result.reason}, ${placeIn(text, result.at)}` }
  if (!args) return { ok: false, reason: 'they must be one JSON object' }
  return {
    ok: false,
    reason: `something else follows the object, ${placeIn(text, result.end)}; give one object in each call`,
  }
}

const placeIn = (text: string, at: number): string => {
  const near = text.slice(Math.max(0, at - NEAR_CHARS), at + NEAR_CHARS)
  return `at character ${at + 1} of ${text.length}, near ${JSON.stringify(near)}`
}

const readStrictly = (text: string): Record<string, unknown> | null => {
  try {
    return asArguments(JSON.parse(text))
  } catch {
    // Not JSON: it is read leniently.
    return null
  }
}

const asArguments = (value: unknown): Record<string, unknown> | null => {
  if (isObject(value)) return value
  if (value === null || value === '') return {}
  if (Array.isArray(value)) {
    const [only, ...more] = value
    return value.length === 0 ? {} : isObject(only) && more.length === 0 ? only : null
  }
  // Some models encode the object twice.
  if (typeof value !== 'string' || !value.trim().startsWith('{')) return null
  const inner = readArguments(value)
  return inner.ok ? inner.args : null
}

/** Some servers send everything so far with each piece: `{"pa{"path":"a{"path":"a"}`, or the same object again. */
const lastOfGrowing = (text: string): Record<string, unknown> | null => {
  let at = text.lastIndexOf('{')
  for (let tries = 0; at > 0 && tries < MAX_STARTS; tries++) {
    const last = readStrictly(text.slice(at))
    if (last && growsTo(text.slice(0, at), text.slice(at))) return last
    at = text.lastIndexOf('{', at - 1)
  }
  return null
}

const CLOSERS = /["}\]\s]*/y

/** Each part of `before` is how `last` begins, perhaps with brackets that close it. */
const growsTo = (before: string, last: string): boolean => {
  let at = 0
  while (at < before.length) {
    let same = 0
    while (same < last.length && before[at + same] === last[same]) same++
    if (same === 0) return false
    CLOSERS.lastIndex = at + same
    at += same + (CLOSERS.exec(before)?.[0].length ?? 0)
  }
  return true
}

/** The arguments as an object; null when the text cannot be read as one. */
export const parseArguments = (text: string): Record<string, unknown> | null => {
  const result = readArguments(text)
  return result.ok ? result.args : null
}

/** Nothing is missing at its end, which a length limit may have cut. */
export const isWhole = (text: string): boolean => {
  const result = readArguments(text)
  return result.ok && result.isClosed
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
