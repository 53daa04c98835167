/** Reads and restores one file exactly: bytes and permissions, symlinks as symlinks. */
import {
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { messageOf, UserError } from '../../errors.ts'
import { errorCode } from '../../store/file-error.ts'
import { type Bounds, type DirHandle, openDirHandle, openEntry } from '../../store/dir-handle.ts'
import type { Version } from './records.ts'

export type Content = { kind: Version['kind']; perm: number; bytes: Buffer }

/** What a path contains: a file or symlink, nothing (`content` is null), or something that cannot be recorded, with a sentence. */
export type ReadResult = { content: Content | null } | { problem: string; isFolder?: true }

const ABSENT = new Set(['ENOENT', 'ENOTDIR'])

const openExactDirHandle = (bounds: Bounds, path: string, create: boolean): DirHandle => {
  const handle = openDirHandle(bounds, path, { link: true, create: create && 'any' })
  // A folder above it has become a symlink, so the path leads to another file now.
  if (handle.path === path) return handle
  handle[Symbol.dispose]()
  throw new UserError('conflict', 'a folder above it now leads elsewhere', {
    code: 'path_not_allowed',
  })
}

const readHandle = (handle: DirHandle, maxBytes: number): ReadResult => {
  const stat = lstatSync(handle.at)
  if (stat.isSymbolicLink())
    return {
      content: { kind: 'link', perm: 0, bytes: readlinkSync(handle.at, { encoding: 'buffer' }) },
    }
  if (stat.isDirectory()) return { problem: 'there is a folder with this name', isFolder: true }
  if (!stat.isFile()) return { problem: 'it is not a regular file' }
  const fd = openEntry(handle)
  try {
    const { size, mode } = fstatSync(fd)
    if (size > maxBytes)
      return { problem: `it is larger than ${Math.round(maxBytes / 1024 / 1024)} MB` }
    return { content: { kind: 'file', perm: mode & 0o7777, bytes: readFileSync(fd) } }
  } finally {
    closeSync(fd)
  }
}

/** `path` is relative to the root of `bounds`. Never throws: an unreadable file is a problem with a sentence. */
export const readContent = (bounds: Bounds, path: string, maxBytes = Infinity): ReadResult => {
  try {
    using handle = openExactDirHandle(bounds, path, false)
    return readHandle(handle, maxBytes)
  } catch (error) {
    if (ABSENT.has(errorCode(error))) return { content: null }
    if (error instanceof UserError && error.kind === 'missing')
      return { problem: 'it is now outside the workspace, or protected' }
    return { problem: messageOf(error) }
  }
}

const writeTemporary = (handle: DirHandle, { kind, perm, bytes }: Content): string => {
  const temporary = handle.temporary()
  if (kind === 'link') {
    symlinkSync(bytes, temporary)
    return temporary
  }
  const fd = openSync(temporary, 'wx', 0o600)
  try {
    writeFileSync(fd, bytes)
    fchmodSync(fd, perm)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  return temporary
}

/** Writes atomically and creates missing parent folders. Throws a UserError or the system's error. */
export const writeContent = (bounds: Bounds, path: string, content: Content): void => {
  using handle = openExactDirHandle(bounds, path, true)
  const temporary = writeTemporary(handle, content)
  try {
    renameSync(temporary, handle.at)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  handle.sync()
}

/** Deletes a file or symlink. A missing one is not an error. */
export const removeContent = (bounds: Bounds, path: string): void => {
  try {
    using handle = openExactDirHandle(bounds, path, false)
    unlinkSync(handle.at)
    handle.sync()
  } catch (error) {
    if (!ABSENT.has(errorCode(error))) throw error
  }
}

/** Deletes a folder if it is empty. */
export const removeFolder = (bounds: Bounds, path: string): void => {
  try {
    using handle = openExactDirHandle(bounds, path, false)
    rmdirSync(handle.at)
  } catch {
    // Not empty, or already deleted.
  }
}

export const makeFolder = (bounds: Bounds, path: string): void => {
  using handle = openExactDirHandle(bounds, path, true)
  try {
    mkdirSync(handle.at)
  } catch (error) {
    // Another program created it at the same moment.
    if (errorCode(error) !== 'EEXIST') throw error
  }
}
