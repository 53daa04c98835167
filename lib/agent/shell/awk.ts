/** Classifies awk programs: the commands they run and the files they write. */
import { OUTSIDE, UNCLEAR } from './labels.ts'
import type { AddFinding } from './path-effects.ts'
import type { SimpleCommand } from './types.ts'

const AWK_RUNS = /\bsystem\s*\(|\|\s*&?\s*getline|\bgetline\b|\|&|@load|@include/

/** Awk runs commands with `system()` and pipes, and writes files with `>`. */
export const classifyAwk = ({ args }: SimpleCommand, addFinding: AddFinding): unknown => {
  const values = /^(?:-F|-v|--field-separator|--assign|-f|--file)$/
  if (args.some(arg => /^(?:-\w*f|--file)/.test(arg))) addFinding(UNCLEAR, { isUnclear: true })
  const program = args.find((arg, at) => !/^-./.test(arg) && !values.test(args[at - 1] ?? ''))
  if (program === undefined) return
  if (/^[\0\u0001]/.test(program)) return addFinding(UNCLEAR, { isUnclear: true })
  const plain = program.replace(/\\./g, '_')
  if (AWK_RUNS.test(plain)) addFinding('program starts another command')
  const bare = plain
    .replace(/"[^"]*"/g, '""')
    .replace(/(^|[\s,(!~&|{;])\/[^/\n]*\//g, '$1R')
    .replace(/\|\|/g, ' ')
  if (/\|/.test(bare)) addFinding('program starts another command')
  else if (/\bprintf?\b[^;}\n]*>/.test(bare.replace(/\([^()]*\)/g, ''))) addFinding(OUTSIDE)
}
