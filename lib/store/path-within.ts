/** Answers "is this path inside that root" for the disk as it is: symlinks resolved, dangling ones included. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { missing } from '../errors.ts'

const MAX_LINKS = 40

/**
 * Where a path really leads. What does not exist yet keeps its name below its real parent; a dangling symlink
 * counts as the place it points to, because that is where a write would go.
 */
export const realPath = (path: string, links = 0): string => {
  const full = resolve(path)
  try {
    return realpathSync.native(full)
  } catch {
    // Missing, dangling or unreadable: resolve as far as the disk allows, one name at a time.
  }
  const parent = dirname(full)
  if (parent === full) return full
  const place = join(realPath(parent, links), basename(full))
  const target = links < MAX_LINKS ? linkTarget(place) : null
  return target === null ? place : realPath(resolve(dirname(place), target), links + 1)
}

const linkTarget = (path: string): string | null => {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null
  } catch {
    // Nothing there: it is simply a name that may be created.
    return null
  }
}

/** True for the root itself and everything below it, both taken at their real place. */
export const isInside = (root: string, path: string): boolean => {
  const way = relative(realPath(root), realPath(path))
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/**
 * The real place of `path`, read relative to `root`; it need not exist yet.
 * Refuses as missing what leads outside: whoever asks learns nothing about the rest of the disk.
 */
export const resolveInside = (root: string, path: string): string => {
  if (path.includes('\0')) throw missing('Path not found', { code: 'file_not_found' })
  const full = realPath(resolve(realPath(root), path))
  if (!isInside(root, full)) throw missing('Path not found', { code: 'file_not_found' })
  return full
}
