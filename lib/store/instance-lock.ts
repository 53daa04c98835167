/** One server per state directory: a lock that is released when its process ends for any reason. */
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writeAtomic } from './atomic-write.ts'
import { openDatabase } from './sqlite.ts'
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

export type InstanceLock = {
  /** Writes the information that other processes read about this instance. */
  announce(info: InstanceInfo): void
  /** Of an instance that ended without an end in order: what its commands are marked with. */
  readonly killedRun: string | undefined
  release(): void
}

const noteOf = (stateDir: string): Partial<InstanceInfo> => {
  try {
    return JSON.parse(readWholeText(join(stateDir, 'instance.json')))
  } catch {
    // No instance, or a damaged file.
    return {}
  }
}

/** The process id of the running instance; undefined when none runs or its file is unreadable. */
export const runningPid = (stateDir: string): number | undefined => {
  const { pid } = noteOf(stateDir)
  return Number.isInteger(pid) ? pid : undefined
}

/** What the commands of the instance are marked with that runs here, or was killed here. */
export const runOf = (stateDir: string): string | undefined => {
  const { run } = noteOf(stateDir)
  return typeof run === 'string' ? run : undefined
}

const holderOf = (file: string): string => {
  try {
    const { pid, address } = JSON.parse(readWholeText(file)) as Partial<InstanceInfo>
    return ` (process ${Number(pid)}, ${String(address).slice(0, 200)})`
  } catch {
    // Only part of the message, and the holder may not have written it yet.
    return ''
  }
}

const isFull = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['SQLITE_FULL', 'ENOSPC', 'EDQUOT'].includes(String(error.code))

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')

export const lockPath = (stateDir: string): string => join(stateDir, 'instance.lock')

/**
 * Takes the lock or throws an Error with a sentence. `timeoutMs`: how long to wait for a holder that is exiting, as when
 * the server restarts itself.
 *
 * No other code in this process may open `instance.lock`: closing any descriptor of a file drops all POSIX locks the
 * process has on it. Therefore the readable information is in `instance.json` beside it.
 */
export const acquireLock = (
  stateDir: string,
  info: InstanceInfo,
  { timeoutMs = 0, addon }: { timeoutMs?: number; addon?: string | undefined } = {},
): InstanceLock => {
  const note = join(stateDir, 'instance.json')
  const path = lockPath(stateDir)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found && !found.isFile())
    throw new Error(`${path} is not a regular file. Delete it and start again.`)
  const open = () => {
    const db = openDatabase(path, {
      timeoutMs,
      addon,
      pragmas: ['locking_mode = EXCLUSIVE'],
    })
    try {
      db.exec('BEGIN EXCLUSIVE')
    } catch (error) {
      db.close()
      throw error
    }
    return db
  }
  try {
    const db = open()
    // After a power cut, the process that it describes has ended.
    const announce = (now: InstanceInfo) => writeAtomic(note, JSON.stringify(now), { sync: false })
    const killedRun = runOf(stateDir)
    announce(info)
    return {
      announce,
      killedRun,
      release() {
        if (!db.open) return
        rmSync(note, { force: true })
        db.close()
      },
    }
  } catch (error) {
    if (isFull(error))
      throw new Error(`The disk that holds ${stateDir} is full; free some space`, { cause: error })
    if (!isBusy(error)) throw error
    throw new Error(
      `Another agent-webui${holderOf(note)} is using ${stateDir}; stop it, or set AGENT_WEBUI_STATE_DIR to a directory of its own`,
      { cause: error },
    )
  }
}
