/** Checks the directory that a client names for a session. */
import { isAbsolute } from 'node:path'
import { isDirectory } from '../base/directories.ts'
import { invalid } from '../errors.ts'

/** Returns the path. Throws a 400 unless it is the absolute path of a directory; `field` names the parameter. */
export const requireDirectory = (path: string, field: string): string => {
  const label = JSON.stringify(path.slice(0, 300))
  if (!isAbsolute(path)) throw invalid(`${field} must be an absolute path, not ${label}.`)
  if (!isDirectory(path)) throw invalid(`${field} is not a directory: ${label}`)
  return path
}
