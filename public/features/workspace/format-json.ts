/** Lays out JSON by its tokens, so that every number and string stays as it is written. */

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** Null for text that is no JSON. */
export const formatJson = (text: string): string | null => {
  try {
    JSON.parse(text)
  } catch {
    return null
  }
  const out: string[] = []
  let depth = 0
  let before = ''
  const newLine = () => `\n${'  '.repeat(depth)}`
  for (const [token] of text.matchAll(TOKEN)) {
    const isClosing = token === '}' || token === ']'
    if (isClosing) depth -= 1
    const isEmpty = isClosing && (before === '{' || before === '[')
    const startsLine = before === '{' || before === '[' || before === ',' || isClosing
    if (startsLine && !isEmpty) out.push(newLine())
    if (before === ':') out.push(' ')
    out.push(token)
    if (token === '{' || token === '[') depth += 1
    before = token
  }
  return `${out.join('')}\n`
}
