/** What the checks of a start ask the system, so that tests can describe a machine that they do not run on. */
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import type { Ripgrep } from '../../agent/search/ripgrep.ts'
import { systemClock } from '../../base/clock.ts'
import type { Availability } from '../../commands/sandbox/availability.ts'

export type Machine = {
  /** Undefined where the system has no numeric users. */
  uid: number | undefined
  clock: { now(): number }
  /** When the program was built or installed, in milliseconds since 1970. */
  programAt: () => number
  /** The error of reading, writing, and searching this directory; null when all of it is allowed. */
  accessError: (directory: string) => unknown
  /** The error of reading and writing this file; null when both are allowed. */
  fileError: (path: string) => unknown
  ownerOf: (path: string) => number
  /** Bytes that this user may still write on the disk of this path; null where nothing can be stored, as in /proc. */
  freeBytes: (path: string) => number | null
  /** How many files the process may open at the same time; null where it is not known. */
  openFileLimit: () => number | null
  isContainer: () => boolean
  /** Starts a program in a sandbox. */
  sandbox: (env: Readonly<Record<string, string>>) => Promise<Availability>
  /** Starts ripgrep for its version; null where none is new enough. */
  ripgrep: (path: string) => Promise<Ripgrep | null>
}

const openFileLimit = (): number | null => {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const soft = /^Max open files +(\d+)/m.exec(limits)?.[1]
    return soft === undefined ? null : Number(soft)
  } catch {
    // No /proc: macOS.
    return null
  }
}

const access = (path: string, mode: number): unknown => {
  try {
    accessSync(path, mode)
    return null
  } catch (error) {
    return error
  }
}

export const thisMachine: Machine = {
  uid: process.getuid?.(),
  clock: systemClock,
  programAt: () =>
    statSync(process.argv[1] ?? process.execPath, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  accessError: directory => access(directory, constants.R_OK | constants.W_OK | constants.X_OK),
  fileError: path => access(path, constants.R_OK | constants.W_OK),
  ownerOf: path => statSync(path).uid,
  freeBytes(path) {
    const { bavail, blocks, bsize } = statfsSync(path)
    return blocks === 0 ? null : bavail * bsize
  },
  openFileLimit,
  isContainer: () => existsSync('/.dockerenv') || existsSync('/run/.containerenv'),
  // A start asks for neither, and does not load them.
  sandbox: async env => (await import('../../commands/sandbox/availability.ts')).checkSandbox(env),
  ripgrep: async path => (await import('../../agent/search/ripgrep.ts')).findRipgrep(path),
}
