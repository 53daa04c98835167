/** JSON bytes of a request body. As one string, the body of a long conversation would be garbage of that size on every step. */

/** The bytes of `JSON.stringify(body)`. The elements of its arrays are encoded one by one. */
export const encodeJson = (body: Readonly<Record<string, unknown>>): Buffer => {
  const pieces: Buffer[] = []
  const add = (text: string) => void pieces.push(Buffer.from(text))
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
  return Buffer.concat(pieces)
}
