/** Checks whether a path is inside a root, with symlinks resolved, including dangling ones. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path'
import { missing, type UserError } from '../errors.ts'

const MAX_LINKS = 40

/**
 * Resolves all symlinks. A missing entry keeps its name below its real parent. A dangling symlink resolves to its target,
 * because a write would go there.
 */
export const realPath = (path: string, links = 0): string => {
  const full = resolve(path)
  const isThere = !isMissing(full)
  try {
    // The error for a missing entry costs as much as ten answers.
    if (isThere) return realpathSync.native(full)
  } catch {
    // Dangling or unreadable: resolve as far as the disk allows, one name at a time.
  }
  const parent = dirname(full)
  if (parent === full) return full
  const real = join(realPath(parent, links), basename(full))
  const target = isThere && links < MAX_LINKS ? linkTarget(real) : null
  return target === null ? real : realPath(resolve(dirname(real), target), links + 1)
}

/** Elsewhere the disk may have an entry under a name in other letters, which only `realPath` gives. */
const HAS_EXACT_NAMES = process.platform === 'linux'

/** `realPath` of each. A folder is resolved once, however many of its entries are asked for. */
export const realPaths = (paths: readonly string[]): string[] => {
  const folders = new Map<string, string>()
  return paths.map(path => {
    const full = resolve(path)
    if (!isPlain(full)) return realPath(full)
    const folder = dirname(full)
    const real = folders.get(folder) ?? realPath(folder)
    folders.set(folder, real)
    return join(real, basename(full))
  })
}

/** True when the name is that of an entry that is no link, or of none. */
const isPlain = (path: string): boolean => {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return !stats || (HAS_EXACT_NAMES && !stats.isSymbolicLink())
  } catch {
    // In a directory that cannot be entered, or no possible name.
    return false
  }
}

/** True when neither a file nor a link has this name. */
const isMissing = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined
  } catch {
    // In a directory that cannot be entered, or no possible name.
    return false
  }
}

const linkTarget = (path: string): string | null => {
  try {
    // Missing: a name that may be created.
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return stats?.isSymbolicLink() ? readlinkSync(path) : null
  } catch {
    // In a directory that cannot be entered.
    return null
  }
}

/**
 * Every entry that resolving a path passes, links included, each as its name below its real parent: what the path leads to
 * changes with any of them. The last one is the entry that the path leads to, which need not exist.
 */
export const passedEntries = (path: string): string[] => {
  const entries: string[] = []
  let [at, rest, links] = [parse(resolve(path)).root, resolve(path).split(sep), 0]
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === '..') at = dirname(at)
    if (name === '' || name === '.' || name === '..') continue
    const entry = join(at, name)
    entries.push(entry)
    const target = links < MAX_LINKS ? linkTarget(entry) : null
    if (target === null) at = entry
    else {
      links++
      if (isAbsolute(target)) at = parse(target).root
      rest = [...target.split(sep), ...rest]
    }
  }
  return entries
}

/** A path that is not absolute, or not in its shortest form. */
const UNRESOLVED = /^(?!\/)|\/\.{0,2}(?:\/|$)/

/** True for the root itself and everything below it. Both must be real paths. */
export const isBelow = (root: string, path: string): boolean => {
  // A step of a turn makes a thousand of these comparisons, and `relative` takes five times as long.
  if (!UNRESOLVED.test(root) && !UNRESOLVED.test(path))
    return path === root || path.startsWith(`${root}/`)
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** True for the root itself and everything below it. Compares real paths. */
export const isInside = (root: string, path: string): boolean =>
  isBelow(realPath(root), realPath(path))

const notFound = () => missing('Path not found', { code: 'file_not_found' })

/**
 * The real path of `path`, relative to `root`; it need not exist. Throws `outside()` for a path outside the root: by default
 * as if it were missing, so that a caller learns nothing about the rest of the disk.
 */
export const resolveInside = (
  root: string,
  path: string,
  outside: () => UserError = notFound,
): string => {
  if (path.includes('\0')) throw outside()
  const full = realPath(resolve(realPath(root), path))
  if (!isInside(root, full)) throw outside()
  return full
}

/**
 * The real path of what a program opens by this name: `..` after a link is the folder above its target, as for the kernel and
 * unlike for `path.resolve`.
 */
export const followPath = (cwd: string, path: string): string => {
  let at = isAbsolute(path) ? '/' : realPath(cwd)
  for (const part of path.split('/'))
    if (part === '..') at = dirname(at)
    else if (part !== '' && part !== '.') at = realPath(join(at, part))
  return at
}
