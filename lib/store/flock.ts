/** A lock between processes, shared with the host agent: flock(1) on a lock file, or a marker file where flock is missing. */
import { isAlive } from '../base/is-alive.ts'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '../errors.ts'
import { errorCode } from './file-error.ts'
import { makeDir } from './make-dir.ts'
import { appendText, readWholeText } from './read-text.ts'

export type FileLockOptions = {
  /** How long to wait for the lock; 0 tries once. */
  timeoutMs: number
  /** The flock program; tests name one that does not exist. */
  flock?: string
}

type Release = () => Promise<void>

const RETRY_MS = 20
/** How long the helper process may take to start and report a free lock. */
const START_MS = 2_000

/** Distinguishes our markers from those of an earlier process with the same pid (in a container it is always 1). */
const SELF = `${process.pid} ${randomBytes(8).toString('hex')}`

/** Error codes of opening a socket, a pipe, a device or a folder. */
const NOT_A_FILE_CODES = new Set(['ENXIO', 'ENOTSUP', 'EISDIR'])

/** Creates the lock file, private and empty. */
const touch = (path: string): void => {
  makeDir(dirname(path))
  try {
    appendText(path, '')
  } catch (error) {
    if (!NOT_A_FILE_CODES.has(errorCode(error))) throw error
    throw unavailable(`${path} is not a regular file. Delete it and try again.`)
  }
}

/**
 * `flock <path> cat` holds the lock while its stdin is open: until we close it, or until this process ends for any reason.
 * The echo of `cat` reports that the lock is held. Null: the program does not exist; undefined: the lock is taken.
 */
const lockWithFlock = (path: string, program: string, timeoutMs: number) =>
  new Promise<Release | null | undefined>((resolve, reject) => {
    // In its own process group: Ctrl+C in the terminal must not release the lock during a write.
    const child = spawn(program, [timeoutMs === 0 ? '-xn' : '-x', path, 'cat'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    })
    const ended = new Promise<number | null>(done => child.once('close', done))
    let isLate = false
    const timer = setTimeout(
      () => {
        isLate = true
        child.kill()
        child.stdin.destroy()
      },
      Math.max(timeoutMs, START_MS),
    )
    child.once('error', error => {
      clearTimeout(timer)
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'EACCES') resolve(null)
      else reject(error)
    })
    // EPIPE: the helper exited before it read the input; `ended` handles it.
    child.stdin.on('error', () => child.kill())
    child.stdout.once('data', () => {
      // The helper was told to end, and the lock with it.
      if (isLate) return
      clearTimeout(timer)
      resolve(async () => {
        child.stdin.end()
        await ended
      })
    })
    void ended.then(code => {
      clearTimeout(timer)
      if (isLate || (timeoutMs === 0 && code === 1)) resolve(undefined)
      else reject(new Error(`${program} could not lock ${path}`))
    })
    child.stdin.write('\n')
  })

const isStale = (mark: string): boolean => {
  if (mark === SELF) return false
  const pid = Number(mark.split(' ', 1)[0])
  return !Number.isInteger(pid) || pid <= 0 || pid === process.pid || !isAlive(pid)
}

const readMarker = (path: string): string | undefined => {
  try {
    return readWholeText(path)
  } catch {
    // Released since we failed to create it.
    return undefined
  }
}

/** Removes the marker of a dead process; true when the name may be free now. */
const removeStale = (path: string, mark: string): boolean => {
  const aside = `${path}.${randomBytes(6).toString('hex')}`
  try {
    renameSync(path, aside)
  } catch {
    // Another process removed it first.
    return true
  }
  // Check the content after the move: a live marker created in between is moved back.
  const isStillStale = readMarker(aside) === mark
  if (!isStillStale) linkSync(aside, path)
  rmSync(aside, { force: true })
  return isStillStale
}

/** Creates the marker atomically: written under another name and linked, so that it is never read half written. */
const createMarker = (path: string): boolean => {
  const mine = `${path}.${randomBytes(6).toString('hex')}`
  writeFileSync(mine, SELF, { mode: 0o600 })
  try {
    linkSync(mine, path)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  } finally {
    rmSync(mine, { force: true })
  }
}

/** For machines without flock(1). The host agent does not see this lock, so a writer also rereads and renames. */
const lockWithMarker = async (path: string, timeoutMs: number): Promise<Release | undefined> => {
  const until = performance.now() + timeoutMs
  for (;;) {
    if (createMarker(path)) {
      return async () => rmSync(path, { force: true })
    }
    const mark = readMarker(path)
    if (mark === undefined || (isStale(mark) && removeStale(path, mark))) continue
    if (performance.now() >= until) return undefined
    await sleep(RETRY_MS)
  }
}

/**
 * Runs `work` while holding the lock on `path` (for example `MEMORY.md.lock`). The file is created when missing and stays.
 * Throws `unavailable` (503) when the lock is not free within `timeoutMs`. Not reentrant: taking it again in `work` deadlocks.
 */
export const withFileLock = async <T>(
  path: string,
  { timeoutMs, flock = 'flock' }: FileLockOptions,
  work: () => T | Promise<T>,
): Promise<T> => {
  touch(path)
  const unlock = await lockWithFlock(path, flock, timeoutMs)
  const release = unlock === null ? await lockWithMarker(`${path}.own`, timeoutMs) : unlock
  if (!release)
    throw unavailable('Another program is writing this file. Try again in a moment.', {
      code: 'file_in_use',
    })
  try {
    return await work()
  } finally {
    await release()
  }
}
