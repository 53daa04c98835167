/**
 * Commands that only read the workspace: the short list that runs unasked outside a sandbox, and in plan mode. Everything
 * that is not certainly one of them is asked about.
 */
import { globSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, resolve } from 'node:path'
import { findProgram } from '../../base/find-program.ts'
import { followPath, isInside, realPath } from '../../store/path-within.ts'
import { isDirectory } from '../../base/directories.ts'
import { readGit } from './git.ts'
import { hasProgramConfig, isInNestedRepository } from './git-programs.ts'
import { findRoots, READER_OPTIONS } from './reader-options.ts'
import type { CommandPart, ReadCommand, ShellContext } from './types.ts'

const set = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/))

type Reads = (args: readonly string[]) => boolean

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

/** Print their version and exit. */
const VERSIONED = set('git node npm python python3 ruby perl php gcc g++ clang make cmake bash')

/** The program is the one that its name stands for, not a file that the agent can write. */
const isSystemProgram = (
  { name, program }: CommandPart,
  { env, cwd, workspace = cwd }: ShellContext,
): boolean => {
  if (program === `/bin/${name}` || program === `/usr/bin/${name}`) return true
  const searchPath = env?.PATH ?? ''
  if (program !== name || !searchPath.split(delimiter).every(isAbsolute)) return false
  const path = findProgram(searchPath, name)
  // Undefined: built into the shell.
  return path === undefined || !isInside(workspace, realPath(dirname(path)))
}

/** A word that leads out of the workspace, also through a link, as the kernel follows it. */
const leadsOut = (word: string, { cwd, workspace = cwd }: ShellContext): boolean =>
  word.startsWith('~') || !isInside(realPath(workspace), followPath(cwd, word))

/** A wildcard that means other names for the service than for some shell: `.*` is also `..` there, and `**` is `*`. */
const isUncertain = (pattern: string): boolean =>
  /^~|\.\.|\*\*|(?:^|\/)\.[^\w/]/.test(pattern) || isAbsolute(pattern)

/** The words as the program gets them; null where a wildcard may become an option, or stands for too much. */
const expanded = ({ words }: CommandPart, { cwd }: ShellContext): string[] | null => {
  const all: string[] = []
  for (const { value, isGlob } of words) {
    if (value === null) return null
    if (!isGlob || /^--(?:include|exclude|exclude-dir|glob)=/.test(value)) all.push(value)
    else if (isUncertain(value)) return null
    else {
      const names = globSync(value, { cwd })
      // A name such as `-o` would be an option.
      if (names.some(name => name.startsWith('-'))) return null
      all.push(...(names.length > 0 ? names : [value]))
    }
    if (all.length > 2_000) return null
  }
  return all
}

/** The words that are paths; null where an option is not known to only read. */
const readPaths = (name: string, args: readonly string[]): readonly string[] | null => {
  if (name === 'find') return findRoots(args)
  const grammar = Object.hasOwn(READER_OPTIONS, name) ? READER_OPTIONS[name] : undefined
  if (!grammar) return null
  const { options, takes, pattern, isText, holds } = grammar
  const operands: string[] = []
  let needsPattern = pattern !== undefined
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (!arg.startsWith('-') || arg === '-') operands.push(arg)
    else if (pattern?.test(arg)) {
      needsPattern = false
      if (arg !== '--files') at++
    } else if (takes?.test(arg)) at++
    else if (!options.test(arg)) return null
  }
  if (needsPattern) operands.shift()
  if (holds && !holds(operands, args)) return null
  return isText ? [] : operands
}

/** Whether it reads the repository of the working directory, whose configuration starts no program. */
const readsOwnGit = (args: readonly string[], { cwd, workspace = cwd }: ShellContext): boolean => {
  const git = readGit(args.map(value => ({ value, isGlob: false })))
  if (!git || git.options.some(option => option !== '--no-pager')) return false
  const { sub, rest } = git
  if (rest.some(arg => GIT_ACTS.test(arg))) return false
  if (!GIT_READS.has(sub) && !(Object.hasOwn(GIT_LISTS, sub) && GIT_LISTS[sub]?.(rest)))
    return false
  return !isInNestedRepository(realPath(cwd), realPath(workspace)) && !hasProgramConfig(cwd, [])
}

/** A word of `git`, and the value that is attached to an option. */
const gitPaths = (args: readonly string[]): string[] =>
  args.flatMap(arg => (arg.startsWith('-') ? arg.replace(/^--?[\w-]*=?/, '') : arg))

const readsHere = (part: CommandPart, shell: ShellContext): boolean => {
  const { name, program, assigns, inputs } = part
  if (program === '' || assigns.length > 0 || inputs.length > 0 || !isSystemProgram(part, shell))
    return false
  const args = expanded(part, shell)
  if (args === null) return false
  const [first, ...more] = args
  if (
    VERSIONED.has(name) &&
    more.length === 0 &&
    (first === '--version' || (first === '-v' && /^(?:node|npm)$/.test(name)))
  )
    return true
  if (name === 'git')
    return readsOwnGit(args, shell) && !gitPaths(args).some(arg => leadsOut(arg, shell))
  const paths = readPaths(name, args)
  if (paths === null || paths.some(path => leadsOut(path, shell))) return false
  return name !== 'diff' || !paths.some(path => isDirectory(resolve(shell.cwd, path)))
}

/** The folders in which a part may run, of which a `cd` before it may be the reason. */
type Folders = readonly string[]

const isIn = (path: string, { cwd, workspace = cwd }: ShellContext): boolean =>
  isInside(realPath(workspace), realPath(path))

/** Null: it goes somewhere else. */
const afterCd = ({ words }: CommandPart, folders: Folders, shell: ShellContext): Folders | null => {
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
): ReadonlySet<CommandPart> => {
  const readers = new Set<CommandPart>()
  if (!isPlain || !isIn(shell.cwd, shell)) return readers
  let folders: Folders | null = [shell.cwd]
  for (const part of parts) {
    if (folders === null) break
    if (part.isInner) continue
    if (part.name === 'cd') {
      folders = afterCd(part, folders, shell)
      if (folders !== null) readers.add(part)
    } else if (
      folders.every(cwd =>
        readsHere(part, { ...shell, workspace: shell.workspace ?? shell.cwd, cwd }),
      )
    )
      readers.add(part)
  }
  return readers
}

/** Whether the whole command certainly changes nothing and reads the workspace only. */
export const onlyReads = (command: ReadCommand, shell: ShellContext): boolean => {
  const readers = readingParts(command, shell)
  return readers.size > 0 && command.parts.every(part => part.isInner || readers.has(part))
}
