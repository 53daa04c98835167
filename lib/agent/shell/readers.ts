/**
 * Commands that only read the workspace: the short list that runs unasked outside a sandbox, and in plan mode. Everything
 * that is not certainly one of them is asked about.
 */
import { globSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, resolve } from 'node:path'
import { findProgram } from '../../base/find-program.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { statIfExists } from '../hard-links.ts'
import { readGit } from './git.ts'
import { hasProgramConfig, isInNestedRepository } from './git-programs.ts'
import type { Part, ReadCommand, ShellContext } from './types.ts'

const set = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/))

/** They only read and print, whatever their options are. */
const ANY_OPTIONS = set(`
  ls dir vdir cat head tail wc nl tac rev cut tr paste fold fmt od hexdump basename dirname realpath readlink stat du df
  pwd echo true false cd which type cmp comm join column expand unexpand seq sleep nproc arch whoami logname id groups
  uname pgrep
`)
const SUMS = set('md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum')
/** With a list of the files to read in another file. */
const FROM_A_LIST = /^--files0/

type Reads = (args: readonly string[]) => boolean

const unless =
  (pattern: RegExp): Reads =>
  args =>
    !args.some(arg => pattern.test(arg))

/** Every option must match; an option that is not known here may do anything. */
const only =
  (pattern: RegExp): Reads =>
  args =>
    args.every(arg => !arg.startsWith('-') || pattern.test(arg))

const GIT_READS = set(`
  status log show diff blame annotate rev-parse rev-list ls-files ls-tree describe shortlog cat-file name-rev merge-base
  show-ref show-branch for-each-ref whatchanged cherry range-diff diff-tree grep count-objects version
`)
/** Options that write a file, start a program, check signatures with one, look into submodules, or read outside. */
const GIT_ACTS =
  /^--(?:ou|op|ex|te|fi|show-s|subm|ignore-su|no-i|contents|d|b|reme)|^-\w*O|%G|%\(signature/
const LISTS =
  /^(?:-[arvl]+|-n\d+|--(?:list|all|remotes|show-current|(?:no-)?contains|(?:no-)?merged|points-at|(?:sort|format)=.*))$/
const listsRefs: Reads = args =>
  only(LISTS)(args) &&
  (args.every(arg => arg.startsWith('-')) ||
    args.some(arg => /^(?:-l|--list|--(?:no-)?(?:contains|merged)|--points-at)$/.test(arg)))

/** Subcommands that only list with these arguments. */
const GIT_LISTS: Readonly<Record<string, Reads>> = {
  branch: listsRefs,
  tag: listsRefs,
  remote: args => args.every(arg => arg === '-v') || args[0] === 'get-url',
  stash: args => /^(?:list|show)$/.test(args[0] ?? ''),
  worktree: args => args[0] === 'list',
  reflog: args => args.length === 0 || args[0] === 'show',
}

const READERS: Readonly<Record<string, Reads>> = {
  // With the environment, its keys.
  ps: unless(/^[a-zA-Z]*e|^-\w*E/),
  jq: unless(/env|ENV|import|include|^-\w*[Lf]|^--from/),
  find: unless(/^-(?:delete|exec|execdir|ok|okdir|fls|fprint.*|L|follow|files0-from)$/),
  fd: unless(/^-[^-]*[xXL]|^--(?:exec|follow)/),
  fdfind: unless(/^-[^-]*[xXL]|^--(?:exec|follow)/),
  // `-f` reads patterns from a file: like every path, it must be in the workspace.
  grep: unless(/^-[a-zA-Z]*R|^--deref/),
  egrep: unless(/^-[a-zA-Z]*R|^--deref/),
  fgrep: unless(/^-[a-zA-Z]*R|^--deref/),
  rg: unless(/^--(?:pre|host|follow|search-zip)|^-[a-zA-Z]*[Lz]/),
  file: unless(/^-[^-]*[CfzZm]|^--(?:c|f|u|m)/),
  test: unless(/^-[vR]$/),
  '[': unless(/^-[vR]$/),
  diff: unless(/^--to|^--from/),
  sort: only(/^-(?:[bdfghimnrRsuVcCz]+|[kt].*)$|^--(?:reverse|unique|numeric-sort|version-sort)$/),
  tree: only(/^-(?:[adfpsugDhrtvCAnNQFiS]+|[LIP])$|^--(?:noreport|dirsfirst|du|gitignore|prune)$/),
  // A second file is the output.
  uniq: args =>
    !args.some(arg => arg === '--' || /[*?[]/.test(arg)) &&
    args.filter(arg => arg === '-' || !arg.startsWith('-')).length <= 1,
  date: args =>
    args.every((arg, at) => /^(?:\+.*|-[uRd]|--utc|-I\w*)$/s.test(arg) || args[at - 1] === '-d'),
  printf: ([format = '']) =>
    !format.startsWith('-') && !/%[^%a-zA-Z]*[hjlLtz]*n/.test(format.replaceAll('%%', '')),
  // Prints lines: `sed -n 10,20p`.
  sed: args =>
    args[0] === '-n' &&
    /^[\d$]+(?:,[\d$]+)?p$/.test(args[1] ?? '') &&
    args.slice(2).every(arg => !arg.startsWith('-')),
}

/** Programs that print their version and exit. */
const VERSIONED = set('git node npm python python3 ruby perl php gcc g++ clang make cmake bash')

/** The program is the one that its name stands for, not a file that the agent can write. */
const isSystemProgram = (
  { name, program }: Part,
  { env, cwd, workspace = cwd }: ShellContext,
): boolean => {
  if (program === `/bin/${name}` || program === `/usr/bin/${name}`) return true
  const searchPath = env?.PATH ?? ''
  if (program !== name || !searchPath.split(delimiter).every(isAbsolute)) return false
  const found = findProgram(searchPath, name)
  // Undefined: built into the shell.
  return found === undefined || !isInside(workspace, realPath(dirname(found)))
}

/** The paths that a word may be: itself, or the value of an option, which may be the last of several. */
const pathsIn = (word: string): string[] =>
  word.startsWith('--')
    ? [word.slice(word.indexOf('=') + 1 || word.length)]
    : word.startsWith('-')
      ? [word.replace(/^-\w?/, ''), word.replace(/^-\w*/, '')]
      : [word]

/** A word that leads out of the workspace, also through a link. What is no path is none of a file either. */
const leadsOut = (word: string, { cwd, workspace = cwd }: ShellContext): boolean =>
  pathsIn(word).some(
    path => path.startsWith('~') || !isInside(realPath(workspace), realPath(resolve(cwd, path))),
  )

/** A wildcard that means other names for the service than for some shell: `.*` is also `..` there. */
const isUncertain = (pattern: string): boolean =>
  /^~|\.\.|(?:^|\/)\.[^\w/]/.test(pattern) || isAbsolute(pattern)

/** The words as the program gets them; null where a wildcard may become an option, or stands for too much. */
const expanded = ({ words, name }: Part, { cwd }: ShellContext): string[] | null => {
  const all: string[] = []
  for (const { value, isGlob } of words) {
    if (value === null) return null
    if (!isGlob) all.push(value)
    else if (!ANY_OPTIONS.has(name) && !/^(?:[\w./]|--[\w-]+=)/.test(value)) return null
    else if (isUncertain(value)) return null
    else all.push(value, ...globSync(value, { cwd }))
    if (all.length > 2_000) return null
  }
  return all
}

const readsWith = (name: string, args: readonly string[], shell: ShellContext): boolean => {
  if (
    VERSIONED.has(name) &&
    args.length === 1 &&
    /^(?:--version|-v|-V|version)$/.test(args[0] ?? '')
  )
    return true
  if (name === 'git') return readsOwnGit(args, shell)
  if (ANY_OPTIONS.has(name)) return !args.some(arg => FROM_A_LIST.test(arg))
  // Also abbreviated, and the list has names of files.
  if (SUMS.has(name)) return !args.some(arg => /^-[a-z]*c|^--c/.test(arg))
  // It follows the links in directories.
  if (name === 'diff' && args.some(arg => statIfExists(resolve(shell.cwd, arg))?.isDirectory()))
    return false
  return Object.hasOwn(READERS, name) && READERS[name]?.(args) === true
}

/** Of the repository of the working directory, whose configuration starts no program. */
const readsOwnGit = (args: readonly string[], { cwd, workspace = cwd }: ShellContext): boolean => {
  const git = readGit({ words: args.map(value => ({ value, isGlob: false })) })
  if (!git || git.options.some(option => option !== '--no-pager')) return false
  const { sub, rest } = git
  if (rest.some(arg => GIT_ACTS.test(arg))) return false
  if (!GIT_READS.has(sub) && !(Object.hasOwn(GIT_LISTS, sub) && GIT_LISTS[sub]?.(rest)))
    return false
  return !isInNestedRepository(realPath(cwd), realPath(workspace)) && !hasProgramConfig(cwd, [])
}

/** Texts, numbers, and dates are no paths. */
const NO_PATHS = set(
  'echo printf true false sleep seq date which type pwd whoami id uname nproc arch ps pgrep tr',
)
/** Options whose value, in the next word, is no path. */
const TAKES_TEXT: Readonly<Record<string, RegExp>> = {
  find: /^-i?(?:name|path|regex|wholename)$/,
  grep: /^-[eABCm]$/,
  egrep: /^-[eABCm]$/,
  fgrep: /^-[eABCm]$/,
  rg: /^(?:-[egtTABCm]|--glob)$/,
  cut: /^-[dfcb]$/,
  sort: /^-[kt]$/,
  paste: /^-d$/,
}
/** Certainly no option that takes the next word, which would be an option otherwise. */
const TAKES_NOTHING = /^(?:[^-]|--[\w-]+=|-[a-zA-Z]*[aFGHhiIlLnoPqsvwxz]$)/
const FIND_TAKES_NOTHING = /^(?!-D)/

/** Their first operand is a pattern or a program of their own. */
const PATTERN_FIRST = set('grep egrep fgrep rg jq')

const withoutTexts = (name: string, args: readonly string[]): string[] => {
  const takes = Object.hasOwn(TAKES_TEXT, name) ? TAKES_TEXT[name] : undefined
  const before = name === 'find' ? FIND_TAKES_NOTHING : TAKES_NOTHING
  const end = args.indexOf('--')
  const found: string[] = []
  let isFree = true
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    const isTaken: boolean = isFree && (end < 0 || at < end) && takes?.test(arg) === true
    if (isTaken) at++
    else if (name !== 'cut' || !arg.startsWith('-')) found.push(arg)
    isFree = isTaken || before.test(arg)
  }
  return found
}

/** The words that may be paths. */
const pathWords = (name: string, args: readonly string[]): readonly string[] => {
  if (NO_PATHS.has(name)) return []
  const open = withoutTexts(name, args)
  const first = PATTERN_FIRST.has(name) ? open.findIndex(arg => !arg.startsWith('-')) : -1
  // After a long option, it may be the value of that one.
  const before = open.slice(0, Math.max(first, 0))
  return first < 0 ||
    before.some(arg => /^--\w[^=]*$/.test(arg)) ||
    args.some(arg => /^-[a-zA-Z]*[ef]|^--(?:regexp|file)/.test(arg))
    ? open
    : open.toSpliced(first, 1)
}

const readsHere = (part: Part, shell: ShellContext): boolean => {
  const { name, program, assigns, inputs } = part
  if (program === '' || assigns.length > 0 || inputs.length > 0 || !isSystemProgram(part, shell))
    return false
  const args = expanded(part, shell)
  return (
    args !== null &&
    readsWith(name, args, shell) &&
    !pathWords(name, args).some(arg => leadsOut(arg, shell))
  )
}

/** The folders in which a part may run, of which a `cd` before it may be the reason. */
type Folders = readonly string[]

const isIn = (path: string, { cwd, workspace = cwd }: ShellContext): boolean =>
  isInside(realPath(workspace), realPath(path))

/** Null: it goes somewhere else. */
const afterCd = ({ words }: Part, folders: Folders, shell: ShellContext): Folders | null => {
  const [to, ...more] = words
  if (!to || to.value === null || to.isGlob || more.length > 0 || /^[-~]/.test(to.value))
    return null
  const { value } = to
  const next = folders.map(folder => resolve(folder, value))
  return next.every(folder => isIn(folder, shell)) ? [...new Set([...folders, ...next])] : null
}

/**
 * Which parts certainly change nothing and read the workspace only. When in doubt, false. A command without a plain
 * text has none.
 */
export const readingParts = (
  { parts, isPlain }: ReadCommand,
  shell: ShellContext,
): ReadonlySet<Part> => {
  const found = new Set<Part>()
  if (!isPlain || !isIn(shell.cwd, shell)) return found
  let folders: Folders | null = [shell.cwd]
  for (const part of parts) {
    if (folders === null) break
    if (part.isInner) continue
    if (part.name === 'cd') {
      folders = afterCd(part, folders, shell)
      if (folders !== null) found.add(part)
    } else if (
      folders.every(cwd =>
        readsHere(part, { ...shell, workspace: shell.workspace ?? shell.cwd, cwd }),
      )
    )
      found.add(part)
  }
  return found
}

/** Whether the whole command certainly changes nothing and reads the workspace only. */
export const onlyReads = (command: ReadCommand, shell: ShellContext): boolean => {
  const found = readingParts(command, shell)
  return found.size > 0 && command.parts.every(part => part.isInner || found.has(part))
}
