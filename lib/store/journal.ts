/** An append-only file of lines: one write per batch, a torn tail is repaired on open, a partial write on a full disk is undone. */
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { isObjectOrArray } from '../base/json.ts'
import { diskFull, unavailable } from '../errors.ts'
import { appendText, openFile } from './read-text.ts'
import { reportWrite } from './write-reports.ts'

const LF = 10
const CHUNK_BYTES = 65_536

/** Identifies a state of a file: inode, size and modification time in one string. */
export type Stamp = string

export type Line = {
  /** Byte offset of the line in the file. */
  offset: number
  /** Without the LF. */
  bytes: Buffer
}

export type Journal = {
  readonly path: string
  /** Bytes after the last append. */
  readonly size: number
  /** Writes all lines in one `write`. When it throws, the file is unchanged. */
  append(lines: readonly string[]): void
  /** Resolves when everything appended before the call is on the disk (fdatasync). */
  sync(): Promise<void>
  stat(): Stamp
  close(): void
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

export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && FULL.has(String(error.code))

/** Undefined when there is no such file. A folder, pipe or device is not a file: opening it could block forever. */
export const fileStamp = (path: string): Stamp | undefined => {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat?.isFile() ? `${stat.ino}:${stat.size}:${stat.mtimeNs}` : undefined
}

const fdStamp = (fd: number): Stamp => {
  const stat = fstatSync(fd, { bigint: true })
  return `${stat.ino}:${stat.size}:${stat.mtimeNs}`
}

/** Reads at most `length` bytes. The buffer is never larger than the file, because thousands of small files are read in a row. */
const readAt = (fd: number, from: number, length: number): Buffer => {
  const available = Math.max(0, Math.min(length, fstatSync(fd).size - from))
  const chunk = Buffer.allocUnsafe(available)
  let got = 0
  while (got < available) {
    const count = readSync(fd, chunk, got, available - got, from + got)
    if (count === 0) break
    got += count
  }
  return got === available ? chunk : chunk.subarray(0, got)
}

/** Every complete line from byte `from`. Bytes after the last LF are not a line yet. */
export function* readLines(fd: number, from = 0): Generator<Line> {
  let chunkBytes = CHUNK_BYTES
  let rest: Buffer = Buffer.alloc(0)
  let restAt = from
  while (true) {
    const more = readAt(fd, restAt + rest.length, chunkBytes)
    if (more.length === 0) return
    const held = rest.length === 0 ? more : Buffer.concat([rest, more])
    let start = 0
    for (let stop = held.indexOf(LF); stop !== -1; stop = held.indexOf(LF, start)) {
      yield { offset: restAt + start, bytes: held.subarray(start, stop) }
      start = stop + 1
    }
    // The line is longer than the chunk: double it, or a 4 MB line would be copied 64 times.
    if (start === 0) chunkBytes *= 2
    rest = held.subarray(start)
    restAt += start
  }
}

/** Every complete line that ends before byte `before`, last first. Reads lazily. */
export function* readLinesBackward(fd: number, before?: number): Generator<Line> {
  const end = before ?? fstatSync(fd).size
  let chunkBytes = CHUNK_BYTES
  let held: Buffer = Buffer.alloc(0)
  let heldAt = end

  /** Offset of the last LF below `limit`, −1 when there is none. Extends the buffer as needed. */
  const lastLf = (limit: number): number => {
    while (true) {
      const found = limit > heldAt ? held.lastIndexOf(LF, limit - heldAt - 1) : -1
      if (found !== -1) return heldAt + found
      if (heldAt === 0) return -1
      const from = Math.max(0, heldAt - chunkBytes)
      const more = readAt(fd, from, heldAt - from)
      held = Buffer.concat([more, held.subarray(0, Math.max(0, limit - heldAt) + 1)])
      heldAt = from
      chunkBytes *= 2
    }
  }

  let stop = lastLf(end)
  while (stop !== -1) {
    chunkBytes = CHUNK_BYTES
    const previous = lastLf(stop)
    yield {
      offset: previous + 1,
      bytes: held.subarray(previous + 1 - heldAt, stop - heldAt),
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
export const openJournal = (
  path: string,
  { create = false, isFollowed = true, write = writeSync }: JournalOptions = {},
): Journal => {
  const { O_RDWR, O_APPEND, O_CREAT, O_EXCL } = constants
  const fd = openFile(path, O_RDWR | O_APPEND | (create ? O_CREAT | O_EXCL : 0))
  let size: number
  try {
    size = repairTail(fd, path)
  } catch (error) {
    closeSync(fd)
    throw error
  }
  let broken = false
  let closed = false
  let flight: Promise<void> | null = null
  let next: Promise<void> | null = null

  /** Truncates the part of a batch that reached the file. */
  const undo = (written: number): void => {
    if (written === 0) return
    try {
      ftruncateSync(fd, fstatSync(fd).size - written)
    } catch {
      // Half a line is left in the file. Nothing may be appended until the next open repairs it.
      broken = true
    }
  }

  const flush = (): Promise<void> =>
    new Promise((resolve, reject) => {
      fdatasync(fd, error => {
        flight = null
        if (closed && !next) closeSync(fd)
        if (error) reject(error)
        else resolve()
      })
    })

  return {
    path,
    get size() {
      return size
    },
    append(lines) {
      if (closed) throw new Error(`Expected an open journal: ${path}`)
      if (broken) throw unavailable("Couldn't write this file. It is read-only for now.")
      if (lines.length === 0) return
      const data = Buffer.from(`${lines.join('\n')}\n`)
      let written = 0
      try {
        written = write(fd, data)
      } catch (error) {
        if (isDiskFull(error))
          throw diskFull(`The disk is full or read-only; nothing was saved in ${dirname(path)}`)
        throw error
      }
      if (written < data.length) {
        undo(written)
        throw diskFull(`The disk is full; nothing was saved in ${dirname(path)}`)
      }
      size += written
      if (isFollowed) reportWrite(path)
    },
    sync() {
      if (closed) return Promise.reject(new Error(`Expected an open journal: ${path}`))
      if (!flight) {
        flight = flush()
        return flight
      }
      // The running flush may have started before these lines were written. All callers share one more after it.
      next ??= flight
        .catch(() => {
          // Reported to its own caller.
        })
        .then(() => {
          next = null
          flight = flush()
          return flight
        })
      return next
    },
    stat: () => fdStamp(fd),
    close() {
      if (closed) return
      closed = true
      // Closing during fdatasync could reuse the descriptor number for another file.
      if (!flight && !next) closeSync(fd)
    },
  }
}
