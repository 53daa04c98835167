/**
 * Command patterns of permission rules, where `*` stands for any text and ` *` at the end for any arguments or none, and those
 * of `approvals.deny`, which also forbid what a command is seen to start.
 */
import { oneLine } from '../../base/shorten.ts'
import { matchesGlob } from '../glob.ts'
import { readGit } from '../shell/git.ts'
import { readingParts } from '../shell/readers.ts'
import { MAX_COMMAND_CHARS, normalizeCommand } from '../shell/syntax.ts'
import type { CommandPart, ReadCommand, ShellContext, Value } from '../shell/types.ts'
import { readCommand } from '../shell/read.ts'

/** As globs. `npm run:*` is another spelling of `npm run *`. */
const globsOf = (pattern: string): string[] => {
  const text = oneLine(pattern.replace(/:\*$/, ' *')).replace(/[?[]/g, '[$&]')
  return text.endsWith(' *') && text !== ' *' ? [text, text.slice(0, -2)] : [text]
}

/** Stands for what is known only at run time. */
const UNKNOWN = '\0'
const wordText = (value: Value): string => value ?? UNKNOWN

/** The arguments, and what is left without the options before a subcommand: `git -C x push` is a `git push`. */
const withoutLeadingOptions = (args: readonly string[]): string[][] => {
  const forms: string[][] = [[...args]]
  let at = 0
  while (at < args.length && forms.length < 20) {
    while (/^-./.test(args[at] ?? '')) at++
    if (at === 0 || at === args.length) break
    forms.push(args.slice(at))
    // The word may be the value of the option before it.
    const before = args[at - 1] ?? ''
    if (!/^-/.test(before) || before.includes('=')) break
    at++
    if (at < args.length) forms.push(args.slice(at))
  }
  return forms
}

/** An alias that `-c alias.x=…` defines for this call. */
const gitAlias = (part: CommandPart): string[] => {
  const git = readGit(part.words)
  const value = git?.options.findLast(option => option.startsWith(`alias.${git.sub}=`))
  return value === undefined
    ? []
    : [...value.slice(value.indexOf('=') + 1).split(/\s+/), ...(git?.rest ?? [])]
}

/** A program with its arguments, in every form that a pattern may be written for. */
const linesOf = (part: CommandPart): string[] => {
  const { name, program, words, redirects } = part
  const args = words.map(({ value }) => wordText(value))
  const forms = withoutLeadingOptions(args)
  if (name === 'git') forms.push(gitAlias(part))
  const git = /^git-(.+)/.exec(name)?.[1]
  const names = new Set([name, wordText(program), ...(git ? [`git ${git}`] : [])])
  const lines = [...names].flatMap(each => forms.map(form => [each, ...form].join(' ')))
  const redirected = redirects.map(({ op, target }) => `${op} ${wordText(target)}`).join(' ')
  const all = redirected === '' ? lines : [...lines, ...lines.map(line => `${line} ${redirected}`)]
  return [...new Set(all.map(oneLine))]
}

/** Whether a value that is unknown before run time could make the line match. */
const couldMatch = (glob: string, line: string): boolean => {
  const prefix = line.slice(0, line.indexOf(UNKNOWN)).toLowerCase()
  const fixed = (glob.split('*')[0] ?? '').replace(/\[([?[])\]/g, '$1').toLowerCase()
  return prefix.startsWith(fixed) || fixed.startsWith(prefix)
}

/** Programs that run what they read or what was defined before, so that the text does not name it. */
const RUNS_UNNAMED = /^(?:eval|alias|set|xargs|parallel|busybox)$/

/**
 * Whether a command, or anything that it is seen to start, matches: for `deny` and `ask`. Null when that cannot be known
 * before it runs.
 */
export const startsMatch = (
  pattern: string,
  command: string,
  { parts, isFollowed }: ReadCommand,
): boolean | null => {
  const globs = globsOf(pattern)
  const text = normalizeCommand(command)
  const raw = [command, text, ...text.replace(/\\\r?\n/g, '').split('\n')].map(oneLine)
  const lines = parts.flatMap(linesOf)
  const isMatch = (line: string) => globs.some(glob => matchesGlob(glob, line))
  if (raw.some(isMatch) || lines.some(isMatch)) return true
  const isUnsure =
    !isFollowed ||
    parts.some(({ name, isInner }) => !isInner && RUNS_UNNAMED.test(name)) ||
    parts.some(({ name, words, inputs }) => isOpenShell(name, words.length, inputs.length)) ||
    lines.some(line => line.includes(UNKNOWN) && globs.some(glob => couldMatch(glob, line)))
  return isUnsure ? null : false
}

/** A shell that runs what comes through a pipe. */
const isOpenShell = (name: string, words: number, inputs: number): boolean =>
  /^(?:ba|z|k|da|fi)?sh$/.test(name) && words === 0 && inputs === 0

/** Variables that only change how a program prints or what it listens on. */
const HARMLESS_VARIABLE =
  /^(?:NODE_ENV|CI|DEBUG|FORCE_COLOR|NO_COLOR|RUST_BACKTRACE|RUST_LOG|PYTHONUNBUFFERED|TZ|LANG|LC_ALL|PORT|TERM|COLUMNS)$/
/** Run another program without changing what it does. */
const TRANSPARENT = /^(?:timeout|time|nice|nohup|stdbuf)$/
/** Start other programs somewhere in their arguments: a rule for one is not about those, so they are asked about. */
const STARTS_MANY = /^(?:xargs|parallel)$/
const STARTS_INSIDE = /^(?:g?find|fd|fdfind)$/
const STARTS = /^(?:-exec(?:dir)?|-ok(?:dir)?|-x|-X|--exec(?:-batch)?)$/

const knownArgs = ({ words }: CommandPart): string[] | null => {
  const args = words.map(({ value }) => value)
  return args.includes(null) ? null : args.filter(value => value !== null)
}

const patternFor = (line: string, patterns: readonly string[]): string | undefined =>
  patterns.find(pattern =>
    globsOf(pattern).some(glob => matchesGlob(glob, line, { isExact: true })),
  )

/** The pattern that covers the part; null: none does. */
const covering = (part: CommandPart, patterns: readonly string[]): string | null => {
  const { program, name, assigns, inputs } = part
  const args = knownArgs(part)
  if (args === null || program === null || /\s/.test(program) || inputs.length > 0) return null
  if (assigns.some(([variable]) => !HARMLESS_VARIABLE.test(variable))) return null
  if (STARTS_MANY.test(name) || (STARTS_INSIDE.test(name) && args.some(arg => STARTS.test(arg))))
    return null
  const inner = TRANSPARENT.test(program) ? args.findIndex(arg => !/^-|^\d+[smh]?$/.test(arg)) : -1
  const line = inner < 0 ? [program, ...args] : args.slice(inner)
  return patternFor(line.join(' '), patterns) ?? null
}

/**
 * The `allow` patterns that together cover every part of a command that needs it; null when a part is not covered. Only for
 * a command whose text is all that it means: programs and words, `|`, `&&`, `||`, `;`.
 */
export const coveringPatterns = (
  patterns: readonly string[],
  command: string,
  analysis: ReadCommand,
  shell: ShellContext,
): string[] | null => {
  if (patterns.length === 0 || command.length > MAX_COMMAND_CHARS || !analysis.isPlain) return null
  const reading = readingParts(analysis, shell)
  const matches = new Set<string>()
  for (const part of analysis.parts) {
    if (part.isInner || reading.has(part)) continue
    const pattern = covering(part, patterns)
    if (pattern === null) return null
    matches.add(pattern)
  }
  return matches.size > 0 ? [...matches] : null
}

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
    const values = words.slice(0, Math.max(at, 0)).map(({ value }) => `${value} `)
    return at < 0 || name === '' ? [] : [`${name} ${values.join('')}`.toLowerCase()]
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
