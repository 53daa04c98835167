/** The tools as a provider receives them: JSON Schema without what tells a model nothing. The same bytes for the same tool. */
import { z } from 'zod'
import { asObject, isObject } from '../base/json.ts'
import { soundSchema } from './sound-schema.ts'
import type { Tool } from './types.ts'

export type ToolDescription = { name: string; description: string; parameters: unknown }

/** Keywords about the schema itself, not about valid arguments. */
const ANNOTATIONS = new Set(['$schema', '$id', '$comment', '$anchor', 'title'])
/** Keywords whose values are schemas by name; a property may be called `title`. */
const MAPS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const NESTED = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
])

/** A default that a model assumes anyway. */
const isEmpty = (value: unknown): boolean =>
  value === false ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const isNoise = (keyword: string, value: unknown, schema: Record<string, unknown>): boolean => {
  switch (keyword) {
    case 'default':
      return isEmpty(value)
    // Without declared properties it says that any are allowed; Gemini writes an empty object otherwise.
    case 'additionalProperties':
      return (
        value === false || ((value === true || isEmpty(value)) && !isEmpty(schema.properties ?? {}))
      )
    case 'minLength':
      return value === 1
    // The bounds of integers in JavaScript.
    case 'minimum':
      return value === Number.MIN_SAFE_INTEGER
    case 'maximum':
      return value === Number.MAX_SAFE_INTEGER
    case 'required':
      return isEmpty(value)
    default:
      return ANNOTATIONS.has(keyword)
  }
}

const mapValues = (value: unknown, change: (inner: unknown, key: string) => unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, change(inner, key)]))
    : value

/** `anyOf: [X, null]` as X: an optional property may be left out instead. */
const withoutNull = (schema: unknown): unknown => {
  const { anyOf, ...rest } = asObject(schema)
  if (!Array.isArray(anyOf)) return schema
  const [only, ...more] = anyOf.filter(option => asObject(option).type !== 'null')
  return isObject(only) && more.length === 0 ? withoutNull({ ...only, ...rest }) : schema
}

const compact = (schema: unknown): unknown => {
  if (!isObject(schema)) return schema
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const entries = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (isNoise(keyword, value, schema)) return []
    if (keyword === 'properties')
      return [
        [
          keyword,
          mapValues(value, (inner, name) =>
            compact(required.has(name) ? inner : withoutNull(inner)),
          ),
        ],
      ]
    if (MAPS.has(keyword)) return [[keyword, mapValues(value, compact)]]
    if (LISTS.has(keyword) && Array.isArray(value)) return [[keyword, value.map(compact)]]
    return [[keyword, NESTED.has(keyword) ? compact(value) : value]]
  })
  return Object.fromEntries(entries)
}

/** Tools are immutable, and a schema is converted for each model call. */
const described = new WeakMap<Tool, ToolDescription>()

export const describeTool = (tool: Tool): ToolDescription => {
  const memo = described.get(tool)
  if (memo) return memo
  const { name, summary, input } = tool
  const { parameters } = tool
  const schema = parameters ? soundSchema(parameters) : z.toJSONSchema(input, { io: 'input' })
  const description = { name, description: summary, parameters: compact(schema) }
  described.set(tool, description)
  return description
}

/** Those that the model gets; deferred ones it has to find. */
export const describeTools = (tools: readonly Tool[]): ToolDescription[] =>
  tools.filter(({ deferred }) => !deferred).map(describeTool)
