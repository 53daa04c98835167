/** Files as replies: opening, ETag from size, time and inode, and byte ranges. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { missing } from '../errors.ts'

export type OpenFile = {
  handle: FileHandle
  size: number
  etag: string
}

/**
 * Throws a 404 when `path` is not a regular file. The caller closes `handle`. A named pipe does not block: it would
 * occupy a thread of Node's pool until a program writes to it.
 */
export const openFile = async (path: string, flags = constants.O_RDONLY): Promise<OpenFile> => {
  let handle: FileHandle
  try {
    handle = await open(path, flags | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Other errors (permission, too many open files) are reported as 500 and logged.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') throw missing('not found')
    throw error
  }
  const stat = await handle.stat()
  if (!stat.isFile()) {
    await handle.close()
    throw missing('not found')
  }
  const parts = [stat.size, Math.round(stat.mtimeMs * 1000), stat.ino]
  return { handle, size: stat.size, etag: `"${parts.map(n => n.toString(36)).join('-')}"` }
}

export type Range = { start: number; end: number }

/**
 * Parses a Range header with one range. `undefined`: send everything (no range, several, or invalid syntax).
 * `null`: the range is not satisfiable.
 */
export const parseRange = (text: string | undefined, size: number): Range | undefined | null => {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(text ?? '')
  if (!match || (match[1] === '' && match[2] === '')) return undefined
  if (match[1] === '') {
    const length = Number(match[2])
    return length === 0 || size === 0 ? null : { start: Math.max(0, size - length), end: size - 1 }
  }
  const start = Number(match[1])
  const end = match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1)
  if (match[2] !== '' && Number(match[2]) < start) return undefined
  return start >= size ? null : { start, end }
}
