/** Tool: reads a text file, or the text of a document, in pages with line numbers; shows an image. */
import { deniedResult } from '../error-result.ts'
import { z } from 'zod'
import { reachesFile } from '../permissions/reach.ts'
import type { Tool, ToolContext } from '../types.ts'
import { displayPath, guardRead, mayRead, resolvePath } from './allowed-paths.ts'
import { withUnsaved } from './editor-text.ts'
import { type ExtractedText, readDocument } from './read-document.ts'
import { readNotebook } from './read-notebook.ts'
import { readImage } from './read-image.ts'
import { type Lines, noteKnown, noteShown } from './seen-files.ts'
import { readLargePage } from './read-large.ts'
import {
  BinaryFile,
  hasImageName,
  MAX_TEXT_BYTES,
  readTextFile,
  type TextFile,
} from './text-file.ts'
import { numberWithin } from './numbers.ts'

const MAX_CHARS = 100_000
const MAX_LINE_CHARS = 2_000
/** Share of a result for the text itself: as JSON it is longer. */
const TEXT_SHARE = 0.8

const input = z.object({
  path: z
    .string()
    .min(1)
    .describe('Absolute, or relative to the workspace; ~ is the home directory.'),
  offset: numberWithin(1, Infinity).default(1).describe('First line, from 1.'),
  limit: numberWithin(1, 2000).default(500).describe('Number of lines.'),
  pages: z.string().optional().describe('PDF, slides, sheets: which ones, such as 3 or 2-5.'),
})
type Input = z.output<typeof input>

export const readFile: Tool<typeof input> = {
  name: 'read_file',
  summary:
    'Read a text file, or the text of a PDF, notebook, Office, or EPUB file. Returns numbered lines ("  12|text"), total_lines, file_size, and whether more follows. An image (PNG, JPEG, GIF, WebP) is shown to you if you can see images.',
  input,
  kind: 'read',
  preview: ({ path }) => path,
  reaches: ({ path }, call) => reachesFile('read', path, call),
  async run(ctx, args) {
    const fullPath = resolvePath(ctx.turn, args.path)
    guardRead(ctx.turn, fullPath)
    if (!(await mayRead(ctx, fullPath, 'read'))) return deniedResult(`reading ${fullPath}`)
    if (hasImageName(fullPath)) return readImage(ctx, fullPath)
    const preview = displayPath(ctx.turn, fullPath)
    const document = await readDocument(ctx, fullPath, args.pages)
    const large = document ? null : await readLarge(ctx, fullPath, args)
    if (large) return { preview, content: JSON.stringify(large) }
    const source: ReadText = document ?? (await readText(ctx, fullPath))
    const { lines, facts, bytes } = source
    const pageLines = lines.slice(args.offset - 1, args.offset - 1 + args.limit)
    const { page, ranges } = pageOf(ctx, pageLines, lines.length, args)
    if (bytes) noteShown(ctx, fullPath, bytes, ranges, lines.length)
    return { preview, content: JSON.stringify({ ...page, ...facts }) }
  },
}

/** `bytes`: what of the file may be overwritten once all its lines were shown. */
type ReadText = ExtractedText & { bytes?: Buffer }

const readText = async (ctx: ToolContext, fullPath: string): Promise<ReadText> => {
  const diskFile = readStored(ctx, fullPath)
  const current = await withUnsaved(ctx, fullPath, diskFile)
  const { text, file, sizeBytes } = current
  const { bytes } = file
  const notebook = fullPath.endsWith('.ipynb') ? readNotebook(text) : null
  const facts = {
    file_size: sizeBytes,
    ...(file.encoding !== 'UTF-8' && { encoding: file.encoding }),
    // Commands and searches see the file on the disk.
    ...(current !== diskFile && { unsaved_changes: true }),
  }
  return notebook
    ? { lines: notebook.lines, facts: { ...facts, ...notebook.facts }, bytes }
    : { lines: toLines(text), facts, bytes }
}

/** Null: it is small enough to be read at once. */
const readLarge = async (ctx: ToolContext, fullPath: string, args: Input) => {
  const largePage = await readLargePage(ctx, fullPath, MAX_TEXT_BYTES, args)
  if (!largePage) return null
  const { page, ranges } = pageOf(ctx, largePage.lines, largePage.totalLines, args)
  noteShown(ctx, fullPath, undefined, ranges, largePage.totalLines)
  return {
    ...page,
    file_size: largePage.sizeBytes,
    ...(largePage.encoding !== 'UTF-8' && { encoding: largePage.encoding }),
  }
}

const readStored = (ctx: ToolContext, fullPath: string): TextFile => {
  try {
    return readTextFile(fullPath)
  } catch (error) {
    // That is all there is to know before it is replaced.
    if (error instanceof BinaryFile) noteKnown(ctx, fullPath, error.bytes)
    throw error
  }
}

/** `total`: the lines of the whole file; null: more than these, and not counted. `ranges`: those of which nothing is left out. */
const pageOf = (
  ctx: ToolContext,
  rows: readonly string[],
  total: number | null,
  { offset }: Input,
) => {
  const width = String(offset + rows.length - 1).length + 2
  const numbered = rows.map((line, at) => `${String(offset + at).padStart(width)}|${clip(line)}`)
  const maxChars = Math.min(MAX_CHARS, (ctx.maxResultChars ?? MAX_CHARS) * TEXT_SHARE)
  const lines = fittingLines(numbered, maxChars)
  const next = offset + lines.length
  const truncated = total === null || next <= total
  const isBeyond = total !== null && offset > Math.max(total, 1)
  const page = {
    content: lines.join('\n'),
    ...(total !== null && { total_lines: total }),
    truncated,
    ...(truncated && { hint: `Use offset=${next} to read on.` }),
    ...(isBeyond && { note: `offset ${offset} is beyond the end: there are ${total} lines.` }),
    ...(total === 0 && { note: 'There is no text in it.' }),
  }
  const ranges = rows
    .slice(0, lines.length)
    .flatMap((line, at): Lines[] => (isClipped(line) ? [] : [[offset + at, offset + at + 1]]))
  return { page, ranges }
}

/** The first lines that fit, one at least. */
const fittingLines = (lines: readonly string[], maxChars: number): readonly string[] => {
  let chars = 0
  const count = lines.findIndex(line => {
    chars += line.length + 1
    return chars > maxChars
  })
  return count < 0 ? lines : lines.slice(0, Math.max(1, count))
}

/** A final line break doesn't start another line. */
const toLines = (text: string): string[] => {
  // A lone carriage return is a line break only in files without `\n`.
  const lines = text.split(text.includes('\n') ? /\r?\n/ : '\r')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

const isClipped = (line: string): boolean => line.length > MAX_LINE_CHARS

const clip = (line: string): string =>
  isClipped(line)
    ? `${line.slice(0, MAX_LINE_CHARS)} [… ${line.length - MAX_LINE_CHARS} characters left out]`
    : line
