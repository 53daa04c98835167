/** A page of lines of a file that is too large to be read at once. Only the page is kept in memory. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { displayText, readTextBytes } from '../../store/text-bytes.ts'
import type { ToolContext } from '../types.ts'
import { BinaryFile } from './text-file.ts'

const CHUNK_BYTES = 1024 * 1024
const HEAD_BYTES = 64 * 1024
/** Bytes shown of one line. */
const MAX_LINE_BYTES = 16_000
const MAX_PAGE_BYTES = 1024 * 1024

export type LargePage = {
  lines: string[]
  sizeBytes: number
  encoding: string
  /** Known when the page reaches the end. */
  totalLines: number | null
}

/** Where a line begins, for the next page. */
type LineStart = { key: string; line: number; at: number }

type Page = { offset: number; limit: number }

/** Null: it is not larger than `maxBytes`, or no file. */
export const readLargePage = async (
  ctx: ToolContext,
  fullPath: string,
  maxBytes: number,
  page: Page,
): Promise<LargePage | null> => {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  // Reading it as a small file says what is wrong.
  const handle = await open(fullPath, flags).catch(() => null)
  try {
    const stat = await handle?.stat()
    if (!handle || !stat?.isFile() || stat.size <= maxBytes) return null
    const head = Buffer.alloc(HEAD_BYTES)
    await handle.read(head, 0, HEAD_BYTES, 0)
    const file = readTextBytes(wholeLines(head))
    if (!file) throw new BinaryFile(fullPath, head)
    const key = [fullPath, stat.size, stat.mtimeMs].join('\0')
    const memo = ctx.memo.get('large file') as LineStart | undefined
    const start =
      memo?.key === key && memo.line <= page.offset ? memo : { key, line: 1, at: file.bom }
    const { encoding } = file
    const result = await readLines(ctx.signal, handle, start, page, lineEndOf(encoding))
    ctx.memo.set('large file', { key, line: result.line, at: result.at } satisfies LineStart)
    const mark = file.bytes.subarray(0, file.bom)
    return {
      lines: result.lines.map(({ bytes, moreBytes }) => decodeLine(mark, bytes, moreBytes)),
      sizeBytes: stat.size,
      encoding,
      totalLines: result.isEnd ? result.line - 1 : null,
    }
  } finally {
    await handle?.close()
  }
}

/** A cut character at the end must not decide about the encoding. */
const wholeLines = (head: Buffer): Buffer => {
  const end = head.lastIndexOf(10)
  return end < 0 ? head : head.subarray(0, (end + 2) & ~1)
}

const lineEndOf = (encoding: string): Buffer =>
  encoding === 'UTF-16 LE'
    ? Buffer.of(10, 0)
    : encoding === 'UTF-16 BE'
      ? Buffer.of(0, 10)
      : Buffer.of(10)

const decodeLine = (mark: Buffer, bytes: Buffer, moreBytes: number): string => {
  const file = readTextBytes(Buffer.concat([mark, bytes]))
  const text = file ? displayText(file) : bytes.toString('latin1')
  return moreBytes > 0 ? `${text} [… ${moreBytes} bytes left out]` : text.replace(/\r$/, '')
}

const endAt = (chunk: Buffer, from: number, lineEnd: Buffer): number => {
  let at = chunk.indexOf(lineEnd, from)
  while (at >= 0 && at % lineEnd.length !== 0) at = chunk.indexOf(lineEnd, at + 1)
  return at
}

type LineBytes = { bytes: Buffer; moreBytes: number }

const readLines = async (
  signal: AbortSignal,
  handle: FileHandle,
  start: { line: number; at: number },
  { offset, limit }: Page,
  lineEnd: Buffer,
): Promise<{ lines: LineBytes[]; line: number; at: number; isEnd: boolean }> => {
  const lines: LineBytes[] = []
  let { line, at: position } = start
  let next = position
  let begun: LineBytes = { bytes: Buffer.alloc(0), moreBytes: 0 }
  let size = 0
  const add = (part: Buffer): void => {
    if (line < offset) return
    const free = Math.max(0, MAX_LINE_BYTES - begun.bytes.length)
    begun = {
      bytes: Buffer.concat([begun.bytes, part.subarray(0, free)]),
      moreBytes: begun.moreBytes + Math.max(0, part.length - free),
    }
  }
  const finish = (): void => {
    if (line >= offset) lines.push(begun)
    size += line >= offset ? begun.bytes.length : 0
    begun = { bytes: Buffer.alloc(0), moreBytes: 0 }
    line++
  }
  const chunk = Buffer.alloc(CHUNK_BYTES)
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position)
    // A file that does not end with a line end.
    if (bytesRead === 0) {
      if (next < position) finish()
      return { lines, line, at: position, isEnd: true }
    }
    const got = chunk.subarray(0, bytesRead)
    let from = 0
    for (let end = endAt(got, 0, lineEnd); end >= 0; end = endAt(got, from, lineEnd)) {
      add(got.subarray(from, end))
      finish()
      from = end + lineEnd.length
      next = position + from
      if (lines.length === limit || size > MAX_PAGE_BYTES)
        return { lines, line, at: next, isEnd: false }
    }
    add(got.subarray(from))
    position += bytesRead
  }
}
