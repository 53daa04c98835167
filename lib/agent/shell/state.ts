/** The state of a shell while its text is walked: variables, functions, written files, and the working directory. */
import { basename, resolve } from 'node:path/posix'
import type { SyntaxNode } from 'unbash'
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
