/** Creates a directory and its parents. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDirectory } from '../base/directories.ts'
import { errorCode } from './file-error.ts'

/**
 * Like `mkdir -p`. Node's recursive mkdir loops forever where the system returns ENOENT for a name below an existing
 * directory, as in /proc.
 */
export const makeDir = (path: string, mode = 0o700): void => {
  if (isDirectory(path)) return
  const parent = dirname(path)
  if (parent !== path) makeDir(parent, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' || !isDirectory(path)) throw error
  }
}
