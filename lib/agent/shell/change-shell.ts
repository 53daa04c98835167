/** What a command changes in the shell that runs it. */
import { asBuiltin, namesSetBy } from './assignments.ts'
import { printed } from './printing.ts'
import { knownFile, resolvePath, type Shell, type ShellVisitor } from './state.ts'
import { DATA } from './syntax.ts'
import type { SimpleCommand } from './types.ts'
import type { Value } from './words.ts'

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
