/** Converts tool arguments to the types of the tool's JSON Schema: models often send numbers and lists as strings. */
import { isObject } from '../base/json.ts'

const typesOf = (schema: unknown): string[] => {
  if (!isObject(schema)) return []
  const { type } = schema
  return Array.isArray(type) ? type.map(String) : typeof type === 'string' ? [type] : []
}

const parsed = (text: string, fits: (value: unknown) => boolean): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return fits(value) ? value : undefined
  } catch {
    // Not JSON: the string is kept.
    return undefined
  }
}

const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  number: value => typeof value === 'number',
  integer: Number.isInteger,
  boolean: value => typeof value === 'boolean',
  array: Array.isArray,
  object: isObject,
}

const coerceValue = (value: unknown, schema: unknown): unknown => {
  const types = typesOf(schema)
  if (typeof value !== 'string') {
    const isPlain = typeof value === 'number' || typeof value === 'boolean'
    return isPlain && types.length === 1 && types[0] === 'string' ? String(value) : value
  }
  if (types.length === 0 || types.includes('string')) return value
  for (const type of types) {
    const fits = KINDS[type]
    const parsedValue = fits && parsed(value.trim(), fits)
    if (parsedValue !== undefined) return parsedValue
  }
  return value
}

/** Drops a null of an optional field: models send it for "not given". */
export const coerceArguments = (
  args: Readonly<Record<string, unknown>>,
  schema: Readonly<Record<string, unknown>>,
): Record<string, unknown> => {
  const { properties, required } = schema
  const propertySchemas = isObject(properties) ? properties : {}
  const needed = Array.isArray(required) ? required : []
  return Object.fromEntries(
    Object.entries(args)
      .filter(
        ([key, value]) =>
          value !== null ||
          needed.includes(key) ||
          !(key in propertySchemas) ||
          typesOf(propertySchemas[key]).length !== 1,
      )
      .map(([key, value]) => [key, coerceValue(value, propertySchemas[key])]),
  )
}
