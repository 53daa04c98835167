/** Detects hard links to protected files: the path of a hard link does not reveal its target. */
import { type Stats, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { entriesIn } from '../base/directories.ts'

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

/** The hard links in files and folders, of which `**` matches any folders. */
export class HardLinks {
  readonly #paths: readonly string[]
  /** Read once for each file system of which a file is asked for: a link leads to the same one. */
  readonly #byDevice = new Map<number, Map<number, string>>()

  constructor(paths: readonly string[]) {
    this.#paths = paths
  }

  /** The first of the paths that contains a hard link to `target`. */
  find(target: string): string | undefined {
    const file = statIfExists(target)
    if (!file?.isFile() || file.nlink < 2) return undefined
    const inodes = this.#byDevice.get(file.dev) ?? readInodes(this.#paths, file.dev)
    this.#byDevice.set(file.dev, inodes)
    return inodes.get(file.ino)
  }
}

/** Inode → the first path that contains it. */
const readInodes = (paths: readonly string[], device: number): Map<number, string> => {
  const inodes = new Map<number, string>()
  let entriesLeft = MAX_ENTRIES
  const read = (from: string, path: string, name?: string): void => {
    const stat = entriesLeft-- > 0 ? statIfExists(path) : undefined
    if (stat?.dev !== device) return
    if (stat.isFile()) {
      const isWanted = name === undefined || path.split(sep).includes(name)
      if (isWanted && !inodes.has(stat.ino)) inodes.set(stat.ino, from)
    } else if (stat.isDirectory())
      for (const entry of entriesIn(path))
        if (!entry.isSymbolicLink()) read(from, join(path, entry.name), name)
  }
  for (const path of paths) {
    const [root = '', name] = path.split('/**/')
    read(path, root, name)
  }
  return inodes
}

export const findHardLink = (paths: readonly string[], target: string): string | undefined =>
  new HardLinks(paths).find(target)
