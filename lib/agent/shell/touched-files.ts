/** Which files a command writes, deletes, and reads, as far as its arguments show. */
import { readGit } from './git.ts'
import { readCurl, readWget } from './network.ts'
import { FILE_ARGUMENTS, type Touched, valuesOf } from './file-arguments.ts'
import type { SimpleCommand } from './types.ts'

/** Options of any program whose value is an output file. */
const OUTPUT =
  /^(?:-o|--output|--output-file|--out|--outfile|--out-file|--outdir|--out-dir|--output-dir|--output-directory|--output-path|--outDir|--dest|--destination|--log-file|--logfile|--target-directory|--prefix|--junitxml|--junit-xml|--basetemp|--report-dir|--install-dir|--root|--save-to|--export|--coverage-directory|--cov-report|--target|--target-dir)$/

/** The files that a command touches. */
export const touchedFiles = (simple: SimpleCommand): Touched => {
  const { name, args, redirects } = simple
  const found: Touched = { writes: [], deletes: [], fills: [], empties: [] }
  for (const { op, target } of redirects) {
    if (!op.includes('>') || /^&?\d+-?$/.test(target) || target === '-') continue
    if (op === '<>' || op === '>>' || op === '&>>') found.writes.push(target)
    else if (isNothing(simple)) found.empties.push(target)
    else found.writes.push(target)
  }
  FILE_ARGUMENTS.get(name)?.(simple, found)
  if (/^(?:curl|wget|http|https|xh|git)$/.test(name)) return found
  if (
    !/^(?:grep|egrep|fgrep|rg|ps|ls|sort|find|mount|set|read|test|\[|ssh|scp|jq|echo|printf|pgrep|lsof|kubectl|docker|pytest|df|du)$/.test(
      name,
    )
  )
    found.writes.push(...valuesOf(args, OUTPUT))
  return found
}

/** It writes nothing, so the file is empty afterwards. */
const isNothing = ({ name, args, from }: SimpleCommand): boolean =>
  from.length === 0 &&
  (/^(?::|true|false|)$/.test(name) ||
    (name === 'cat' && args.length > 0 && args.every(arg => arg === '/dev/null')) ||
    ((name === 'echo' || name === 'printf') &&
      args.every(arg => /^-[neE]+$|^$/.test(arg)) &&
      (name === 'printf' || args.some(arg => /^-\w*n/.test(arg)))))

/** Programs whose arguments are not files they read. */
const PROSE =
  /^(?:echo|printf|git|say|notify-send|figlet|gh|export|declare|local|test|\[|\[\[|expr|seq|read|set|alias|trap|eval)$/

/** Files that it opens for reading, as far as its arguments show. */
export const readsOf = (simple: SimpleCommand): string[] => {
  const { name, args, redirects } = simple
  const inputs = redirects.flatMap(({ op, target }) => (op === '<' || op === '<>' ? [target] : []))
  if (name === 'curl') return [...inputs, ...readCurl(simple).reads]
  if (name === 'wget') return [...inputs, ...readWget(simple).reads]
  if (name === 'git')
    return [
      ...inputs,
      ...(/^(?:add|diff|show|grep|hash-object|blame)$/.test(readGit(args).sub)
        ? args.filter(
            arg =>
              !arg.startsWith('-') &&
              /\.env|\.ssh|\.aws/.test(arg) &&
              /--no-index|hash-object|add/.test(args.join(' ')),
          )
        : []),
    ]
  if (PROSE.test(name)) return inputs
  return [...inputs, ...args]
}
