/** One server per state directory: a lock that is released when its process ends for any reason. */
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fieldsOf } from '../base/json.ts'
import { writeAtomic } from './atomic-write.ts'
import { type Database, isBusy, openDatabase } from './sqlite.ts'
import { errorCode } from './file-error.ts'
import { readWholeText } from './read-text.ts'

export type InstanceInfo = {
  pid: number
  /** Its URL, for the error message of a second instance. */
  address: string
  /** Seconds since 1970. */
  started_at: number
  /** What its commands are marked with. */
  run?: string
}

const noteOf = (stateDir: string): Partial<Record<keyof InstanceInfo, unknown>> => {
  try {
    return fieldsOf(readWholeText(join(stateDir, 'instance.json')))
  } catch {
    // No instance.
    return {}
  }
}

/** The process id of the running instance; undefined when none runs or its file is unreadable. */
export const runningPid = (stateDir: string): number | undefined => {
  const { pid } = noteOf(stateDir)
  return typeof pid === 'number' && Number.isInteger(pid) ? pid : undefined
}

/** What the commands of the instance are marked with that runs here, or was killed here. */
export const runOf = (stateDir: string): string | undefined => {
  const { run } = noteOf(stateDir)
  return typeof run === 'string' ? run : undefined
}

/** The URL that the running instance announced; null without one. */
export const announcedAddress = (stateDir: string): string | null => {
  const { address } = noteOf(stateDir)
  return typeof address === 'string' && URL.canParse(address) ? address : null
}

/** Part of a message; the holder may not have written its note yet. */
const holderOf = (stateDir: string): string => {
  const { pid, address } = noteOf(stateDir)
  return pid === undefined ? '' : ` (process ${Number(pid)}, ${String(address).slice(0, 200)})`
}

const FULL = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT'])

export const lockPath = (stateDir: string): string => join(stateDir, 'instance.lock')

const openLocked = (path: string, timeoutMs: number, addon: string | undefined): Database => {
  const db = openDatabase(path, { timeoutMs, addon, pragmas: ['locking_mode = EXCLUSIVE'] })
  try {
    db.exec('BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * No other code in this process may open `instance.lock`: closing any descriptor of a file drops all POSIX locks the
 * process has on it. Therefore the readable information is in `instance.json` beside it.
 */
export class InstanceLock {
  readonly #db: Database
  readonly #note: string
  /** Of an instance that ended without an end in order: what its commands are marked with. */
  readonly killedRun: string | undefined

  /**
   * Takes the lock or throws an Error with a sentence. `timeoutMs`: how long to wait for a holder that is exiting, as when
   * the server restarts itself.
   */
  constructor(
    stateDir: string,
    info: InstanceInfo,
    { timeoutMs = 0, addon }: { timeoutMs?: number; addon?: string | undefined } = {},
  ) {
    this.#note = join(stateDir, 'instance.json')
    const path = lockPath(stateDir)
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats && !stats.isFile())
      throw new Error(`${path} is not a regular file. Delete it and start again.`)
    try {
      this.#db = openLocked(path, timeoutMs, addon)
      this.killedRun = runOf(stateDir)
      this.announce(info)
    } catch (error) {
      if (FULL.has(errorCode(error)))
        throw new Error(`The disk that holds ${stateDir} is full; free some space`, {
          cause: error,
        })
      if (!isBusy(error)) throw error
      throw new Error(
        `Another agent-webui${holderOf(stateDir)} is using ${stateDir}; stop it, or set AGENT_WEBUI_STATE_DIR to a directory of its own`,
        { cause: error },
      )
    }
  }

  /** Writes the information that other processes read about this instance. After a power cut, the process that it describes has ended. */
  announce(info: InstanceInfo): void {
    writeAtomic(this.#note, JSON.stringify(info), { sync: false })
  }

  release(): void {
    if (!this.#db.open) return
    rmSync(this.#note, { force: true })
    this.#db.close()
  }
}
