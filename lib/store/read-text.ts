/** Reads a file that a person or another program can damage: an ordinary file of a sane size in UTF-8, or the reason why not. */
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
import { errorCode } from './file-error.ts'

/** Far beyond any file of settings. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024

/** `text` is null for a missing file; `problem` says why an existing one could not be read. */
export type FileText = { text: string | null; problem: string | null }

const KINDS: readonly [is: (found: Stats) => boolean, name: string][] = [
  [found => found.isDirectory(), 'a directory'],
  [found => found.isFIFO(), 'a named pipe'],
  [found => found.isSocket(), 'a socket'],
  [found => found.isCharacterDevice() || found.isBlockDevice(), 'a device'],
]

const reasonOf = (error: unknown): string => {
  switch (errorCode(error)) {
    case 'EACCES':
    case 'EPERM':
      return 'this user may not read it'
    case 'ENOENT':
      return 'it is a link that leads nowhere'
    case 'ELOOP':
      return 'its links lead in a circle'
    case 'ENXIO':
      return 'it is a socket'
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

/** No file is an ordinary state; a link that leads nowhere is not, and neither is a folder that may not be looked into. */
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

/** With the code the system has for it: callers tell a folder from what is missing. */
const notOrdinary = (found: Stats): Error => {
  const kind = KINDS.find(([is]) => is(found))?.[1]
  const error = new Error(`it is ${kind ?? 'no file'}, not an ordinary file`)
  return Object.assign(error, { code: found.isDirectory() ? 'EISDIR' : 'ENOTSUP' })
}

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants

/**
 * Opens an ordinary file, or what a link leads to. Never waits for what is none: opening a pipe at whose other end is no
 * program would hold up the whole service. Throws the system's error, or the reason.
 */
export const openFile = (path: string, flags = O_RDONLY, mode = 0o600): number => {
  const fd = openSync(path, flags | O_NONBLOCK | O_NOCTTY, mode)
  try {
    const found = fstatSync(fd)
    if (found.isFile()) return fd
    throw notOrdinary(found)
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

/** All of an ordinary file, however long. */
export const readWhole = (path: string): Buffer => withFd(openFile(path), fd => readFileSync(fd))

export const readWholeText = (path: string): string => readWhole(path).toString('utf8')

/** Adds to an ordinary file, which is made where it is missing. */
export const appendText = (path: string, text: string): void =>
  withFd(openFile(path, O_WRONLY | O_APPEND | O_CREAT), fd => writeFileSync(fd, text))

const readBounded = (path: string, maxBytes: number): Buffer => {
  const fd = openFile(path)
  try {
    const chunks: Buffer[] = []
    let size = 0
    // Not by the size it claims: some files have none, others grow.
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
    // Without its byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    const [a, b] = bytes
    const isUtf16 = (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)
    throw new Error(isUtf16 ? 'it is UTF-16, not UTF-8' : `it is not UTF-8 (${badLine(bytes)})`)
  }
}

/** The line with the first byte that belongs to no character. */
const badLine = (bytes: Buffer): string => {
  const shown = bytes.toString('utf8')
  const at = shown.indexOf('\uFFFD')
  return `line ${shown.slice(0, Math.max(0, at)).split('\n').length}`
}

export type ReadOptions = {
  maxBytes?: number
  /** A link that leads nowhere yet is a missing file: its target is made with the first write. */
  mayDangle?: boolean
  /** For records of what happened: a damaged line is one line, not the whole file. */
  lossy?: boolean
}

/** The bytes of an ordinary file; throws the reason why not, or the system's error for a missing one. */
export const readBytes = (path: string, maxBytes = MAX_FILE_BYTES): Buffer => {
  try {
    return readBounded(path, maxBytes)
  } catch (error) {
    if (isMissing(path, error)) throw error
    throw new Error(reasonOf(error), { cause: error })
  }
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
