/** An append-only file of lines: one write per batch, a torn tail is repaired on open, a partial write on a full disk is undone. */
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { isObjectOrArray } from '../base/json.ts'
import { diskFull, unavailable } from '../errors.ts'
import { syncDir } from './atomic-write.ts'
import { errorCode } from './file-error.ts'
import { appendText, openFile } from './read-text.ts'
import { reportWrite } from './write-reports.ts'

const LF = 10
const CHUNK_BYTES = 65_536

/** Identifies a state of a file: inode, size and modification time in one string. */
export type Stamp = string

export type JournalLine = {
  /** Byte offset of the line in the file. */
  offset: number
  /** Without the LF. */
  bytes: Buffer
}

type Write = (fd: number, data: Uint8Array) => number

export type JournalOptions = {
  /** The file must not exist yet. */
  create?: boolean
  /** False: its writes are not reported; see `write-reports.ts`. */
  isFollowed?: boolean
  /** Tests pass one that fails. */
  write?: Write
}

/** The disk is full or accepts no writes. Other errors are unexpected and passed on unchanged. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'])

export const isDiskFull = (error: unknown): boolean => FULL.has(errorCode(error))

const writeError = (error: unknown, path: string): unknown =>
  isDiskFull(error)
    ? diskFull(`The disk is full or read-only; nothing was saved in ${dirname(path)}`)
    : error

/** Writes a whole file under a temporary name, fsyncs it and renames it. Survives a power cut. */
export const writeLines = (path: string, lines: readonly string[]): void => {
  const temporary = `${path}.tmp`
  try {
    // Left by a killed process. It may also be a pipe, which open() would block on.
    rmSync(temporary, { force: true })
    const fd = openSync(temporary, 'wx', 0o600)
    try {
      writeFileSync(fd, lines.map(line => `${line}\n`).join(''))
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(temporary, path)
    reportWrite(path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw writeError(error, path)
  }
  syncDir(dirname(path))
}

/** Undefined when there is no such file. A folder, pipe or device is not a file: opening it could block forever. */
export const fileStamp = (path: string): Stamp | undefined => {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat?.isFile() ? `${stat.ino}:${stat.size}:${stat.mtimeNs}` : undefined
}

const fdStamp = (fd: number): Stamp => {
  const stat = fstatSync(fd, { bigint: true })
  return `${stat.ino}:${stat.size}:${stat.mtimeNs}`
}

/**
 * `begin`, and at most `length` bytes of the file after it, in one buffer. It is never larger than the file, because thousands of
 * small files are read in a row.
 */
const readAt = (fd: number, from: number, length: number, begin?: Buffer): Buffer => {
  const available = Math.max(0, Math.min(length, fstatSync(fd).size - from))
  const at = begin?.length ?? 0
  const chunk = Buffer.allocUnsafe(at + available)
  begin?.copy(chunk)
  let got = at
  while (got < chunk.length) {
    const count = readSync(fd, chunk, got, chunk.length - got, from + got - at)
    if (count === 0) break
    got += count
  }
  return got === chunk.length ? chunk : chunk.subarray(0, got)
}

/** Every complete line from byte `from`. Bytes after the last LF are not a line yet. */
export function* readLines(fd: number, from = 0): Generator<JournalLine> {
  let chunkBytes = CHUNK_BYTES
  let rest: Buffer = Buffer.alloc(0)
  let restAt = from
  while (true) {
    const buffer = readAt(fd, restAt + rest.length, chunkBytes, rest)
    if (buffer.length === rest.length) return
    let start = 0
    for (let stop = buffer.indexOf(LF); stop !== -1; stop = buffer.indexOf(LF, start)) {
      yield { offset: restAt + start, bytes: buffer.subarray(start, stop) }
      start = stop + 1
    }
    // The line is longer than the chunk: double it, or a 4 MB line would be copied 64 times.
    if (start === 0) chunkBytes *= 2
    rest = buffer.subarray(start)
    restAt += start
  }
}

/** Every complete line that ends before byte `before`, last first. Reads lazily. */
export function* readLinesBackward(fd: number, before?: number): Generator<JournalLine> {
  const end = before ?? fstatSync(fd).size
  let chunkBytes = CHUNK_BYTES
  let buffer: Buffer = Buffer.alloc(0)
  let bufferAt = end

  /** Offset of the last LF below `limit`, −1 when there is none. Extends the buffer as needed. */
  const lastLf = (limit: number): number => {
    while (true) {
      const index = limit > bufferAt ? buffer.lastIndexOf(LF, limit - bufferAt - 1) : -1
      if (index !== -1) return bufferAt + index
      if (bufferAt === 0) return -1
      const from = Math.max(0, bufferAt - chunkBytes)
      const more = readAt(fd, from, bufferAt - from)
      buffer = Buffer.concat([more, buffer.subarray(0, Math.max(0, limit - bufferAt) + 1)])
      bufferAt = from
      chunkBytes *= 2
    }
  }

  let stop = lastLf(end)
  while (stop !== -1) {
    chunkBytes = CHUNK_BYTES
    const previous = lastLf(stop)
    yield {
      offset: previous + 1,
      bytes: buffer.subarray(previous + 1 - bufferAt, stop - bufferAt),
    }
    stop = previous
  }
}

const isJsonObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return isObjectOrArray(value)
  } catch {
    // Not JSON.
    return false
  }
}

/**
 * Truncates what follows the last LF. We acknowledge nothing before its line is complete, so a torn line of ours is
 * unacknowledged. A complete JSON text without LF comes from another program and is saved in `<name>.torn`.
 */
const repairTail = (fd: number, path: string): number => {
  const { size } = fstatSync(fd)
  if (size === 0 || readAt(fd, size - 1, 1)[0] === LF) return size
  let keep = 0
  for (const line of readLinesBackward(fd, size)) {
    keep = line.offset + line.bytes.length + 1
    break
  }
  const torn = readAt(fd, keep, size - keep).toString()
  if (isJsonObject(torn)) appendText(path.replace(/\.jsonl$/, '.torn'), `${torn}\n`)
  ftruncateSync(fd, keep)
  return keep
}

/** Opens a journal for appending and repairs its tail. Throws the file system's error when it is missing, or exists and `create` is set. */
export class Journal {
  readonly path: string
  readonly #write: Write
  readonly #isFollowed: boolean
  readonly #fd: number
  #size: number
  #broken = false
  #isClosed = false
  #flight: Promise<void> | null = null
  #next: Promise<void> | null = null

  constructor(
    path: string,
    { create = false, isFollowed = true, write = writeSync }: JournalOptions = {},
  ) {
    this.path = path
    this.#write = write
    this.#isFollowed = isFollowed
    const { O_RDWR, O_APPEND, O_CREAT, O_EXCL } = constants
    this.#fd = openFile(path, O_RDWR | O_APPEND | (create ? O_CREAT | O_EXCL : 0))
    try {
      this.#size = repairTail(this.#fd, path)
    } catch (error) {
      closeSync(this.#fd)
      throw error
    }
  }

  /** Truncates the part of a batch that reached the file. */
  #undo(byteCount: number): void {
    if (byteCount === 0) return
    try {
      ftruncateSync(this.#fd, fstatSync(this.#fd).size - byteCount)
    } catch {
      // Half a line is left in the file. Nothing may be appended until the next open repairs it.
      this.#broken = true
    }
  }

  #flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#fd, error => {
        this.#flight = null
        if (this.#isClosed && !this.#next) closeSync(this.#fd)
        if (error) reject(error)
        else resolve()
      })
    })
  }

  /** Bytes after the last append. */
  get size() {
    return this.#size
  }

  /** Writes all lines in one `write`. When it throws, the file is unchanged. */
  append(lines: readonly string[]): void {
    if (this.#isClosed) throw new Error(`Expected an open journal: ${this.path}`)
    if (this.#broken) throw unavailable("Couldn't write this file. It is read-only for now.")
    if (lines.length === 0) return
    const data = Buffer.from(`${lines.join('\n')}\n`)
    let byteCount = 0
    try {
      byteCount = this.#write(this.#fd, data)
    } catch (error) {
      throw writeError(error, this.path)
    }
    if (byteCount < data.length) {
      this.#undo(byteCount)
      throw diskFull(`The disk is full; nothing was saved in ${dirname(this.path)}`)
    }
    this.#size += byteCount
    if (this.#isFollowed) reportWrite(this.path)
  }

  /** Resolves when everything appended before the call is on the disk (fdatasync). */
  sync(): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error(`Expected an open journal: ${this.path}`))
    if (!this.#flight) {
      this.#flight = this.#flush()
      return this.#flight
    }
    // The running flush may have started before these lines were written. All callers share one more after it.
    this.#next ??= this.#flight
      .catch(() => {
        // Reported to its own caller.
      })
      .then(() => {
        this.#next = null
        this.#flight = this.#flush()
        return this.#flight
      })
    return this.#next
  }

  stat(): Stamp {
    return fdStamp(this.#fd)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // Closing during fdatasync could reuse the descriptor number for another file.
    if (!this.#flight && !this.#next) closeSync(this.#fd)
  }
}
