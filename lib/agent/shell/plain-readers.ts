/**
 * Decides for plan mode whether a command certainly changes nothing. Unlike `isReadOnly` of an
 * assessment, which may be wrong about a program that few people use, it knows only programs and options that are listed here.
 */
import { delimiter, dirname, isAbsolute } from 'node:path'
import { findProgram } from '../../base/find-program.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { readGit } from './git.ts'
import { hasProgramConfig } from './git-programs.ts'
import { readSed } from './sed.ts'
import { hasUnknown, HIDDEN_INDEX } from './syntax.ts'
import type { Redirect, ShellContext, SimpleCommand } from './types.ts'

const set = (names: string): ReadonlySet<string> => new Set(names.trim().split(/\s+/))

/** They only read and print, whatever their arguments are. */
const ANY_ARGUMENTS = set(`
  ls dir vdir cat head tail wc nl tac rev cut tr paste fold fmt od hexdump basename dirname realpath readlink stat du df
  pwd echo true false : cd pushd popd dirs which type cmp diff comm join column expand unexpand seq sleep expr
  nproc arch printenv locale whoami logname id groups uname ps pgrep md5sum sha1sum sha224sum sha256sum sha384sum sha512sum
  b2sum cksum sum grep egrep fgrep zgrep zcat bzcat xzcat jq factor exit break continue return shift wait
`)

/** Programs that print their version and exit. */
const VERSIONED = set('git node python python3 ruby perl php gcc g++ clang make cmake bash')

const options = (args: readonly string[]): string[] => args.filter(arg => arg.startsWith('-'))
const operands = (args: readonly string[]): string[] => args.filter(arg => !arg.startsWith('-'))

/** `isOpen`: the argument may turn out to be any option. */
type Reads = (simple: SimpleCommand, isOpen: (arg: string) => boolean) => boolean

/** Reads unless one of its arguments matches. */
const unless =
  (pattern: RegExp): Reads =>
  ({ args }, isOpen) =>
    !args.some(arg => isOpen(arg) || pattern.test(arg))

/** Reads when every option matches. */
const only =
  (pattern: RegExp): Reads =>
  ({ args }, isOpen) =>
    !args.some(isOpen) && options(args).every(arg => pattern.test(arg))

const GIT_READS = set(`
  status log show diff blame annotate rev-parse rev-list ls-files ls-tree describe shortlog cat-file name-rev merge-base
  show-ref show-branch for-each-ref whatchanged cherry range-diff diff-tree grep count-objects version
`)

/** Options that write a file, start a program, check signatures with one, or look into submodules. */
const GIT_ACTS = /^--(?:ou|op|ex|te|fi|show-s|subm|ignore-su)|^-\w*O|%G/
/** `describe` with them refreshes the index whatever the configuration says. */
const DESCRIBES_CHANGES = /^--(?:d|b)/

const LISTS =
  /^(?:-[arvl]+|-n\d+|--(?:list|all|remotes|show-current|(?:no-)?contains|(?:no-)?merged|points-at|(?:sort|format)=.*))$/

/** Without an option that makes it a list, an operand is the name of a new branch or tag. */
const listsRefs = (rest: readonly string[]): boolean =>
  options(rest).every(arg => LISTS.test(arg)) &&
  (operands(rest).length === 0 ||
    rest.some(arg => /^(?:-l|--list|--(?:no-)?(?:contains|merged)|--points-at)$/.test(arg)))

/** Subcommands that only list with these arguments. */
const GIT_LISTS: Readonly<Record<string, (rest: readonly string[]) => boolean>> = {
  branch: listsRefs,
  tag: listsRefs,
  remote: rest => rest.every(arg => arg === '-v') || rest[0] === 'get-url',
  stash: rest => /^(?:list|show)$/.test(rest[0] ?? ''),
  worktree: rest => rest[0] === 'list',
  reflog: rest => rest.length === 0 || rest[0] === 'show',
  config: rest =>
    /^(?:--get|--get-all|--list|-l|get|list)$/.test(rest[0] ?? '') && options(rest).length <= 1,
}

const readsGit: Reads = ({ args, cwd }, isOpen) => {
  const { sub, rest, paths } = readGit(args)
  const own = args.slice(0, args.length - rest.length - 1)
  const isPlain = own.every((arg, at) => /^(?:-C|--no-pager)$/.test(arg) || own[at - 1] === '-C')
  if (!isPlain || args.some(isOpen) || rest.some(arg => GIT_ACTS.test(arg))) return false
  if (sub === 'describe' && rest.some(arg => DESCRIBES_CHANGES.test(arg))) return false
  if (!GIT_READS.has(sub) && !(Object.hasOwn(GIT_LISTS, sub) && GIT_LISTS[sub]?.(rest)))
    return false
  return !hasProgramConfig(cwd, paths)
}

const readsSed: Reads = ({ args }, isOpen) => {
  if (args.some(isOpen) || !options(args).every(arg => /^(?:-[nrEsuz]+|-e)$/.test(arg)))
    return false
  const scripts = args.includes('-e')
    ? args.filter((_, at) => args[at - 1] === '-e')
    : operands(args).slice(0, 1)
  return scripts
    .map(readSed)
    .every(({ runs, writes, isClear }) => isClear && runs.length === 0 && writes.length === 0)
}

/** Awk writes with `print > file`, and runs commands with `|`, `system`, and `getline`. */
const readsAwk: Reads = ({ args }, isOpen) => {
  const at = args.findIndex(
    (arg, index) => !arg.startsWith('-') && !/^-[Fv]$/.test(args[index - 1] ?? ''),
  )
  const program = args[at]
  if (program === undefined || args.some(isOpen)) return false
  const isPlain = args.every(
    (arg, index) => !arg.startsWith('-') || (index < at && /^-[Fv]/.test(arg)),
  )
  const printed = program.slice(program.includes('print') ? program.indexOf('print') : Infinity)
  return (
    isPlain && !/system|getline|@|\|/.test(program.replaceAll('||', '')) && !printed.includes('>')
  )
}

const isOwnVariable = (name: string): boolean => /^[a-z_][a-z0-9_]*$/.test(name)

/** What it runs gets more arguments from its input, which may be options. */
const readsXargs: Reads = ({ args }) => {
  const at = args.findIndex(arg => !/^(?:-[0rt]+|-[nPLI]\S*|\d+|\{\})$/.test(arg))
  return at < 0 || ANY_ARGUMENTS.has(args[at] ?? '')
}

const READERS: Readonly<Record<string, Reads>> = {
  git: readsGit,
  sed: readsSed,
  awk: readsAwk,
  gawk: readsAwk,
  mawk: readsAwk,
  xargs: readsXargs,
  find: unless(/^-(?:delete|exec|execdir|ok|okdir|fls|fprint.*)$/),
  fd: unless(/^-[^-]*[xX]|^--exec/),
  fdfind: unless(/^-[^-]*[xX]|^--exec/),
  rg: unless(/^--(?:pre|host)/),
  file: unless(/^-[^-]*[CzZ]|^--(?:c|u)/),
  // `-v` evaluates the index of an array element.
  test: unless(/^-[vR]$/),
  '[': unless(/^-[vR]$/),
  strings: unless(/^@/),
  base64: unless(/^-\w*o|^--o/),
  base32: unless(/^-\w*o|^--o/),
  sort: only(/^-(?:[bdfghimnrRsuVcCz]+|[kt].*)$|^--(?:reverse|unique|numeric-sort|version-sort)$/),
  tree: only(/^-(?:[adflpsugDhrtvCAnNQFiS]+|[LIP])$|^--(?:noreport|dirsfirst|du|gitignore|prune)$/),
  diff3: unless(/^--d/),
  // A second file is the output; a wildcard may stand for two.
  uniq: ({ args }, isOpen) =>
    !args.some(arg => isOpen(arg) || arg === '--' || /[*?[]/.test(arg)) &&
    args.filter(arg => arg === '-' || !arg.startsWith('-')).length <= 1,
  date: ({ args }, isOpen) =>
    args.every(
      (arg, at) =>
        !isOpen(arg) &&
        (/^(?:\+.*|-[uRd]|--utc|-I\w*|--(?:date|iso-8601|rfc-3339)(?:=.*)?)$/s.test(arg) ||
          args[at - 1] === '-d'),
    ),
  // `-v`, `%n`, and `read` set a variable, which may decide what runs next.
  printf: ({ args: [format = ''] }, isOpen) =>
    !format.startsWith('-') &&
    !isOpen(format) &&
    !/%[^%a-zA-Z]*[hjlLtz]*n/.test(format.replaceAll('%%', '')),
  read: ({ args }) => args.every(arg => arg === '-r' || isOwnVariable(arg)),
  // What they run is a command of its own in the list.
  timeout: ({ args: [time = '', program = '-'] }) =>
    /^\d+[smh]?$/.test(time) && !program.startsWith('-'),
  nice: ({ args: [program = ''] }) => !program.startsWith('-'),
  command: ({ args: [first = ''] }) => !first.startsWith('-') || /^-[vV]$/.test(first),
}

const isQuietRedirect = ({ op, target }: Redirect): boolean =>
  op.includes('>')
    ? target === '/dev/null' || (op === '>&' && /^[12-]$/.test(target))
    : !/^\/dev\/(?!null$)/.test(target)

/** The program is the one that its name stands for, not a file that the agent can write. */
const isSystemProgram = (
  { name, path }: SimpleCommand,
  { env, cwd, workspace = cwd }: ShellContext,
): boolean => {
  if (path === `/bin/${name}` || path === `/usr/bin/${name}`) return true
  const searchPath = env?.PATH ?? ''
  if (path !== name || !searchPath.split(delimiter).every(isAbsolute)) return false
  const found = findProgram(searchPath, name)
  // Undefined: built into the shell.
  return found === undefined || !isInside(workspace, realPath(dirname(found)))
}

const isPlainReader = (
  simple: SimpleCommand,
  shell: ShellContext,
  isOpen: (arg: string) => boolean,
): boolean => {
  const { name, args, redirects, assigns } = simple
  if (!redirects.every(isQuietRedirect)) return false
  if (!assigns.every(([variable]) => isOwnVariable(variable))) return false
  if (name === '') return true
  if (!isSystemProgram(simple, shell)) return false
  if (ANY_ARGUMENTS.has(name)) return true
  if (VERSIONED.has(name) && args.length === 1 && args[0] === '--version') return true
  return Object.hasOwn(READERS, name) && READERS[name]?.(simple, isOpen) === true
}

/**
 * Syntax that sets variables or evaluates text as code without a command that shows it: functions, arithmetic (an index
 * may contain `$(…)`), `${x:=…}`, `${!x}`, and loops over a variable such as PATH.
 */
const UNSEEN =
  /\(\s*\)\s*[\n{(]|\(\(|\[\[|\$\[|\w\[[^\]]*\]\+?=|\$\{[^}]*[:!=[]|(?:^|[;&|\n({]|\b(?:do|then|else)\b)\s*(?:function|coproc|select|for\s+(?![a-z_][a-z0-9_]*\s))/

/** An argument in quotes is what it looks like; outside, the shell replaces `*` with names such as `-delete`. */
const isQuoted = (arg: string, text: string): boolean => {
  const pieces = text.split(arg)
  return (
    pieces.length > 1 &&
    pieces.slice(1).every((after, at) => {
      const quote = pieces[at]?.at(-1)
      return (quote === '"' || quote === "'") && after.startsWith(quote)
    })
  )
}

/** `simples`: every program that the text starts, nested ones included. */
export const areAllPlainReaders = (
  text: string,
  simples: readonly SimpleCommand[],
  shell: ShellContext,
): boolean => {
  const isOpen = (arg: string): boolean =>
    hasUnknown(arg) || (/^(?:[*?[]|-.*[*?[])/.test(arg) && !isQuoted(arg, text))
  return (
    simples.length > 0 &&
    !UNSEEN.test(text) &&
    !HIDDEN_INDEX.test(text) &&
    simples.every(simple => isPlainReader(simple, shell, isOpen))
  )
}
