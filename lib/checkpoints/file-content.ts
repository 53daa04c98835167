/** One file of the disk, read and put back exactly: bytes, permissions, symlinks as what they are. */
import { randomBytes } from 'node:crypto'
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
import { messageOf, UserError } from '../errors.ts'
import { codeOf } from '../store/file-error.ts'
import { type Bounds, type Held, hold, openHeld } from '../store/dir-handle.ts'
import type { Version } from './record.ts'

export type Content = { kind: Version['kind']; perm: number; bytes: Buffer }

/** What stands at a place: a file or symlink, nothing, or something that is not ours to touch, with a sentence. */
export type Found = { content: Content | null } | { problem: string; isFolder?: true }

const ABSENT = new Set(['ENOENT', 'ENOTDIR'])

const holdExactly = (bounds: Bounds, path: string, make: boolean): Held => {
  const held = hold(bounds, path, { link: true, ...(make && { make: 'any' }) })
  // A folder above it has become a symlink: it is another place now.
  if (held.path === path) return held
  held[Symbol.dispose]()
  throw new UserError('conflict', 'a folder above it leads elsewhere now')
}

const readHeldFile = (held: Held, mostBytes: number): Found => {
  const stat = lstatSync(held.at)
  if (stat.isSymbolicLink())
    return {
      content: { kind: 'link', perm: 0, bytes: readlinkSync(held.at, { encoding: 'buffer' }) },
    }
  if (stat.isDirectory()) return { problem: 'there is a folder of this name', isFolder: true }
  if (!stat.isFile()) return { problem: 'it is no ordinary file' }
  const fd = openHeld(held)
  try {
    const { size, mode } = fstatSync(fd)
    if (size > mostBytes)
      return { problem: `it is larger than ${Math.round(mostBytes / 1024 / 1024)} MB` }
    return { content: { kind: 'file', perm: mode & 0o7777, bytes: readFileSync(fd) } }
  } finally {
    closeSync(fd)
  }
}

/** `path` relative to the bounds' root. Never throws: what cannot be read is a problem with a sentence. */
export const readContent = (bounds: Bounds, path: string, mostBytes = Infinity): Found => {
  try {
    using held = holdExactly(bounds, path, false)
    return readHeldFile(held, mostBytes)
  } catch (error) {
    if (ABSENT.has(codeOf(error))) return { content: null }
    if (error instanceof UserError && error.kind === 'missing')
      return { problem: 'it lies outside of the workspace now, or is protected' }
    return { problem: messageOf(error) }
  }
}

const beside = (held: Held): string =>
  held.beside(`.agent-webui-${randomBytes(6).toString('hex')}.tmp`)

const writeBeside = (held: Held, { kind, perm, bytes }: Content): string => {
  const temporary = beside(held)
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

/** Whole or not at all; missing folders above it are made. Throws a sentence or the system's error. */
export const writeContent = (bounds: Bounds, path: string, content: Content): void => {
  using held = holdExactly(bounds, path, true)
  const temporary = writeBeside(held, content)
  try {
    renameSync(temporary, held.at)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  held.sync()
}

/** Nothing there is fine. */
export const removeContent = (bounds: Bounds, path: string): void => {
  try {
    using held = holdExactly(bounds, path, false)
    unlinkSync(held.at)
    held.sync()
  } catch (error) {
    if (!ABSENT.has(codeOf(error))) throw error
  }
}

/** Only an empty one. */
export const removeFolder = (bounds: Bounds, path: string): void => {
  try {
    using held = holdExactly(bounds, path, false)
    rmdirSync(held.at)
  } catch {
    // Not empty, or gone: then it is not ours to remove.
  }
}

export const makeFolder = (bounds: Bounds, path: string): void => {
  using held = holdExactly(bounds, path, true)
  try {
    mkdirSync(held.at)
  } catch (error) {
    // Somebody was faster.
    if (codeOf(error) !== 'EEXIST') throw error
  }
}
