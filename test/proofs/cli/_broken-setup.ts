/** What a broken setup is, and ways to make one. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Machine, thisMachine } from '../../../lib/app/machine.ts'
import type { Level } from '../../../lib/cli/check.ts'
import type { Desk } from '../../lib/cli/_run.ts'

/** Independent of the user that runs the tests. */
export const MACHINE: Machine = { ...thisMachine, isContainer: () => true }

export type Made = { env?: Record<string, string>; machine?: Partial<Machine> }
export type Line = readonly [level: Exclude<Level, 'ok'>, about: string, said: RegExp]
export type Setup = {
  name: string
  make: (desk: Desk, state: string) => Made | undefined
  /** Of the start; none: it starts. */
  start?: RegExp
  /** Every line of doctor that is not OK. */
  doctor?: readonly Line[]
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
