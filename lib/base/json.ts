/** Narrows values of unknown shape: parsed JSON and YAML, answers of programs and servers. Runs on the server and in the page. */

/** An object whose fields have not been checked. */
export type JsonObject = Record<string, unknown>

/** True for objects, false for null and for arrays. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** True for objects and for arrays: everything that has entries. */
export const isObjectOrArray = (value: unknown): value is object =>
  typeof value === 'object' && value !== null

/** Whether both are the same JSON with the same order of keys. What is the same object counts as unchanged. */
export const isSameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (!isObjectOrArray(a) || !isObjectOrArray(b) || Array.isArray(a) !== Array.isArray(b))
    return false
  const [entries, others] = [a as JsonObject, b as JsonObject]
  const [keys, otherKeys] = [Object.keys(a), Object.keys(b)]
  return (
    keys.length === otherKeys.length &&
    keys.every((key, at) => key === otherKeys[at] && isSameJson(entries[key], others[key]))
  )
}

/** The object, or an empty one. */
export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {})

/** The fields of JSON text; none of text that is something else, or that was cut. */
export const fieldsOf = (text: string): JsonObject => {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return {}
  }
}

/** The string, or an empty one. Numbers are not converted. */
export const asString = (value: unknown): string => (typeof value === 'string' ? value : '')

export const stringOrNull = (value: unknown): string | null =>
  typeof value === 'string' ? value : null

/** The array, or an empty one. */
export const asArray = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** The strings of an array; other entries are left out. */
export const asStrings = (value: unknown): string[] =>
  asArray(value).filter(entry => typeof entry === 'string')

/** The objects of an array; other entries are left out. */
export const asObjects = (value: unknown): JsonObject[] => asArray(value).filter(isObject)

/** The number when it is finite and positive, else 0: token counts of providers are missing, null or negative at times. */
export const asCount = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
