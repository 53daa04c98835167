/** Reads, saves and creates text files of a workspace. A file that has changed since it was read is not overwritten. */
import { createHash, randomBytes } from 'node:crypto'
import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { conflict, invalid, missing } from '../errors.ts'
import { errorCode, withUserErrors } from '../store/file-error.ts'
import { validateName, type DirHandle, openDirHandle, openEntry } from '../store/dir-handle.ts'
import { copyOwner, overwriteFd } from '../store/write-in-place.ts'
import { readTextBytes } from '../store/text-bytes.ts'
import { rewriteText } from '../store/text-rewrite.ts'
import type { FileScope } from './file-scope.ts'
import { moveUnlessTaken } from './move-entries.ts'

/** Larger files are not shown as text. */
const MAX_TEXT_BYTES = 200_000
/** A NUL this early makes a file binary. */
const HEAD_BYTES = 8_192

export type TextFile = {
  path: string
  content: string
  size: number
  lines: number
  version: string
  binary?: true
}
export type SavedText = { path: string; size: number; version: string }

/** At most `most` bytes from the beginning. */
const readUpTo = (fd: number, most: number): Buffer => {
  const bytes = Buffer.alloc(most)
  let size = 0
  while (size < most) {
    const got = readSync(fd, bytes, size, most - size, size)
    if (got === 0) break
    size += got
  }
  return bytes.subarray(0, size)
}

/** What was read is the same as long as this is the same; of a large file, size and time must do. */
const versionOf = (stat: BigIntStats, bytes: Buffer): string =>
  bytes.length > MAX_TEXT_BYTES
    ? `${stat.size}-${stat.mtimeNs}`
    : createHash('sha256').update(bytes).digest('base64url').slice(0, 22)

type Found = { stat: BigIntStats; bytes: Buffer; version: string }

/** A plain file's beginning, one byte more than is shown. */
const look = (
  held: DirHandle,
  directory = missing('Path is a directory', { code: 'is_folder' }),
): Found => {
  const fd = openEntry(held)
  try {
    const stat = fstatSync(fd, { bigint: true })
    if (stat.isDirectory()) throw directory
    if (!stat.isFile()) throw missing('File not found', { code: 'file_not_found' })
    const bytes = readUpTo(fd, MAX_TEXT_BYTES + 1)
    return { stat, bytes, version: versionOf(stat, bytes) }
  } finally {
    closeSync(fd)
  }
}

export const readText = (area: FileScope, path: string): TextFile =>
  withUserErrors(() => {
    using held = openDirHandle(area, path)
    const { stat, bytes, version } = look(held)
    const size = Number(stat.size)
    const file = readTextBytes(bytes)
    if (!file && bytes.subarray(0, HEAD_BYTES).includes(0))
      return { path, content: '', size, lines: 0, version, binary: true }
    if (bytes.length > MAX_TEXT_BYTES)
      throw missing(`File too large (${size} bytes, max ${MAX_TEXT_BYTES})`, {
        code: 'file_too_large',
        values: { max: MAX_TEXT_BYTES / 1_000 },
      })
    // Every other encoding is shown as UTF-8 with replacement characters; saving keeps its bytes.
    const isWide = file?.encoding.startsWith('UTF-16')
    const content = file && isWide ? `\ufeff${file.text}` : bytes.toString('utf8')
    return { path, content, size: bytes.length, lines: content.split('\n').length, version }
  })

/**
 * Written beside and synced; the caller renames it, and removes it should that fail. Null where it cannot belong to the
 * old file's owner.
 */
const writeBeside = (held: DirHandle, data: Buffer, old: BigIntStats | null): string | null => {
  const place = held.sibling(`.agent-webui-${randomBytes(6).toString('hex')}.tmp`)
  const fd = openSync(place, 'wx', 0o666)
  try {
    if (old && !copyOwner(fd, old)) {
      rmSync(place, { force: true })
      return null
    }
    writeFileSync(fd, data)
    if (old) fchmodSync(fd, Number(old.mode & 0o7777n))
    fsyncSync(fd)
  } catch (error) {
    rmSync(place, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  return place
}

const isSame = (a: BigIntStats, b: BigIntStats | undefined): boolean =>
  a.dev === b?.dev && a.ino === b.ino && a.size === b.size && a.mtimeNs === b.mtimeNs

const writeInPlace = (held: DirHandle, old: BigIntStats, data: Buffer): void => {
  const fd = openEntry(held, constants.O_RDWR)
  try {
    if (!isSame(old, fstatSync(fd, { bigint: true }))) throw changed(look(held).version)
    overwriteFd(fd, data)
  } finally {
    closeSync(fd)
  }
}

const putInPlace = (held: DirHandle, old: BigIntStats, temporary: string): void => {
  try {
    const now = lstatSync(held.at, { bigint: true, throwIfNoEntry: false })
    if (!isSame(old, now)) throw changed(now ? look(held).version : '')
    renameSync(temporary, held.at)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

const changed = (version: string) =>
  conflict('The file has changed since it was opened', {
    code: 'file_changed',
    conflict: true,
    version,
  })

/** Whole or not at all. `expected`: the version that was read; another one on disk is a conflict. */
export const saveText = (
  area: FileScope,
  path: string,
  content: string,
  expected: string | undefined,
): SavedText =>
  withUserErrors(() => {
    using held = openDirHandle(area, path, { isChange: true })
    const old = look(held, invalid('Cannot save: path is a directory', { code: 'is_folder' }))
    if (expected && old.version !== expected) throw changed(old.version)
    // A rename would replace even a file that may not be written.
    accessSync(held.at, constants.W_OK)
    const data =
      old.bytes.length > MAX_TEXT_BYTES
        ? Buffer.from(content)
        : rewriteText(old.bytes, content, { isReadAsUtf8: true })
    // A file with several names keeps them only when it is written into.
    const temporary = old.stat.nlink > 1n ? null : writeBeside(held, data, old.stat)
    if (temporary === null) writeInPlace(held, old.stat, data)
    else putInPlace(held, old.stat, temporary)
    held.sync()
    const { version } = look(held)
    return { path, size: data.length, version }
  })

/** A new file; directories above it are made. */
export const createText = (area: FileScope, path: string, content: string): SavedText =>
  withUserErrors(() => {
    using held = openDirHandle(area, path, { link: true, create: true })
    if (held.isRoot) throw invalid('File already exists', { code: 'file_exists' })
    validateName(held.full.slice(held.dir.length).replace(/^[/\\]/, ''))
    const data = Buffer.from(content)
    const temporary = writeBeside(held, data, null) ?? ''
    try {
      moveUnlessTaken(temporary, held.at)
    } catch (error) {
      rmSync(temporary, { force: true })
      if (errorCode(error) === 'EEXIST')
        throw invalid('File already exists', { code: 'file_exists' })
      throw error
    }
    held.sync()
    const { version } = look(held)
    return { path: held.path, size: data.length, version }
  })
