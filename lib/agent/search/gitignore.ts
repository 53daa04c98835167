/** Parses .gitignore files and globs. */

export const ALWAYS_IGNORED: ReadonlySet<string> = new Set(
  '.git node_modules .hg .svn __pycache__ .venv .DS_Store'.split(' '),
)

type Pattern = { test: RegExp; negated: boolean; dirOnly: boolean; anchored: boolean }

/** The rules of one .gitignore; `relative` is relative to its directory. Null means no rule matches. */
export type IgnoreRules = (name: string, relative: string, isDir: boolean) => boolean | null

export const readIgnore = (text: string): IgnoreRules => {
  const patterns = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .flatMap(line => toPattern(line) ?? [])
  return (name, relative, isDir) => {
    let verdict: boolean | null = null
    // The last matching rule wins.
    for (const { test, negated, dirOnly, anchored } of patterns)
      if (!(dirOnly && !isDir) && test.test(anchored ? relative : name)) verdict = !negated
    return verdict
  }
}

const toPattern = (line: string): Pattern | null => {
  let text = line.replace(/(?<!\\)\s+$/, '')
  if (text === '' || text.startsWith('#')) return null
  const negated = text.startsWith('!')
  if (negated) text = text.slice(1)
  const dirOnly = text.endsWith('/')
  if (dirOnly) text = text.slice(0, -1)
  const anchored = text.includes('/')
  const test = globToRegExp(text.replace(/^\//, ''), { hasBraces: false })
  return test && { test, negated, dirOnly, anchored }
}

/** `*` and `?` don't match slashes, `**` does. Git has no braces. Null for an invalid glob. */
export const globToRegExp = (glob: string, { hasBraces = true } = {}): RegExp | null => {
  const source = glob.replace(
    /\*\*\/|\/\*\*$|\*+|\?|\[!?[^\]]*\]|\{[^{}]*\}|\\.|[.+^$()|[\]{}\\]/g,
    part => {
      if (part === '**/') return '(?:.*/)?'
      if (part === '/**') return '/.*'
      if (part.startsWith('*')) return part.length > 1 ? '.*' : '[^/]*'
      if (part === '?') return '[^/]'
      if (part.startsWith('[') && part.length > 2)
        return part.replace('[!', '[^').replaceAll('\\', '\\\\')
      if (part.startsWith('{') && part.length > 1 && hasBraces)
        return `(?:${part.slice(1, -1).split(',').map(escaped).join('|')})`
      if (part.startsWith('{')) return escaped(part).replace(/[{}]/g, '\\$&')
      return `\\${part.at(-1)}`
    },
  )
  try {
    return new RegExp(`^${source}$`)
  } catch {
    // For example, an empty character range.
    return null
  }
}

const escaped = (text: string) =>
  text
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replace(/\*/g, '[^/]*')
    .replace(/\?/g, '[^/]')
