/**
 * A program like sandbox-exec of macOS, for tests: reads its command line and the profile strictly, records the call, and
 * becomes the program, without confining it.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { findProgram } from '../../../../lib/base/find-program.ts'
import { createPolicy, parseCall } from './_seatbelt.ts'

const [, , dir = '', ...args] = process.argv

const fail = (text: string): never => {
  process.stderr.write(`sandbox-exec: ${text}\n`)
  process.exit(65)
}

try {
  const refusal = readFileSync(`${dir}/refusal`, { encoding: 'utf8' })
  if (refusal !== '') fail(refusal)
  const call = parseCall(args)
  createPolicy(call)
  const [program = '', ...rest] = call.program
  const file = program.startsWith('/')
    ? program
    : (findProgram(process.env.PATH ?? '', program) ?? fail(`execvp() of '${program}' failed`))
  appendFileSync(`${dir}/calls.jsonl`, `${JSON.stringify({ pid: process.pid, args })}\n`)
  process.execve?.(file, [program, ...rest], process.env)
} catch (error) {
  fail(String(error))
}
