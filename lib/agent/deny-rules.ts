/** `approvals.deny`: glob patterns that forbid commands and everything that a command is seen to start. */
import { oneLine } from '../base/shorten.ts'
import { matchesGlob } from './glob.ts'
import { readCommand } from './shell/read.ts'
import { normalizeCommand } from './shell/syntax.ts'

/** Texts the rules are matched against: the command, its lines, and each started program by path and by name. */
const variantsOf = (command: string): Set<string> => {
  const text = normalizeCommand(command)
  const joined = text.replace(/\\\r?\n/g, '')
  const started = readCommand(command).parts.flatMap(({ name, program, words, redirects }) => {
    const args = words.map(({ value }) => value ?? '')
    const lines = [[name, ...args].join(' '), [program ?? '', ...args].join(' ')]
    const redirected = redirects.map(({ op, target }) => `${op} ${target ?? ''}`)
    return redirected.length > 0
      ? [...lines, ...lines.map(line => [line, ...redirected].join(' '))]
      : lines
  })
  return new Set(
    [command, text, joined, ...joined.split('\n'), ...started, started.join('; ')]
      .flatMap(each => [each.trim(), oneLine(each)])
      .filter(each => each !== ''),
  )
}

/** What certainly begins each started program, of which some words are known only at run time: `git $p --force`. */
const certainBeginnings = (command: string): string[] =>
  readCommand(command).parts.flatMap(({ name, words }) => {
    const at = words.findIndex(({ value }) => value === null)
    const known = words.slice(0, Math.max(at, 0)).map(({ value }) => `${value} `)
    return at < 0 || name === '' ? [] : [`${name} ${known.join('')}`.toLowerCase()]
  })

/** Whether such a word may be what the pattern names. */
const mayBe = (pattern: string, line: string): boolean =>
  (pattern.split('*')[0] ?? '').toLowerCase().startsWith(line)

/** The first matching pattern; undefined when none matches. */
export const deniedBy = (command: string, patterns: readonly string[]): string | undefined => {
  if (patterns.length === 0) return undefined
  const variants = [...variantsOf(command)]
  const beginnings = certainBeginnings(command)
  return patterns.find(
    pattern =>
      variants.some(text => matchesGlob(pattern.trim(), text)) ||
      beginnings.some(line => mayBe(pattern.trim(), line)),
  )
}
