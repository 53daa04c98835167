/** The state of a shell while its text is walked: variables, functions, written files, and the working directory. */
import { basename, resolve } from 'node:path/posix'
import type { SyntaxNode } from 'unbash'
import { asBuiltin, namesSetBy } from './assignments.ts'
import { printed } from './printing.ts'
import { DATA, UNKNOWN } from './syntax.ts'
import type { ShellContext, SimpleCommand } from './types.ts'
import type { Value } from './words.ts'

export type ShellVisitor = {
  /** Called for each program, in execution order. */
  visit: (simple: SimpleCommand, shell: Shell) => void
  /** Called when something can't be parsed or is dangerous regardless of its programs. */
  report: (what: Trouble) => void
}
export type Trouble = 'syntax' | 'too complex' | 'fork bomb' | 'nameref'

/** The state at one point of the text. */
export type Shell = {
  context: ShellContext
  cwd: string | null
  vars: Map<string, Value>
  positional: Value
  functions: Map<string, SyntaxNode>
  aliases: Map<string, string>
  /** Files this text has written, with their content; null if unknown. */
  files: Map<string, string | null>
  /** An earlier command wrote unknown files or waited. */
  mayHaveWritten: boolean
  hasWaited: boolean
  /** A substitution has printed a file or the environment. */
  hasQuoted: boolean
  left: number
  depth: number
  /** Walks a text as commands that run here. */
  run: (text: string, positional?: Value) => void
}

const SHELL_VALUES: Record<string, (shell: Shell) => Value> = {
  HOME: ({ context }) => [context.home],
  PWD: ({ cwd }) => (cwd === null ? null : [cwd]),
  OLDPWD: ({ cwd }) => (cwd === null ? null : [cwd]),
  USER: ({ context }) => [basename(context.home)],
  LOGNAME: ({ context }) => [basename(context.home)],
  IFS: () => [' '],
  PPID: () => ['PPID'],
  SHELL: () => ['/bin/bash'],
  BASH: () => ['/bin/bash'],
  TMPDIR: () => ['/tmp'],
  '0': () => ['$0'],
}
const NUMBERS =
  /^(?:[?$!#\-_]|RANDOM|SECONDS|LINENO|UID|EUID|EPOCH\w+|COLUMNS|LINES|PIPESTATUS|BASHPID)$/

export const variableOf = (name: string, shell: Shell): Value => {
  const set = shell.vars.get(name)
  if (set !== undefined) return set
  if (shell.vars.has(name)) return null
  const own = SHELL_VALUES[name]
  if (own) return own(shell)
  if (NUMBERS.test(name)) return [DATA]
  if (/^[@*]$/.test(name)) return shell.positional
  if (/^\d+$/.test(name)) {
    const { positional } = shell
    return positional === null ? null : [positional[Number(name) - 1] ?? '']
  }
  const { env } = shell.context
  if (!env) return name === 'PATH' ? ['/usr/bin:/bin'] : null
  return [env[name] ?? '']
}

/** Absolute path; null if unknown before run time. */
export const resolvePath = (
  path: string,
  { cwd, context }: Pick<Shell, 'cwd' | 'context'>,
): string | null => {
  if (path === '-' || path.startsWith(UNKNOWN) || path.startsWith(DATA)) return null
  const full = path.replace(/^~(?=\/|$)/, context.home)
  if (full.startsWith('/')) return resolve(full)
  return cwd === null ? null : resolve(cwd, full)
}

/** The content of a file that this text has written; null if unknown. */
export const knownFile = (path: string | undefined, shell: Shell): string | null => {
  const fullPath = path === undefined ? null : resolvePath(path, shell)
  return fullPath === null ? null : (shell.files.get(fullPath) ?? null)
}

/** Applies a command's effect on the shell itself (cd, export, read, …). */
export const changeShell = (simple: SimpleCommand, shell: Shell, visitor: ShellVisitor): void => {
  const { name, args, redirects } = asBuiltin(simple)
  if (name === 'cd' || name === 'pushd') {
    const target = args.find(arg => !arg.startsWith('-') || arg === '-') ?? shell.context.home
    shell.cwd = resolvePath(target, shell)
  } else if (name === 'alias') {
    for (const arg of args) {
      const at = arg.indexOf('=')
      if (at > 0) shell.aliases.set(arg.slice(0, at), arg.slice(at + 1))
    }
  } else if (/^(?:read|mapfile|readarray|getopts)$/.test(name)) {
    const value = name === 'read' ? readValue(simple) : null
    for (const each of namesSetBy({ name, args })) shell.vars.set(each, value)
    if (args.every(arg => arg.startsWith('-'))) shell.vars.set('REPLY', null)
  } else if (name === 'printf' || name === 'wait') {
    for (const each of namesSetBy({ name, args })) shell.vars.set(each, null)
    shell.hasWaited ||= name === 'wait'
  } else if (name === 'unset') for (const arg of args) shell.vars.set(arg, [''])
  else if (name === 'set') {
    const at = args.indexOf('--')
    if (at >= 0) shell.positional = args.slice(at + 1)
  } else if (/^(?:declare|typeset|local)$/.test(name) && args.some(arg => /^-\w*n/.test(arg)))
    visitor.report('nameref')
  else if (/^(?:sleep|inotifywait|watch)$/.test(name)) shell.hasWaited = true
  for (const { op, target } of redirects)
    if (op.includes('>') && !/^&?\d*-?$/.test(target)) {
      const fullPath = resolvePath(target, shell)
      const text = printed(simple, shell) ?? (name === 'cat' ? (simple.input ?? null) : null)
      if (fullPath === null) shell.mayHaveWritten = true
      else {
        const before = op === '>>' ? knownFile(target, shell) : ''
        shell.files.set(fullPath, text === null || before === null ? null : before + text)
      }
    }
}

/** `while read f` over the output of `find` or `ls`. */
const readValue = ({ from }: SimpleCommand): Value => {
  const last = from.at(-1)
  return last && /^(?:find|ls|git|grep|rg|seq|fd|sort|cut|awk)$/.test(last.name) ? [DATA] : null
}

export const newShell = (context: ShellContext, left: number, run: Shell['run']): Shell => ({
  context,
  cwd: context.cwd,
  vars: new Map(),
  positional: [],
  functions: new Map(),
  aliases: new Map(),
  files: new Map(),
  mayHaveWritten: false,
  hasWaited: false,
  hasQuoted: false,
  left,
  depth: 0,
  run,
})
