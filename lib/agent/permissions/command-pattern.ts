/** Command patterns of permission rules: `*` stands for any text, and ` *` at the end for any arguments or none. */
import { MAX_COMMAND_CHARS, normalizeCommand, UNKNOWN, DATA, hasUnknown } from '../shell/syntax.ts'
import { assessCommand } from '../command-risk.ts'
import { matchesGlob } from '../deny-rules.ts'
import { isLoadedSetting } from '../shell/environment.ts'
import type { ShellContext, SimpleCommand } from '../shell/types.ts'
import { innerCommands } from '../shell/wrappers.ts'
import { linesOf, type ReadCommand } from './command-access.ts'

const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ')

/** As globs. `npm run:*` is another spelling of `npm run *`. */
const globsOf = (pattern: string): string[] => {
  const text = oneLine(pattern.replace(/:\*$/, ' *')).replace(/[?[]/g, '[$&]')
  return text.endsWith(' *') && text !== ' *' ? [text, text.slice(0, -2)] : [text]
}

/** Whether a value that is unknown before run time could make the line match. */
const couldMatch = (glob: string, line: string): boolean => {
  const known = line.slice(0, line.search(new RegExp(`[${UNKNOWN}${DATA}]`))).toLowerCase()
  const fixed = (glob.split('*')[0] ?? '').replace(/\[([?[])\]/g, '$1').toLowerCase()
  return known.startsWith(fixed) || fixed.startsWith(known)
}

/**
 * Whether a command, or anything it starts, matches: for `deny` and `ask`. Null when that cannot be known before it runs.
 */
export const startsMatch = (
  pattern: string,
  command: string,
  read: ReadCommand,
): boolean | null => {
  const globs = globsOf(pattern)
  const text = normalizeCommand(command)
  const raw = [command, text, ...text.replace(/\\\r?\n/g, '').split('\n')].map(oneLine)
  const lines = read.started
    .flatMap(simple => linesOf(simple, read.startsOthers || read.unrecognized.has(simple.name)))
    .map(oneLine)
  const isMatch = (line: string) => globs.some(glob => matchesGlob(glob, line))
  if (raw.some(isMatch) || lines.some(isMatch)) return true
  const isUnsure =
    !read.isFollowed ||
    lines.some(line => hasUnknown(line) && globs.some(glob => couldMatch(glob, line)))
  return isUnsure ? null : false
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** Its redirections read and write only where nothing needs an approval. */
const isRedirectionHarmless = ({ redirects, cwd }: SimpleCommand, shell: ShellContext): boolean =>
  redirects
    .filter(({ op, target }) => (op.includes('>') || op === '<') && !/^&?\d+-?$/.test(target))
    .every(({ op, target }) => {
      if (hasUnknown(target)) return false
      const text = op.includes('>') ? `echo x ${op} ${quoted(target)}` : `cat ${quoted(target)}`
      return assessCommand(text, { ...shell, cwd: cwd ?? shell.cwd }).labels.length === 0
    })

/** Certainly changes nothing, so it needs no rule. */
const isHarmless = (part: SimpleCommand, shell: ShellContext): boolean => {
  const { path, args, cwd } = part
  if (path === '' && args.length === 0) return true
  if ([path, ...args].some(hasUnknown)) return false
  const text = [path, ...args].map(quoted).join(' ')
  return assessCommand(text, { ...shell, cwd: cwd ?? shell.cwd }).isReadOnly
}

/** Run another program without changing what it does. */
const TRANSPARENT = /^(?:timeout|time|nice|nohup|stdbuf)$/

/** Start other programs somewhere in their arguments. A pattern such as `find *` is not about those. */
const STARTS_INSIDE = /^(?:g?find|fd|fdfind|xargs|parallel)$/

const areInnerCovered = (
  part: SimpleCommand,
  patterns: readonly string[],
  shell: ShellContext,
): boolean =>
  innerCommands(part).every(inner => {
    if (!('words' in inner)) return false
    const [path = '', ...args] = inner.words
    const own = { ...part, path, args, name: path.split('/').at(-1) ?? '', assigns: [] }
    return patternFor(own, patterns, shell) !== undefined
  })

/** The pattern that covers the part; null: it needs none; undefined: none does. */
const patternFor = (
  part: SimpleCommand,
  patterns: readonly string[],
  shell: ShellContext,
): string | null | undefined => {
  if (part.assigns.some(([name, value]) => isLoadedSetting(name, value))) return undefined
  if (!isRedirectionHarmless(part, shell)) return undefined
  const [inner] = TRANSPARENT.test(part.path) ? innerCommands(part) : []
  const words = inner && 'words' in inner ? inner.words : [part.path, ...part.args]
  const isKnown = !words.some(word => word.includes(UNKNOWN)) && !/\s/.test(words[0] ?? '')
  const line = words.join(' ')
  const found = isKnown
    ? patterns.find(pattern =>
        globsOf(pattern).some(glob => matchesGlob(glob, line, { isExact: true })),
      )
    : undefined
  if (found && STARTS_INSIDE.test(part.name) && !areInnerCovered(part, patterns, shell))
    return undefined
  return found ?? (isHarmless(part, shell) ? null : undefined)
}

/** The `allow` patterns that together cover every part of a command that needs it; null when a part is not covered. */
export const coveringPatterns = (
  patterns: readonly string[],
  command: string,
  read: ReadCommand,
  shell: ShellContext,
): string[] | null => {
  if (patterns.length === 0 || command.length > MAX_COMMAND_CHARS) return null
  if (!read.isFollowed || command !== normalizeCommand(command)) return null
  const found = read.parts.map(part => patternFor(part, patterns, shell))
  const used = [...new Set(found.filter(pattern => typeof pattern === 'string'))]
  return used.length > 0 && !found.includes(undefined) ? used : null
}
