/** Folders of which a repository has files, by its index. */
import { statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { isBelow } from '../store/path-within.ts'
import { readWhole } from '../store/read-text.ts'

/** Of an index that is looked at. */
const MAX_BYTES = 64 << 20

const SLASH = 0x2f

/** Whether a path begins with this: not that of a folder of the same name in another one. */
const hasPath = (index: Buffer, name: string): boolean => {
  for (let at = index.indexOf(name); at >= 0; at = index.indexOf(name, at + 1))
    if (index[at - 1] !== SLASH) return true
  return false
}

export class TrackedFolders {
  readonly #top: string
  /** By the state of the index. */
  readonly #states = new Map<string, { stamp: string; isTracked: boolean }>()

  /** Repositories above `top` do not count. */
  constructor(top: string) {
    this.#top = top
  }

  has(dir: string): boolean {
    for (let root = dirname(dir); isBelow(this.#top, root); root = dirname(root)) {
      const index = join(root, '.git', 'index')
      const stat = statSync(index, { throwIfNoEntry: false })
      if (stat?.isFile() && stat.size <= MAX_BYTES)
        return this.#isIn(index, `${stat.mtimeMs}:${stat.size}`, dir, root)
      if (root === dirname(root)) break
    }
    return false
  }

  #isIn(index: string, stamp: string, dir: string, root: string): boolean {
    const before = this.#states.get(dir)
    if (before?.stamp === stamp) return before.isTracked
    // Its paths are there as they are, one after the other (gitformat-index, versions 2 and 3).
    const name = `${relative(root, dir).split(sep).join('/')}/`
    let isTracked = false
    try {
      isTracked = hasPath(readWhole(index), name)
    } catch {
      // Replaced at this moment, or not readable: the next look knows.
    }
    this.#states.set(dir, { stamp, isTracked })
    return isTracked
  }
}
