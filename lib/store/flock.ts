/** A lock between processes that the command-line client takes as well: flock(1) on a lock file, or a file of our own where there is no flock. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '../errors.ts'
import { makeDir } from './make-dir.ts'
import { appendText, readWholeText } from './read-text.ts'

export type FileLockOptions = {
  /** How long to wait for whoever holds it; 0 tries once. */
  timeoutMs: number
  /** The program; tests name one that is not there. */
  flock?: string
}

type Release = () => Promise<void>

const RETRY_MS = 20
/** How long the helper may take to say that it holds a free lock: a process has to start. */
const START_MS = 2_000

/** Tells our own marks from those of an earlier process with the same number (in a container it is always 1). */
const SELF = `${process.pid} ${randomBytes(8).toString('hex')}`

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** Of a pipe, a socket, a device, a folder. */
const NO_FILE = new Set(['ENXIO', 'ENOTSUP', 'EISDIR'])

/** Makes the file flock locks, private; its content says nothing. */
const touch = (path: string): void => {
  makeDir(dirname(path))
  try {
    appendText(path, '')
  } catch (error) {
    if (!NO_FILE.has(String(codeOf(error)))) throw error
    throw unavailable(`${path} is not an ordinary file. Remove it, and try again.`)
  }
}

/**
 * `flock <path> cat` holds the lock for as long as its input is open: until we close it, or until this process is
 * gone, however it ends. What `cat` gives back says that the lock is held. Null: there is no such program;
 * undefined: somebody else has it.
 */
const takeWithProgram = (path: string, program: string, timeoutMs: number) =>
  new Promise<Release | null | undefined>((resolve, reject) => {
    // A group of its own: Ctrl+C in the terminal must not take the lock away in the middle of a write.
    const child = spawn(program, [timeoutMs === 0 ? '-xn' : '-x', path, 'cat'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    })
    const ended = new Promise<number | null>(done => child.once('close', done))
    const timer = setTimeout(
      () => {
        child.kill()
        child.stdin.destroy()
        void ended.then(() => resolve(undefined))
      },
      Math.max(timeoutMs, START_MS),
    )
    child.once('error', error => {
      clearTimeout(timer)
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EACCES') resolve(null)
      else reject(error)
    })
    // A helper that is gone before it answered: `ended` says the rest.
    child.stdin.on('error', () => child.kill())
    child.stdout.once('data', () => {
      clearTimeout(timer)
      resolve(async () => {
        child.stdin.end()
        await ended
      })
    })
    void ended.then(code => {
      clearTimeout(timer)
      if (timeoutMs === 0 && code === 1) resolve(undefined)
      else reject(new Error(`${program} could not lock ${path}`))
    })
    child.stdin.write('\n')
  })

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Not allowed to signal it means that it is there.
    return codeOf(error) === 'EPERM'
  }
}

const isLeft = (mark: string): boolean => {
  if (mark === SELF) return false
  const pid = Number(mark.split(' ', 1)[0])
  return !Number.isInteger(pid) || pid <= 0 || pid === process.pid || !isAlive(pid)
}

const readMark = (path: string): string | undefined => {
  try {
    return readWholeText(path)
  } catch {
    // Released between our try and this look.
    return undefined
  }
}

/** Takes the mark of a dead process away; true when the name may be free now. */
const clearLeft = (path: string, mark: string): boolean => {
  const aside = `${path}.${randomBytes(6).toString('hex')}`
  try {
    renameSync(path, aside)
  } catch {
    // Somebody else was faster.
    return true
  }
  // Judged by its content after the move: a living one that came in between gets its place back.
  const isStillLeft = readMark(aside) === mark
  if (!isStillLeft) linkSync(aside, path)
  rmSync(aside, { force: true })
  return isStillLeft
}

/** Whole or not at all: written under another name and linked, so that nobody reads a mark half written. */
const putMark = (path: string): boolean => {
  const mine = `${path}.${randomBytes(6).toString('hex')}`
  writeFileSync(mine, SELF, { mode: 0o600 })
  try {
    linkSync(mine, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    rmSync(mine, { force: true })
  }
}

/** For machines without flock(1): the agent does not see it, so a writer also reads again and renames (decision 37). */
const takeOwn = async (path: string, timeoutMs: number): Promise<Release | undefined> => {
  const until = performance.now() + timeoutMs
  for (;;) {
    if (putMark(path)) {
      return async () => rmSync(path, { force: true })
    }
    const mark = readMark(path)
    if (mark === undefined || (isLeft(mark) && clearLeft(path, mark))) continue
    if (performance.now() >= until) return undefined
    await sleep(RETRY_MS)
  }
}

/**
 * Runs `work` while holding the lock on `path` (for example `MEMORY.md.lock`), which is made when missing and stays.
 * Refuses with 503 when somebody holds it longer than `timeoutMs`. Not re-entrant: the same lock inside `work` waits for itself.
 */
export const withFileLock = async <T>(
  path: string,
  { timeoutMs, flock = 'flock' }: FileLockOptions,
  work: () => T | Promise<T>,
): Promise<T> => {
  touch(path)
  const taken = await takeWithProgram(path, flock, timeoutMs)
  const release = taken === null ? await takeOwn(`${path}.own`, timeoutMs) : taken
  if (!release) throw unavailable('Another program is writing this file; try again in a moment')
  try {
    return await work()
  } finally {
    await release()
  }
}
