/** What a broken setup is, and ways to make one. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Machine, thisMachine } from '../../../lib/operations/checks/machine.ts'
import type { Desk } from './_run.ts'

/** Independent of the user that runs the tests. */
export const MACHINE: Machine = { ...thisMachine, isContainer: () => true }

export type Made = { env?: Record<string, string>; machine?: Partial<Machine> }
export type Setup = {
  name: string
  make: (desk: Desk, state: string) => Made | undefined
  /** Exit code of the start; none: it starts. 78: a new start would end the same way. */
  start?: 1 | 78
  /** Every finding that is not OK: level, what it is about, code. */
  doctor?: readonly string[]
}

export const put = (path: string, text: string): undefined =>
  void writeFileSync(path, text, { mode: 0o600 })
export const config = (text: string) => (desk: Desk) => void desk.config(text)
export const stateFile = (name: string, text: string) => (_: Desk, state: string) =>
  put(join(state, name), text)
export const env = (given: Record<string, string>) => (): Made => ({ env: given })
export const machine = (given: Partial<Machine>) => (): Made => ({ machine: given })

const systemError = (code: string) => Object.assign(new Error(`${code}: raw text`), { code })
/** Of paths that end with this name. */
export const failsAt = (name: string, code: string) => (path: string) =>
  path.endsWith(name) ? systemError(code) : null
export const other = 4_242

/** Programs of a directory that only the setup uses, before those of the system. */
export const withProgram = (dir: string, name: string, script: string): Record<string, string> => {
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { PATH: `${bin}:${process.env.PATH}` }
}
