/** Compiles a model's pattern to a regular expression, with a literal that every matching line contains. */

export type Pattern = {
  source: string
  flags: string
  literal: string | null
  isPlain: boolean
  isText: boolean
}

export const readPattern = (pattern: string): Pattern => {
  // Other dialects' notation for "ignore case".
  const flags = pattern.startsWith('(?i)') ? 'i' : ''
  const given = flags ? pattern.slice(4) : pattern
  const isText = !isRegExp(given, flags)
  // Usually plain text with an unclosed bracket.
  const source = isText ? given.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') : given
  // Only negative lookarounds can make a multi-line match hide a single-line one.
  const isPlain = !/\(\?<?!/.test(source)
  const literal = flags ? null : literalOf(source.normalize('NFC'))
  return { source: inEitherForm(source), flags, literal, isPlain, isText }
}

/** Letters with marks are found as one character or as several. */
const inEitherForm = (source: string): string =>
  source.replace(
    /\[(?:\\.|[^\]\\])*\]|\\.|(?:[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|[^\0-\x7f]\p{M}*|\p{L}\p{M}+)/gsu,
    part => {
      const [one, several] = [part.normalize('NFC'), part.normalize('NFD')]
      return /^[[\\]/.test(part) || one === several ? part : `(?:${one}|${several})`
    },
  )

const isRegExp = (source: string, flags: string): boolean => {
  try {
    new RegExp(source, `${flags}gm`)
    return true
  } catch {
    return false
  }
}

const TOKEN = /\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|.)|\[(?:\\.|[^\]\\])*\]|\{[^}]*\}|[\s\S]/gi

/** The longest ASCII literal in every match; null if there is none. */
const literalOf = (source: string): string | null => {
  if (/[|(]/.test(source.replace(/\\./g, ''))) return null
  const runs: string[] = []
  let run = ''
  const end = () => {
    runs.push(run)
    run = ''
  }
  for (const [token] of source.matchAll(TOKEN)) {
    const char = /^\\[^\w\s]$/.test(token) ? token.slice(1) : token
    if (/^[*?{]/.test(token)) {
      // The preceding character is optional.
      run = run.slice(0, -1)
      end()
    } else if (['+', '.', '^', '$'].includes(token) || char.length !== 1 || !/[ -~]/.test(char))
      end()
    else run += char
  }
  end()
  const longest = runs.toSorted((a, b) => b.length - a.length)[0] ?? ''
  return longest.length > 1 ? longest : null
}
