/** Finds a program on a search path. Uses Node: not for the page. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** Full path of the first executable file of that name; directories relative to the working directory are skipped. */
export const findProgram = (path: string, name: string): string | undefined =>
  path
    .split(delimiter)
    .filter(isAbsolute)
    .map(dir => join(dir, name))
    .find(isExecutable)

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // Missing, or not executable by this user.
    return false
  }
}
