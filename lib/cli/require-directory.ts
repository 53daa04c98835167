/** Checks the directory that a client names for a session. */
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { invalid } from '../errors.ts'

const isDirectory = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    // Missing, not reachable, or not a possible path: a NUL byte, a name that is too long.
    return false
  }
}

/** Returns the path. Throws a 400 unless it is the absolute path of a directory; `field` names the parameter. */
export const requireDirectory = (path: string, field: string): string => {
  const shown = JSON.stringify(path.slice(0, 300))
  if (!isAbsolute(path)) throw invalid(`${field} must be an absolute path, not ${shown}.`)
  if (!isDirectory(path)) throw invalid(`${field} is not a directory: ${shown}`)
  return path
}
