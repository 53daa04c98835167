/** Detects hard links to protected files: the path of a hard link does not reveal its target. */
import { type Dirent, readdirSync, type Stats, statSync } from 'node:fs'
import { join, sep } from 'node:path'

/** Directory entries examined at most. */
const MAX_ENTRIES = 20_000

/** Undefined for missing or inaccessible files and for symlink loops. */
export const statIfExists = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // Guards call this with any path a model names and must not throw.
    return undefined
  }
}

const entriesOf = (dir: string): Dirent[] => {
  try {
    return readdirSync(dir, { withFileTypes: true })
  } catch {
    // Deleted during the scan.
    return []
  }
}

/** The first of these files and folders (`**` matches any folders) that contains a hard link to `target`. */
export const findHardLink = (paths: readonly string[], target: string): string | undefined => {
  const file = statIfExists(target)
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
