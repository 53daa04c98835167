/** Finds out whether a file is one of others under a second name: a hard link leads nowhere, so its path says nothing. */
import { type Dirent, readdirSync, type Stats, statSync } from 'node:fs'
import { join, sep } from 'node:path'

/** As many entries are looked at; folders of the home come first. */
const MAX_ENTRIES = 20_000

/** Undefined where nothing can be looked at: missing, closed to us, links in a circle. */
export const statIfExists = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // The guards ask this of any path a model may name; none of them may fail over it.
    return undefined
  }
}

const entriesOf = (dir: string): Dirent[] => {
  try {
    return readdirSync(dir, { withFileTypes: true })
  } catch {
    // Gone while it was looked at.
    return []
  }
}

/** Of these files and folders (two stars stand for any folders between) the one that holds `place` under another name. */
export const findHardLink = (paths: readonly string[], place: string): string | undefined => {
  const file = statIfExists(place)
  if (!file?.isFile() || file.nlink < 2) return undefined
  let left = MAX_ENTRIES
  const holds = (path: string, stat: Stats | undefined, name?: string): boolean => {
    if (left-- <= 0 || stat?.dev !== file.dev) return false
    if (stat.isFile())
      return stat.ino === file.ino && (name === undefined || path.split(sep).includes(name))
    return (
      stat.isDirectory() &&
      entriesOf(path).some(entry => {
        const inner = join(path, entry.name)
        return !entry.isSymbolicLink() && holds(inner, statIfExists(inner), name)
      })
    )
  }
  return paths.find(path => {
    const [root = '', name] = path.split('/**/')
    return holds(root, statIfExists(root), name)
  })
}
