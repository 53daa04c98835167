/** Opens a file for a backup while programs write to it: at a fixed size, and a journal up to its last whole line. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { errorCode } from '../../store/file-error.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY = 0 } = constants
const CHUNK_BYTES = 64 * 1024
/** Files up to this size are read before their entry begins, so that it can be repeated when they change. */
const SMALL_BYTES = 1024 * 1024
const ATTEMPTS = 3
const LF = 10

/** What is known of a file after its content was read. */
export type Outcome = { size: number; padding: number; changed: boolean }

type OpenedFile = {
  mode: number
  mtimeMs: number
  /** Bytes of the entry. */
  size: number
  /** The content of a small file; null for others. */
  whole: Buffer | null
  /** Yields exactly `size` bytes: zeros take the place of what disappeared in the meantime. */
  content: () => AsyncGenerator<Buffer, Outcome>
  close: () => Promise<void>
}

/** Gone, or another kind of entry than a moment ago. */
const GONE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK', 'ENXIO', 'EISDIR'])
export const isGone = (error: unknown): boolean => GONE.has(errorCode(error))

const readAt = async (handle: FileHandle, at: number, length: number): Promise<Buffer> => {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, at + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

/** Bytes up to and including the last line feed within `size`. */
const wholeLines = async (handle: FileHandle, size: number): Promise<number> => {
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - CHUNK_BYTES)
    const at = (await readAt(handle, start, end - start)).lastIndexOf(LF)
    if (at >= 0) return start + at + 1
    end = start
  }
  return 0
}

const stampOf = async (handle: FileHandle) => {
  const { size, mtimeMs, mode } = await handle.stat()
  return { size, mtimeMs, mode }
}

async function* stream(
  handle: FileHandle,
  size: number,
  isStable: () => Promise<boolean>,
): AsyncGenerator<Buffer, Outcome> {
  let offset = 0
  while (offset < size) {
    const chunk = await readAt(handle, offset, Math.min(CHUNK_BYTES, size - offset))
    if (chunk.length === 0) break
    offset += chunk.length
    yield chunk
  }
  const padding = size - offset
  for (let rest = padding; rest > 0; rest -= CHUNK_BYTES)
    yield Buffer.alloc(Math.min(rest, CHUNK_BYTES))
  return { size: offset, padding, changed: padding > 0 || !(await isStable()) }
}

/** The content of a small file, read again while it changes; undefined when it keeps changing. */
const readStable = async (
  handle: FileHandle,
): Promise<{ bytes: Buffer; mtimeMs: number } | undefined> => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await stampOf(handle)
    if (before.size > SMALL_BYTES) return undefined
    const bytes = await readAt(handle, 0, before.size)
    const after = await stampOf(handle)
    if (bytes.length === after.size && before.mtimeMs === after.mtimeMs)
      return { bytes, mtimeMs: before.mtimeMs }
  }
  return undefined
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, Outcome> {
  if (bytes.length > 0) yield bytes
  return { size: bytes.length, padding: 0, changed: false }
}

/** Null when it is gone or no regular file any more. Throws the system's error, for example EACCES. */
export const openForBackup = async (
  path: string,
  { isJournal }: { isJournal: boolean },
): Promise<OpenedFile | null> => {
  let handle: FileHandle
  try {
    handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
  } catch (error) {
    if (isGone(error)) return null
    throw error
  }
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) {
      await handle.close()
      return null
    }
    const { mode, mtimeMs, size } = stat
    const close = () => handle.close()
    if (isJournal) {
      const whole = await wholeLines(handle, size)
      // Lines that are appended from now on are not part of the entry, so nothing in it changes.
      const content = () => stream(handle, whole, async () => true)
      return { mode, mtimeMs, size: whole, whole: null, content, close }
    }
    const small = size <= SMALL_BYTES ? await readStable(handle) : undefined
    if (small) {
      const { bytes } = small
      const content = () => once(bytes)
      return { mode, mtimeMs: small.mtimeMs, size: bytes.length, whole: bytes, content, close }
    }
    const isStable = async () => {
      const now = await stampOf(handle)
      return now.size === size && now.mtimeMs === mtimeMs
    }
    const content = () => stream(handle, size, isStable)
    return { mode, mtimeMs, size, whole: null, content, close }
  } catch (error) {
    await handle.close()
    throw error
  }
}
