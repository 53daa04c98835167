/** The machine-readable part of an error body: the names of the error, and the parameter it objects to. */
import { asArray, asObject, asObjects, isObject, type JsonObject } from '../base/json.ts'

export type ErrorFields = {
  /** Names of the error, the most specific first. */
  codes: string[]
  /** The parameter of the request that was refused. */
  param: string | undefined
}

const MAX_DEPTH = 6
const MAX_CODE_CHARS = 120

/** A name; not a repeated HTTP status. A number beyond those is a code of its own (z.ai, Mistral, MiniMax). */
const toCode = (value: unknown): string[] => {
  if (typeof value !== 'string' && typeof value !== 'number') return []
  const code = String(value).trim()
  // `None` is what Python writes for nothing.
  const isNoName = /^(?:[1-5]\d\d|none|null)$/i.test(code)
  return code === '' || isNoName || code.length > MAX_CODE_CHARS || /\s/.test(code) ? [] : [code]
}

const toParam = (value: unknown): string[] => {
  const param = Array.isArray(value) ? value.map(String).join('.') : value
  return typeof param === 'string' && !/^(?:none|null)?$/i.test(param) && param.length <= 300
    ? [param]
    : []
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // A sentence.
    return null
  }
}

type ErrorNames = { codes: string[]; params: string[] }

/**
 * What is specific comes before what is general: Google's `details`, Azure's `innererror`, the `metadata` of OpenRouter and
 * what it passes on (`raw`), then `code`, Google's `status`, and `type`.
 */
const collect = (value: unknown, names: ErrorNames, depth: number): void => {
  if (depth > MAX_DEPTH) return
  // Ollama and gateways pass an error on as JSON in a string.
  if (typeof value === 'string' && /^\s*[{[]/.test(value)) collect(parse(value), names, depth + 1)
  if (Array.isArray(value)) collect(value[0], names, depth + 1)
  if (!isObject(value)) return
  for (const nested of ['error', 'errors', 'innererror', 'inner_error', 'detail'])
    collect(value[nested], names, depth + 1)
  const metadata = asObject(value.metadata)
  names.codes.push(...toCode(metadata.limit_source), ...toCode(metadata.error_type))
  for (const detail of asObjects(value.details)) {
    names.codes.push(...toCode(detail.reason))
    // Google's quotas: only those per day last.
    for (const { quotaId } of asObjects(detail.violations))
      if (/PerDay/.test(String(quotaId))) names.codes.push('PerDay')
  }
  names.codes.push(...toCode(asObject(value.details).error_code))
  names.codes.push(
    ...['code', 'status', 'type', 'error_type', 'reason', '__type'].flatMap(key =>
      codeAt(value, key),
    ),
  )
  names.params.push(...toParam(value.param), ...locationOf(value))
  collect(metadata.raw, names, depth + 1)
  if (typeof value.message === 'string') collectFromSentence(value.message, names, depth)
}

/** Gateways wrap the error of a provider: `litellm.BadRequestError: AnthropicException - {"error": …}`. */
const collectFromSentence = (sentence: string, names: ErrorNames, depth: number): void => {
  names.codes.push(
    ...[...sentence.matchAll(/\blitellm\.(\w+Error)\b/g)].map(([, name = '']) => name),
  )
  const json = /\{[\s\S]*\}/.exec(sentence)?.[0]
  if (json !== undefined) collect(json, names, depth + 1)
}

/** `type: "error"` and `object: "error"` only say that this is one. Bedrock puts a namespace before its names. */
const codeAt = (value: JsonObject, key: string): string[] =>
  toCode(value[key])
    .map(code => (key === '__type' ? (code.split('#').at(-1) ?? code) : code))
    .filter(code => code !== 'error')

/** Schema validators (FastAPI) say where the value is that they refuse. */
const locationOf = ({ loc, msg }: JsonObject): string[] =>
  typeof msg === 'string' && Array.isArray(loc)
    ? toParam(asArray(loc).filter(part => part !== 'body'))
    : []

/** `body`: the text of an error response, or an error object. */
export const errorFieldsIn = (body: unknown): ErrorFields => {
  const names: ErrorNames = { codes: [], params: [] }
  collect(body, names, 0)
  return { codes: [...new Set(names.codes)], param: names.params[0] }
}
