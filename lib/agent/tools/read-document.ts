/** Text of documents (PDF, Office, EPUB) and notebooks for `read_file`: extracted, in pages of numbered lines. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { extname } from 'node:path'
import type { DocumentKind, DocumentText, PageRange } from '../tool-services.ts'
import type { ToolContext } from '../types.ts'

const MAX_BYTES = 64 * 1024 * 1024
const HEAD_BYTES = 1024
/** A paragraph is one line of the document, however long. */
const MAX_LINE_CHARS = 1_000

const UNITS = {
  pdf: 'page',
  docx: null,
  xlsx: 'sheet',
  pptx: 'slide',
  odt: null,
  ods: 'sheet',
  odp: 'slide',
  epub: 'chapter',
} as const satisfies Record<DocumentKind, string | null>

/** By its name; null for other files. */
const documentKind = (path: string): DocumentKind | null => {
  const ending = extname(path)
    .slice(1)
    .toLowerCase()
    .replace(/^(docx|xlsx|pptx)$|^(doc|xls|ppt)m$/, (_, x, m) => x ?? `${m}x`)
  return Object.hasOwn(UNITS, ending) ? (ending as DocumentKind) : null
}

/** Throws if a text would be written in place of a document. */
export const refuseDocument = (fullPath: string, verb: string): void => {
  const kind = documentKind(fullPath)
  if (kind !== null)
    throw new Error(
      `${fullPath} is not a text file, and text in it would make it unreadable. ${verb} it with a program or a script that knows the format ${kind}.`,
    )
}

export type ExtractedText = {
  lines: string[]
  /** What the result says about the document. */
  facts: Record<string, unknown>
}

/** Null if the file is no document in spite of its name, or documents cannot be read here. */
export const readDocument = async (
  ctx: ToolContext,
  fullPath: string,
  pages: string | undefined,
): Promise<ExtractedText | null> => {
  const kind = documentKind(fullPath)
  if (kind === null || !ctx.turn.readDocument) return null
  const range = readRange(pages)
  const handle = await openPlain(fullPath)
  if (!handle) return null
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) return null
    const head = Buffer.alloc(HEAD_BYTES)
    await handle.read(head, 0, HEAD_BYTES, 0)
    if (!isDocument(kind, head)) return null
    if (stat.size > MAX_BYTES)
      throw new Error(`${fullPath} has ${stat.size} bytes, more than can be read at once.`)
    const key = [fullPath, stat.mtimeMs, stat.size, range.from, range.to].join('\0')
    const memo = ctx.memo.get('document') as { key: string; text: ExtractedText } | undefined
    const text =
      memo?.key === key
        ? memo.text
        : toLines(
            kind,
            range,
            await ctx.turn.readDocument(await handle.readFile(), kind, {
              range,
              signal: ctx.signal,
            }),
          )
    // The next page of the same document is read from here.
    ctx.memo.set('document', { key, text })
    return { lines: text.lines, facts: { file_size: stat.size, ...text.facts } }
  } finally {
    await handle.close()
  }
}

/** Null if it can't be opened; reading it as text reports why. */
const openPlain = async (fullPath: string): Promise<FileHandle | null> => {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    return await open(fullPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch {
    // Missing, or not readable: see above.
    return null
  }
}

const OLE = Buffer.from('d0cf11e0a1b11ae1', 'hex')

const isDocument = (kind: DocumentKind, head: Buffer): boolean =>
  kind === 'pdf'
    ? head.includes('%PDF-')
    : head.toString('latin1', 0, 2) === 'PK' || head.subarray(0, OLE.length).equals(OLE)

const readRange = (pages = '1-'): PageRange => {
  const [, from, hyphen, to] = /^(\d+)(?:(-)(\d*))?$/.exec(pages.replace(/\s/g, '')) ?? []
  const range = { from: Number(from), to: hyphen ? Number(to || Infinity) : Number(from) }
  if (!(range.from >= 1 && range.to >= range.from))
    throw new Error(`pages is a number or a range, such as 3 or 2-5, not ${pages}.`)
  return range
}

const toLines = (
  kind: DocumentKind,
  range: PageRange,
  { parts, total, isCut }: DocumentText,
): ExtractedText => {
  const unit = UNITS[kind]
  if (unit !== null && range.from > Math.max(total, 1))
    throw new Error(`There is no ${unit} ${range.from}: the document has ${total}.`)
  const isEmpty = parts.every(({ text }) => text.trim() === '')
  const lines = parts.flatMap(({ title, text }) => [
    ...(title === '' ? [] : [`--- ${title} ---`]),
    ...text.split('\n').flatMap(wrap),
  ])
  return {
    lines: isEmpty ? [] : lines,
    facts: {
      format: kind,
      ...(unit !== null && { [`${unit}s`]: total }),
      note: isEmpty
        ? 'The document holds no text; its pages may be images.'
        : 'Extracted text: patch and write_file cannot change this file.',
      ...(isCut && { incomplete: 'The rest was too long to extract. Ask for other pages.' }),
    },
  }
}

/** Breaks at spaces. */
const wrap = (line: string): string[] => {
  const parts: string[] = []
  let rest = line
  while (rest.length > MAX_LINE_CHARS) {
    const space = rest.lastIndexOf(' ', MAX_LINE_CHARS)
    const at = space > 0 ? space : MAX_LINE_CHARS
    parts.push(rest.slice(0, at))
    rest = rest.slice(at).trimStart()
  }
  return [...parts, rest]
}
