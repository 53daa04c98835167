/** JSON bytes of a request body. As one string, the body of a long conversation would be garbage of that size on every step. */

/** A pair of backslashes, or the escape that `JSON.stringify` writes for half of a character. */
const ESCAPE = /\\(?:\\|ud[89a-f][0-9a-f]{2})/g

/** Truncation can cut a character of two code units. Anthropic rejects such a request: "no low surrogate in string". */
const withoutHalves = (json: string): string =>
  json.includes('\\ud')
    ? json.replace(ESCAPE, found => (found === '\\\\' ? found : '\ufffd'))
    : json

/** Memory grows to the next power of two from here on, so that the memory of one body fits the next, which is a little longer. */
const LEAST_BYTES = 64 * 1024

/** At most, of a unit of UTF-16. */
const MAX_UTF8 = 3

const grown = (memory: Buffer, used: number, needed: number): Buffer => {
  let size = Math.max(LEAST_BYTES, memory.length)
  while (size < used + needed) size *= 2
  const larger = Buffer.allocUnsafeSlow(size)
  memory.copy(larger, 0, 0, used)
  return larger
}

const NONE = Buffer.alloc(0)

/**
 * The bytes of `JSON.stringify(body)`, with U+FFFD for half a character. The elements of arrays are encoded one by one. `given`:
 * memory of an earlier body, which is used if it is large enough.
 */
export const encodeJson = (
  body: Readonly<Record<string, unknown>>,
  given: Buffer = NONE,
): Buffer => {
  let memory = given
  let at = 0
  const add = (text: string): void => {
    const whole = withoutHalves(text)
    const left = memory.length - at
    if (whole.length * MAX_UTF8 > left) {
      const bytes = Buffer.byteLength(whole)
      if (bytes > left) memory = grown(memory, at, bytes)
    }
    at += memory.write(whole, at)
  }
  let separator = '{'
  for (const [key, value] of Object.entries(body)) {
    const text = Array.isArray(value) ? '[' : JSON.stringify(value)
    if (text === undefined) continue
    add(`${separator}${JSON.stringify(key)}:${text}`)
    separator = ','
    if (!Array.isArray(value)) continue
    for (const [index, element] of value.entries())
      add(`${index > 0 ? ',' : ''}${JSON.stringify(element) ?? 'null'}`)
    add(']')
  }
  add(separator === '{' ? '{}' : '}')
  return memory.subarray(0, at)
}
