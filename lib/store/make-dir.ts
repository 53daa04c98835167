/** Creates a directory and its parents. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from './file-error.ts'

const isDirectory = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

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
