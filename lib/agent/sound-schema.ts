/**
 * Repairs a JSON Schema of a stranger, so that no provider rejects a request for it. Strict ones want one type for each value, `items`
 * of every array, and an object without alternatives or references at the root. What a schema allows becomes wider at most.
 */
import { asArray, asObject, asStrings, isObject, type JsonObject } from '../base/json.ts'

/** Schemas of references that are written out; beyond, only their type is kept. */
const MAX_WRITTEN_OUT = 500
/** No provider takes more levels; further down, only the type is kept, too. */
const MAX_DEPTH = 50

const TYPES = new Map(
  Object.entries({
    string: 'string',
    str: 'string',
    text: 'string',
    number: 'number',
    float: 'number',
    double: 'number',
    integer: 'integer',
    int: 'integer',
    boolean: 'boolean',
    bool: 'boolean',
    array: 'array',
    list: 'array',
    object: 'object',
    dict: 'object',
    null: 'null',
  }),
)

/** At the root, these describe which arguments go together; the tool checks that itself. */
const ROOT_ONLY = ['anyOf', 'oneOf', 'allOf', 'enum', 'const', 'not', 'if', 'then', 'else', 'items']

export const soundSchema = (source: unknown): JsonObject => {
  const root = asObject(source)
  const write = writerOf(root)
  const whole = withAlternatives(write(root, []))
  for (const keyword of ROOT_ONLY) delete whole[keyword]
  const { type: _type, ...rest } = whole
  const sound = 'type' in whole ? whole : { type: 'object', ...rest }
  return withRequired({ ...sound, type: 'object', properties: asObject(whole.properties) })
}

/** Copies a schema: repaired, with references written out. `open` are the references that lead to it. */
const writerOf = (root: JsonObject) => {
  let expansions = 0
  let depth = 0

  const write = (source: unknown, open: readonly string[]): JsonObject => {
    if (typeof source === 'string') return withType({ type: source })
    if (!isObject(source)) return {}
    if (depth >= MAX_DEPTH) return typeOnly(source)
    depth++
    const schema = writeObject(source, open)
    depth--
    return schema
  }

  const writeObject = (source: JsonObject, open: readonly string[]): JsonObject => {
    const { $ref, $defs: _defs, definitions: _definitions, ...own } = source
    if (typeof $ref !== 'string') return repaired(own, open)
    const target = targetOf(root, $ref)
    const isEnough = open.includes($ref) || ++expansions > MAX_WRITTEN_OUT
    // A recursion ends after one round.
    const inner = isEnough ? typeOnly(target) : write(target, [...open, $ref])
    return { ...inner, ...repaired(own, open, true) }
  }

  const repaired = (own: JsonObject, open: readonly string[], isBeside = false): JsonObject => {
    const schema: JsonObject = {}
    for (const [keyword, value] of Object.entries(own))
      if (keyword === 'properties' || keyword === 'patternProperties') {
        if (isObject(value))
          schema[keyword] = Object.fromEntries(
            Object.entries(value).map(([name, each]) => [name, write(each, open)]),
          )
      } else if (keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'allOf') {
        const options = asArray(value).map(each => write(each, open))
        if (options.length > 0) schema[keyword] = options
      } else if (keyword === 'items' || keyword === 'prefixItems') {
        if (Array.isArray(value)) schema.items = { anyOf: value.map(each => write(each, open)) }
        else if (isObject(value) || typeof value === 'string') schema.items = write(value, open)
      } else if (keyword === 'additionalProperties')
        schema[keyword] = typeof value === 'boolean' ? value : write(value, open)
      else if (isSound(keyword, value)) schema[keyword] = value
    const merged = withAll(schema)
    collectRequired(merged, own)
    return isBeside ? merged : withType(merged)
  }

  return write
}

const targetOf = (root: JsonObject, ref: string): unknown => {
  if (!ref.startsWith('#')) return undefined
  return ref
    .slice(1)
    .split('/')
    .slice(1)
    .map(step => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, step) => asObject(value)[step], root)
}

const decoded = (step: string): string => {
  try {
    return decodeURIComponent(step)
  } catch {
    // A percent sign that encodes nothing.
    return step
  }
}

const typeOnly = (target: unknown): JsonObject => {
  const { type, description } = asObject(target)
  const one = typeof type === 'string' ? TYPES.get(type.toLowerCase()) : undefined
  return withType({ type: one ?? 'object', ...(description !== undefined && { description }) })
}

/** Whether a keyword has a value that it may have. */
const isSound = (keyword: string, value: unknown): boolean => {
  if (keyword === 'enum') return Array.isArray(value) && value.some(each => each !== null)
  if (keyword === 'required') return Array.isArray(value)
  // The form of an older draft.
  if (keyword === 'exclusiveMinimum' || keyword === 'exclusiveMaximum')
    return typeof value === 'number'
  return !['id', '$id', '$schema', '$anchor', 'optional'].includes(keyword)
}

/** `required: true` inside a property, as in an older draft. */
const collectRequired = (schema: JsonObject, own: JsonObject): void => {
  const marked = Object.entries(asObject(own.properties)).flatMap(([name, property]) =>
    asObject(property).required === true ? [name] : [],
  )
  if (marked.length > 0) schema.required = [...asStrings(schema.required), ...marked]
}

/** The parts of `allOf` as one. */
const withAll = ({ allOf, ...schema }: JsonObject): JsonObject => {
  if (allOf === undefined) return schema
  const parts = asArray(allOf).map(asObject)
  const properties = Object.assign(
    {},
    ...[...parts.toReversed(), schema].map(part => asObject(part.properties)),
  )
  const required = [schema, ...parts].flatMap(part => asStrings(part.required))
  return {
    ...Object.assign({}, ...parts.toReversed(), schema),
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

/** One known type, and what belongs to it. */
const withType = (schema: JsonObject): JsonObject => {
  const { type, ...rest } = schema
  const names = (Array.isArray(type) ? type : [type]).flatMap(each =>
    typeof each === 'string' ? (TYPES.get(each.toLowerCase()) ?? []) : [],
  )
  const types = [...new Set(names.filter(name => name !== 'null' || names.length === 1))]
  const [only = guessed(rest), ...more] = types
  if (more.length > 0)
    return withoutOwn({ ...rest, anyOf: rest.anyOf ?? rest.oneOf ?? optionsFor(types, rest) })
  if (only === undefined) return rest
  // In its place: what was sound stays the same in every byte.
  const typed = type === undefined ? { type: only, ...rest } : { ...schema, type: only }
  if (only === 'array') return { ...typed, items: itemsOf(rest) }
  if (only !== 'object' || rest.additionalProperties !== undefined) return withRequired(typed)
  return withRequired({ ...typed, properties: asObject(rest.properties) })
}

/** Gemini rejects items without a type. */
const itemsOf = ({ items }: JsonObject): unknown =>
  isObject(items) && Object.keys(items).length > 0 ? items : { ...asObject(items), type: 'string' }

const optionsFor = (types: readonly string[], schema: JsonObject): JsonObject[] =>
  types.map(type => {
    const { items, properties, required } = schema
    if (type === 'array') return withType({ type, items })
    if (type !== 'object') return { type }
    return withType({
      type,
      ...(properties !== undefined && { properties, required: asStrings(required) }),
    })
  })

const withoutOwn = ({
  items: _items,
  properties: _properties,
  required: _required,
  oneOf: _oneOf,
  ...schema
}: JsonObject): JsonObject => schema

const guessed = (schema: JsonObject): string | undefined => {
  if (schema.anyOf !== undefined || schema.oneOf !== undefined) return undefined
  if (schema.properties !== undefined) return 'object'
  if (schema.items !== undefined) return 'array'
  const kinds = new Set(asArray(schema.enum).map(each => typeof each))
  const [kind] = kinds
  return kinds.size === 1 && kind !== 'object' ? kind : undefined
}

/** Names only what there is, once. */
const withRequired = (schema: JsonObject): JsonObject => {
  const { required, ...rest } = schema
  const properties = asObject(schema.properties)
  const names = [...new Set(asStrings(required))].filter(name => Object.hasOwn(properties, name))
  return names.length > 0 ? { ...schema, required: names } : rest
}

/** The arguments of all alternatives; required is what each of them requires. */
const withAlternatives = (root: JsonObject): JsonObject => {
  const options = [...asArray(root.anyOf), ...asArray(root.oneOf)]
    .map(asObject)
    .filter(({ type }) => type !== 'null')
  const required = options
    .map(option => asStrings(option.required))
    .reduce<string[] | null>(
      (common, names) => common?.filter(name => names.includes(name)) ?? names,
      null,
    )
  return {
    ...root,
    properties: Object.assign(
      {},
      ...options.toReversed().map(({ properties }) => asObject(properties)),
      asObject(root.properties),
    ),
    required: [...asStrings(root.required), ...(required ?? [])],
  }
}
