/** Reads, saves and creates text files of a workspace. A file that has changed since it was read is not overwritten. */
import { createHash } from 'node:crypto'
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

/** At most `most` bytes from a position. */
const readUpTo = (fd: number, most: number, from = 0): Buffer => {
  const bytes = Buffer.alloc(most)
  let size = 0
  while (size < most) {
    const got = readSync(fd, bytes, size, most - size, from + size)
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

type FileHead = { stat: BigIntStats; bytes: Buffer; version: string }

/** A plain file's beginning, one byte more than is shown. */
const look = (
  handle: DirHandle,
  directory = missing('Path is a directory', { code: 'is_folder' }),
): FileHead => {
  const fd = openEntry(handle)
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
    using handle = openDirHandle(area, path)
    const { stat, bytes, version } = look(handle)
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

/** Lines are counted up to here: reading that far takes a tenth of a second. */
const MAX_COUNTED_BYTES = 64 << 20
const COUNT_CHUNK_BYTES = 1 << 20
const NEWLINE = 10

/** How many lines end before a position; and, with `until`, the position where the line after so many begins. */
const countLines = (fd: number, end: number, until = Number.POSITIVE_INFINITY) => {
  let count = 0
  for (let at = 0; at < end; at += COUNT_CHUNK_BYTES) {
    const chunk = readUpTo(fd, Math.min(COUNT_CHUNK_BYTES, end - at), at)
    for (let hit = chunk.indexOf(NEWLINE); hit >= 0; hit = chunk.indexOf(NEWLINE, hit + 1)) {
      count += 1
      if (count === until) return { count, at: at + hit + 1 }
    }
    if (chunk.length === 0) break
  }
  return { count, at: end }
}

/** Where a page that may not begin in the middle of a line or of a character begins. */
const pageStart = (fd: number, from: number, size: number): number => {
  if (from <= 0) return 0
  const bytes = readUpTo(fd, Math.min(MAX_TEXT_BYTES, size - from) + 1, from - 1)
  const line = bytes.indexOf(NEWLINE)
  if (line >= 0 && line + 1 < bytes.length) return from + line
  // One line that is longer than a page: at a whole character.
  let at = 1
  while (at < 4 && (bytes[at] ?? 0) >> 6 === 0b10) at += 1
  return from - 1 + at
}

/** Where it ends: after its last whole line, or, in a longer line, after its last whole character. */
const pageEnd = (bytes: Buffer, isLast: boolean): number => {
  if (isLast) return bytes.length
  const line = bytes.lastIndexOf(NEWLINE)
  if (line >= 0) return line + 1
  let at = bytes.length - 1
  while (at > bytes.length - 4 && bytes[at]! >> 6 === 0b10) at -= 1
  return bytes[at]! < 0x80 ? bytes.length : at
}

export type TextPage = TextFile & {
  /** Bytes of the file: where the page begins and ends. */
  from: number
  to: number
  /** Number of its first line; null so far in the file that lines are not counted. */
  first_line: number | null
}

/** `from`: a byte, negative from the end; `line`: one that is to be on the page, in place of `from`. */
export type PagePlace = { from?: number | undefined; line?: number | undefined }

/** Some lines before the one that is asked for are shown as well. */
const LINES_BEFORE = 40

const placeIn = (fd: number, size: number, { from = 0, line }: PagePlace): number => {
  if (line === undefined) return from < 0 ? size + from : Math.min(from, size)
  if (line <= LINES_BEFORE) return 0
  const { at } = countLines(fd, Math.min(size, MAX_COUNTED_BYTES), line - LINES_BEFORE)
  // It has fewer lines: its end.
  return at < size ? at : size - MAX_TEXT_BYTES / 2
}

const readPart = (fd: number, size: number, place: PagePlace) => {
  const from = pageStart(fd, placeIn(fd, size, place), size)
  const bytes = readUpTo(fd, MAX_TEXT_BYTES, from)
  const end = pageEnd(bytes, from + bytes.length >= size)
  return {
    content: bytes.toString('utf8', 0, end),
    from,
    to: from + end,
    first_line: from <= MAX_COUNTED_BYTES ? countLines(fd, from).count + 1 : null,
  }
}

/** A part of a text file of any size: whole lines, at most as many bytes as a file that is read at once; such a file whole. */
export const readTextPage = (area: FileScope, path: string, place: PagePlace): TextPage =>
  withUserErrors(() => {
    using handle = openDirHandle(area, path)
    const { stat, bytes, version } = look(handle)
    const size = Number(stat.size)
    if (bytes.length <= MAX_TEXT_BYTES)
      return { ...readText(area, path), from: 0, to: size, first_line: 1 }
    if (bytes.subarray(0, HEAD_BYTES).includes(0)) {
      const none = { content: '', lines: 0, from: 0, to: 0, first_line: null }
      return { path, size, version, binary: true, ...none }
    }
    const fd = openEntry(handle)
    try {
      const part = readPart(fd, size, place)
      return { path, size, version, lines: part.content.split('\n').length, ...part }
    } finally {
      closeSync(fd)
    }
  })

/**
 * Written beside and synced; the caller renames it, and removes it should that fail. Null where it cannot belong to the
 * old file's owner.
 */
const writeBeside = (handle: DirHandle, data: Buffer, old: BigIntStats | null): string | null => {
  const place = handle.temporary()
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

const writeInPlace = (handle: DirHandle, old: BigIntStats, data: Buffer): void => {
  const fd = openEntry(handle, constants.O_RDWR)
  try {
    if (!isSame(old, fstatSync(fd, { bigint: true }))) throw changed(look(handle).version)
    overwriteFd(fd, data)
  } finally {
    closeSync(fd)
  }
}

const putInPlace = (handle: DirHandle, old: BigIntStats, temporary: string): void => {
  try {
    const now = lstatSync(handle.at, { bigint: true, throwIfNoEntry: false })
    if (!isSame(old, now)) throw changed(now ? look(handle).version : '')
    renameSync(temporary, handle.at)
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
    using handle = openDirHandle(area, path, { isChange: true })
    const old = look(handle, invalid('Cannot save: path is a directory', { code: 'is_folder' }))
    if (expected && old.version !== expected) throw changed(old.version)
    // A rename would replace even a file that may not be written.
    accessSync(handle.at, constants.W_OK)
    const data =
      old.bytes.length > MAX_TEXT_BYTES
        ? Buffer.from(content)
        : rewriteText(old.bytes, content, { isReadAsUtf8: true })
    // A file with several names keeps them only when it is written into.
    const temporary = old.stat.nlink > 1n ? null : writeBeside(handle, data, old.stat)
    if (temporary === null) writeInPlace(handle, old.stat, data)
    else putInPlace(handle, old.stat, temporary)
    handle.sync()
    const { version } = look(handle)
    return { path, size: data.length, version }
  })

/** A new file; directories above it are made. */
export const createText = (area: FileScope, path: string, content: string): SavedText =>
  withUserErrors(() => {
    using handle = openDirHandle(area, path, { link: true, create: true })
    if (handle.isRoot) throw invalid('File already exists', { code: 'file_exists' })
    validateName(handle.full.slice(handle.dir.length).replace(/^[/\\]/, ''))
    const data = Buffer.from(content)
    const temporary = writeBeside(handle, data, null) ?? ''
    try {
      moveUnlessTaken(temporary, handle.at)
    } catch (error) {
      rmSync(temporary, { force: true })
      if (errorCode(error) === 'EEXIST')
        throw invalid('File already exists', { code: 'file_exists' })
      throw error
    }
    handle.sync()
    const { version } = look(handle)
    return { path: handle.path, size: data.length, version }
  })
