/** Parses a sed script to find the commands it runs and the files it writes. */

export type SedScript = { runs: string[]; writes: string[]; reads: string[]; isClear: boolean }

/** Index after the closing delimiter of a pattern; -1 if there is none. */
const behind = (text: string, from: number, delimiter: string): number => {
  let inClass = false
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') at++
    else if (char === '\n' && delimiter !== '\n') return -1
    else if (char === '[' && !inClass) inClass = text.indexOf(']', at + 2) > 0 && delimiter !== '['
    else if (char === ']' && inClass) inClass = false
    else if (char === delimiter && !inClass) return at + 1
    else if (char === delimiter) {
      // In a bracket expression the delimiter is literal, but scripts rarely do that.
      return at + 1
    }
  }
  return -1
}

const lineEnd = (text: string, from: number): number => {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

export const readSed = (text: string): SedScript => {
  const found: SedScript = { runs: [], writes: [], reads: [], isClear: true }
  const unclear = () => ({ ...found, isClear: false })
  let at = 0
  const skip = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const match = pattern.exec(text)?.[0] ?? ''
    at += match.length
    return match
  }
  const rest = (): string => {
    const end = lineEnd(text, at)
    const line = text.slice(at, end).trim()
    at = end
    return line
  }
  while (at < text.length) {
    skip(/[\s;{}]*/y)
    if (at >= text.length) break
    // Addresses.
    for (let addresses = 0; addresses < 2; addresses++) {
      if (text[at] === '/' || text[at] === '\\') {
        const delimiter = text[at] === '/' ? '/' : (text[at + 1] ?? '')
        const end = behind(text, at + (text[at] === '/' ? 1 : 2), delimiter)
        if (end < 0) return unclear()
        at = end
        skip(/[IM]*/y)
      } else skip(/(?:\d+~\d+|\d+|\$|[+~]\d+)/y)
      skip(/\s*/y)
      if (text[at] !== ',') break
      at++
      skip(/\s*/y)
    }
    skip(/[\s!]*/y)
    const verb = text[at] ?? ''
    at++
    if (verb === 's' || verb === 'y') {
      const delimiter = text[at] ?? ''
      const middle = behind(text, at + 1, delimiter)
      const end = middle < 0 ? -1 : behind(text, middle, delimiter)
      if (end < 0) return unclear()
      const replacement = text.slice(middle, end - 1)
      at = end
      const flags = skip(/[gpiImM\d]*/y)
      if (verb === 's' && text[at] === 'e') {
        at++
        found.runs.push(replacement)
      }
      if (verb === 's' && text[at] === 'w') {
        at++
        found.writes.push(rest())
      }
      if (flags.length > 12) return unclear()
    } else if (verb === 'e') found.runs.push(rest())
    else if (verb === 'w' || verb === 'W') found.writes.push(rest())
    else if (verb === 'r' || verb === 'R') found.reads.push(rest())
    else if (/[aic]/.test(verb)) {
      // The text ends with the first line that isn't continued.
      let end = lineEnd(text, at)
      while (text[end - 1] === '\\' && end < text.length) end = lineEnd(text, end + 1)
      at = end
    } else if (/[:btT]/.test(verb)) skip(/[^\n;}]*/y)
    else if (/[qQlL]/.test(verb)) skip(/\s*\d*/y)
    else if (verb === '#') rest()
    else if (!/[=dDgGhHnNpPxzF{}]/.test(verb)) return unclear()
  }
  return found
}
