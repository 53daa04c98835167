/** What is in a directory, where one that is absent, closed, or being deleted has nothing. */
import { type Dirent, readdirSync, statSync } from 'node:fs'

export const namesIn = (dir: string): string[] => {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

export const entriesIn = (dir: string): Dirent[] => {
  try {
    return readdirSync(dir, { withFileTypes: true })
  } catch {
    return []
  }
}

/** Follows links. False also for what cannot be looked at. */
export const isDirectory = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    return false
  }
}
