/** Reads files that a person or another program may damage: a regular file of a sane size in UTF-8, or the reason why not. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { sentence, type Words } from '../base/sentences.ts'
import { errorCode, fileReason } from './file-error.ts'
import { reportWrite } from './write-reports.ts'

/** Far larger than any settings file. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024

/** `text` is null for a missing file; `problem` says why an existing one could not be read. */
export type FileText = { text: string | null; problem: Words | null }

const KINDS: readonly [is: (stats: Stats) => boolean, name: string][] = [
  [stats => stats.isDirectory(), 'a directory'],
  [stats => stats.isFIFO(), 'a named pipe'],
  [stats => stats.isSocket(), 'a socket'],
  [stats => stats.isCharacterDevice() || stats.isBlockDevice(), 'a device'],
]

/** A missing file is no problem, so the one that is reported here is a link to nowhere. */
const reasonOf = (error: unknown): Words =>
  errorCode(error) === 'ENOENT' ? sentence('file.broken_link') : fileReason(error)

/** True for a missing file; false for a broken symlink and for a file in an inaccessible folder. */
const isMissing = (path: string, error: unknown): boolean => {
  if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return false
  try {
    lstatSync(path)
    return false
  } catch (missing) {
    return ['ENOENT', 'ENOTDIR'].includes(errorCode(missing))
  }
}

const sizeText = (bytes: number): string =>
  bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MB` : `${bytes / 1024} kB`

/** With an error code, so that callers can distinguish a folder from a missing file. */
const notRegular = (stats: Stats): Error => {
  const kind = KINDS.find(([is]) => is(stats))?.[1]
  const error = new Error(`it is ${kind ?? 'no file'}, not a regular file`)
  return Object.assign(error, { code: stats.isDirectory() ? 'EISDIR' : 'ENOTSUP' })
}

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants

/**
 * Opens a regular file, following symlinks. Never blocks: opening a pipe without a writer would block the whole process.
 * Throws the system's error, or the reason.
 */
export const openFile = (path: string, flags = O_RDONLY, mode = 0o600): number => {
  const fd = openSync(path, flags | O_NONBLOCK | O_NOCTTY, mode)
  try {
    const stats = fstatSync(fd)
    if (stats.isFile()) return fd
    throw notRegular(stats)
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

const withFd = <T>(fd: number, work: (fd: number) => T): T => {
  try {
    return work(fd)
  } finally {
    closeSync(fd)
  }
}

/** The whole content of a regular file of any size. */
export const readWhole = (path: string): Buffer => withFd(openFile(path), fd => readFileSync(fd))

export const readWholeText = (path: string): string => readWhole(path).toString('utf8')

/** Appends to a regular file and creates it when missing. */
export const appendText = (path: string, text: string): void => {
  withFd(openFile(path, O_WRONLY | O_APPEND | O_CREAT), fd => writeFileSync(fd, text))
  reportWrite(path)
}

const readBounded = (path: string, maxBytes: number): Buffer => {
  const fd = openFile(path)
  try {
    const chunks: Buffer[] = []
    let size = 0
    // Not by the reported size: some files report 0, others grow.
    while (size <= maxBytes) {
      const chunk = Buffer.allocUnsafe(Math.min(64 * 1024, maxBytes + 1 - size))
      const length = readSync(fd, chunk)
      if (length === 0) break
      chunks.push(chunk.subarray(0, length))
      size += length
    }
    if (size > maxBytes) throw new Error(`it is larger than ${sizeText(maxBytes)}`)
    return Buffer.concat(chunks)
  } finally {
    closeSync(fd)
  }
}

const decode = (bytes: Buffer): string => {
  try {
    // TextDecoder drops the byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // Not UTF-8: the caller gets a sentence with the reason.
    const [a, b] = bytes
    const isUtf16 = (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)
    throw new Error(isUtf16 ? 'it is UTF-16, not UTF-8' : `it is not UTF-8 (${badLine(bytes)})`)
  }
}

/** The line of the first invalid byte. */
const badLine = (bytes: Buffer): string => {
  const text = bytes.toString('utf8')
  const at = text.indexOf('\uFFFD')
  return `line ${text.slice(0, Math.max(0, at)).split('\n').length}`
}

export type ReadOptions = {
  maxBytes?: number
  /** A dangling symlink counts as a missing file: the first write creates its target. */
  mayDangle?: boolean
  /** For logs: invalid bytes are replaced, so that they damage one line and not the whole file. */
  lossy?: boolean
}

export const readText = (
  path: string,
  { maxBytes = MAX_FILE_BYTES, lossy = false, mayDangle = false }: ReadOptions = {},
): FileText => {
  let bytes: Buffer
  try {
    bytes = readBounded(path, maxBytes)
  } catch (error) {
    const isNone = isMissing(path, error) || (mayDangle && errorCode(error) === 'ENOENT')
    return { text: null, problem: isNone ? null : reasonOf(error) }
  }
  try {
    return { text: lossy ? new TextDecoder().decode(bytes) : decode(bytes), problem: null }
  } catch (error) {
    return { text: null, problem: reasonOf(error) }
  }
}
