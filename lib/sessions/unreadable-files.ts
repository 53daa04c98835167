/** Finds unreadable session files, for `doctor`. Opens nothing for writing. */
import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { idOfName, parseLines } from './files.ts'
import { toEntries } from './legacy.ts'
import { errorCode } from '../store/file-error.ts'
import { readWhole } from '../store/read-text.ts'

/** True when there are lines and every one is readable, which lines of a newer version are. */
const isReadable = (path: string): boolean => {
  if (!statSync(path).isFile()) return false
  if (path.endsWith('.json')) return toEntries('', readWhole(path)) !== null
  const lines = parseLines(path)
  return lines.length > 0 && !lines.includes(null)
}

const mayRead = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch (error) {
    return errorCode(error) !== 'EACCES'
  }
}

export type Survey = {
  looked: number
  /** Names of files with unreadable lines. */
  bad: string[]
  /** Names of files that this user may not read. */
  closed: string[]
  /** False when the time limit came first. */
  complete: boolean
}

/** Newest first, for at most `limitMs`. */
export const unreadableSessions = (dir: string, limitMs = 2_000): Survey => {
  const started = performance.now()
  const files = readdirSync(dir)
    .filter(name => idOfName(name) !== undefined)
    .map(name => ({ name, path: join(dir, name) }))
    .map(file => ({ ...file, at: statSync(file.path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((a, b) => b.at - a.at)
  const [bad, closed]: [string[], string[]] = [[], []]
  let looked = 0
  for (const { name, path } of files) {
    if (performance.now() - started > limitMs) break
    looked += 1
    if (!mayRead(path)) {
      closed.push(name)
      continue
    }
    try {
      if (!isReadable(path)) bad.push(name)
    } catch {
      // Deleted since it was listed, for example.
      bad.push(name)
    }
  }
  return { looked, bad, closed, complete: looked === files.length }
}
