/** The lines that were found, as the model gets them: decoded, with those around them, and cut around the match. */
import { closeSync, fstatSync, readFileSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { readLargePage } from '../tools/read-large.ts'
import { MAX_TEXT_BYTES, openPlain, toTextFile } from '../tools/text-file.ts'
import type { ToolContext } from '../types.ts'
import type { LinePlace } from './ripgrep.ts'

export type SearchHit = { line: number; content: string }

const MAX_LINE_CHARS = 500

/** The part of a long line around `at`. */
const cut = (line: string, at: number): string => {
  if (line.length <= MAX_LINE_CHARS) return line
  const first = Math.min(at - Math.floor(MAX_LINE_CHARS / 3), line.length - MAX_LINE_CHARS)
  const from = Math.max(0, first)
  const to = from + MAX_LINE_CHARS
  const excerpt = line.slice(from, to).toWellFormed()
  return `${from > 0 ? '[…] ' : ''}${excerpt}${to < line.length ? ' […]' : ''}`
}

/** Null: larger than what is read at once. */
const smallLines = (fullPath: string): string[] | null => {
  const fd = openPlain(fullPath)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) return []
    if (stat.size > MAX_TEXT_BYTES) return null
    const lines = toTextFile(readFileSync(fd))?.text.split('\n') ?? []
    return lines.at(-1) === '' ? lines.slice(0, -1) : lines
  } finally {
    closeSync(fd)
  }
}

/** Lines of a large file by number, read once from its beginning. */
const largeLines = async (
  ctx: ToolContext,
  fullPath: string,
  ranges: readonly [first: number, last: number][],
): Promise<Map<number, string>> => {
  const lines = new Map<number, string>()
  let next = 1
  for (const [first, last] of ranges) {
    const offset = Math.max(first, next)
    if (last < offset) continue
    const limit = last - offset + 1
    const page = await readLargePage(ctx, fullPath, MAX_TEXT_BYTES, { offset, limit })
    for (const [at, line] of (page?.lines ?? []).entries()) lines.set(offset + at, line)
    next = last + 1
  }
  return lines
}

/** Empty if the file was deleted, or replaced by a link, since it was searched. */
export const showLines = async (
  ctx: ToolContext,
  fullPath: string,
  { places, context }: { places: readonly LinePlace[]; context: number },
): Promise<SearchHit[]> => {
  const around = places.map(({ line }): [number, number] => [
    Math.max(1, line - context),
    line + context,
  ])
  let lineAt: (number: number) => string | undefined
  try {
    if ((await realpath(fullPath)) !== fullPath) return []
    const small = smallLines(fullPath)
    const large = small === null ? await largeLines(ctx, fullPath, around) : null
    lineAt = number => (small ? small[number - 1] : large?.get(number))?.replace(/\r$/, '')
  } catch (error) {
    ctx.signal.throwIfAborted()
    if (error instanceof RangeError || error instanceof TypeError) throw error
    return []
  }
  return places.flatMap(({ line, column }, at): SearchHit[] => {
    const text = lineAt(line)
    if (text === undefined) return []
    const [first = line, last = line] = around[at] ?? []
    const matchAt = Buffer.from(text).toString('utf8', 0, column - 1).length
    const excerpt: string[] = []
    for (let number = first; number <= last; number++) {
      const one = number === line ? cut(text, matchAt) : lineAt(number)
      if (one !== undefined) excerpt.push(number === line ? one : cut(one, 0))
    }
    return [{ line, content: excerpt.join('\n') }]
  })
}
