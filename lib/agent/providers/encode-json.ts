/** JSON bytes of a request body. As one string, the body of a long conversation would be garbage of that size on every step. */

/** A pair of backslashes, or the escape that `JSON.stringify` writes for half of a character. */
const ESCAPE = /\\(?:\\|ud[89a-f][0-9a-f]{2})/g

/** Truncation can cut a character of two code units. Anthropic rejects such a request: "no low surrogate in string". */
const withoutHalves = (json: string): string =>
  json.includes('\\ud')
    ? json.replace(ESCAPE, found => (found === '\\\\' ? found : '\ufffd'))
    : json

/** The bytes of `JSON.stringify(body)`, with U+FFFD for half a character.  The elements of arrays are encoded one by one. */
export const encodeJson = (body: Readonly<Record<string, unknown>>): Buffer => {
  const pieces: string[] = []
  let bytes = 0
  const add = (text: string): void => {
    const whole = withoutHalves(text)
    pieces.push(whole)
    bytes += Buffer.byteLength(whole)
  }
  let separator = '{'
  for (const [key, value] of Object.entries(body)) {
    const text = Array.isArray(value) ? '[' : JSON.stringify(value)
    if (text === undefined) continue
    add(`${separator}${JSON.stringify(key)}:${text}`)
    separator = ','
    if (!Array.isArray(value)) continue
    for (const [at, element] of value.entries())
      add(`${at > 0 ? ',' : ''}${JSON.stringify(element) ?? 'null'}`)
    add(']')
  }
  add(separator === '{' ? '{}' : '}')
  const encoded = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const piece of pieces) at += encoded.write(piece, at)
  return encoded
}
