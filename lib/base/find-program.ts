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
  return places.find(isProgram)
}

/** A file that this user may execute. */
export const isProgram = (path: string): boolean => {
  try {
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // Not executable by this user, or out of reach.
    return false
  }
}
