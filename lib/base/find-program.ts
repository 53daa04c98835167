/** Finds a program on a search path. Uses Node: not for the page. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/**
 * Path of the first executable file of that name; directories relative to the working directory are skipped. A name with
 * a slash is a path itself, as for a shell.
 */
export const findProgram = (path: string, name: string): string | undefined => {
  const places = name.includes('/')
    ? [name]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map(dir => join(dir, name))
  return places.find(isExecutable)
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // Missing, or not executable by this user.
    return false
  }
}
