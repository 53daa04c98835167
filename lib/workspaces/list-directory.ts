/** Lists a directory of a workspace, and tells which names that a text contains are entries of it, so that the page links only those. */
import { closeSync, constants, type Dirent, lstatSync, readdirSync, statSync } from 'node:fs'
import { isAbsolute, join, relative, sep } from 'node:path'
import { missing, UserError } from '../errors.ts'
import type { FileEntry, NamedEntry } from '../schema/workspace.ts'
import { errorCode, withUserErrors } from '../store/file-error.ts'
import { type DirHandle, openDirHandle, openEntry } from '../store/dir-handle.ts'
import { isInside, realPath, resolveInside } from '../store/path-within.ts'
import type { FileScope } from './file-scope.ts'

const MAX_ENTRIES = 200

export type Listing = {
  entries: FileEntry[]
  /** As requested. */
  path: string
  /** The number of names; `entries` has at most the first 200. */
  total: number
}

type DirEntry = { name: string; isDir: boolean; isLink: boolean }

/** Directories first, then by name without regard to case. */
const compareEntries = (a: DirEntry, b: DirEntry): number => {
  if (a.isDir !== b.isDir) return a.isDir ? -1 : 1
  const [left, right] = [a.name.toLowerCase(), b.name.toLowerCase()]
  if (left === right) return a.name < b.name ? -1 : 1
  return left < right ? -1 : 1
}

/** Through the directory that was checked: it cannot be another by now. */
const readNames = (dir: DirHandle): Dirent[] => {
  const fd = openEntry(dir, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    return readdirSync(dir.isAnchored ? `/proc/self/fd/${fd}` : dir.full, { withFileTypes: true })
  } finally {
    closeSync(fd)
  }
}

const sizeIn = (handle: DirHandle, name: string): number | null =>
  lstatSync(join(handle.at, name), { throwIfNoEntry: false })?.size ?? null

/** The target of a symlink inside the workspace; otherwise neither a directory nor a size. */
const followed = (area: FileScope, path: string) => {
  const nothing = { isDir: false, size: null }
  const target = realPath(path)
  if (!isInside(area.root, target) || area.isHidden(target)) return nothing
  try {
    const stat = statSync(target)
    return { isDir: stat.isDirectory(), size: stat.isFile() ? stat.size : null }
  } catch {
    // Dangling, or closed to us.
    return nothing
  }
}

/** `path` is relative to the workspace. Refuses as missing what is not there, is no directory, is hidden or leads outside. */
export const listDirectory = (area: FileScope, path: string): Listing => {
  try {
    using handle = openDirHandle(area, path || '.')
    const { root } = area
    const dir = handle.full
    const kinds = readNames(handle)
      .filter(entry => !area.isHidden(join(dir, entry.name)))
      .map((entry): DirEntry => {
        const isLink = entry.isSymbolicLink()
        const isDir = isLink ? followed(area, join(dir, entry.name)).isDir : entry.isDirectory()
        return { name: entry.name, isDir, isLink }
      })
      .sort(compareEntries)
    return {
      path,
      total: kinds.length,
      entries: kinds.slice(0, MAX_ENTRIES).map(({ name, isDir, isLink }) => ({
        name,
        path: relative(root, join(dir, name)).split(sep).join('/'),
        type: isDir ? 'dir' : 'file',
        size: isDir ? null : isLink ? followed(area, join(dir, name)).size : sizeIn(handle, name),
      })),
    }
  } catch (error) {
    if (errorCode(error) === '') throw error
    // Deleted, a file, or not readable: the caller learns no more.
    throw missing('Directory not found', { code: 'file_not_found' })
  }
}

const entryOf = (area: FileScope, input: string): NamedEntry | undefined => {
  // As the workspace itself may be reached through a symlink, absolute names are resolved first.
  const name = isAbsolute(input)
    ? relative(area.root, resolveInside(area.root, input)).split(sep).join('/')
    : input
  using handle = openDirHandle(area, name || '.')
  const stat = lstatSync(handle.at)
  if (stat.isDirectory())
    return { asked: input, path: handle.isRoot ? '' : handle.path, type: 'dir' }
  return stat.isFile() ? { asked: input, path: handle.path, type: 'file' } : undefined
}

/** Entries that exist, in the order of `names`. Everything hidden or outside the workspace is left out. */
export const resolveNames = (area: FileScope, names: readonly string[]): NamedEntry[] =>
  [...new Set(names)].flatMap(input => {
    try {
      return withUserErrors(() => entryOf(area, input)) ?? []
    } catch (error) {
      // Missing, outside, hidden, or a name that no file can have: not an entry.
      if (error instanceof UserError) return []
      throw error
    }
  })
