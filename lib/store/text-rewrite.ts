/** Replaces a file's text: keeps its encoding, byte order mark and line endings, and the bytes of unchanged lines. */
import { isUtf8 } from 'node:buffer'
import { diffArrays } from 'diff'
import { invalid } from '../errors.ts'
import {
  type Edit,
  encode,
  hasEscapes,
  replaceEscapes,
  readTextBytes,
  splice,
  type TextBytes,
  toBytes,
} from './text-bytes.ts'

/** Beyond this, the texts have little in common and the diff takes too long. */
const MAX_DIFFERENT_LINES = 4_000

const LINE = /[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+/g
const endOf = (line: string): string => /(?:\r\n|\n|\r)$/.exec(line)?.[0] ?? ''

/** Lines with their endings. A lone CR ends a line only when the text has no LF. */
export const splitLines = (text: string): string[] =>
  text.includes('\n') ? (text.match(/[^\n]*\n|[^\n]+/g) ?? []) : (text.match(LINE) ?? [])

export type LineEnd = '\n' | '\r\n' | '\r'

/** The line endings that occur in a text. */
const lineEndsOf = (text: string): Set<LineEnd> => {
  const ends = new Set<LineEnd>()
  if (text.includes('\r\n')) ends.add('\r\n')
  if (/(?<!\r)\n/.test(text)) ends.add('\n')
  if (ends.size === 0 && text.includes('\r')) ends.add('\r')
  return ends
}

/**
 * The new bytes of the file. Throws a UserError when writing it would damage the file. `isReadAsUtf8`: the text was edited
 * with replacement characters for everything that is not UTF-8.
 */
export const rewriteText = (
  old: Buffer,
  content: string,
  { isReadAsUtf8 = false }: { isReadAsUtf8?: boolean } = {},
): Buffer => {
  const file = readTextBytes(old)
  if (!file) {
    if (isUtf8(old)) return Buffer.from(content)
    throw invalid('The file is not text; saving it from here would damage it', { code: 'not_text' })
  }
  const fresh = file.bom > 0 ? content.replace(/^\ufeff/, '') : content
  const ends = lineEndsOf(file.text)
  // Text with carriage returns already has the line endings it wants.
  const isPlain = !fresh.includes('\r') && (ends.has('\r\n') || ends.has('\r'))
  const view = viewOf(file, isReadAsUtf8)
  if (view || (isPlain && ends.size > 1)) return merge(file, fresh, { isPlain, view })
  const [end = '\n'] = ends
  const text = isPlain ? fresh.replaceAll('\n', end) : fresh
  return Buffer.concat([old.subarray(0, file.bom), encode(text, file.encoding)])
}

/** How a line looked in the editor, when that differs from the file. */
type View = ((line: string) => string) | null

const viewOf = ({ encoding }: TextBytes, isReadAsUtf8: boolean): View => {
  if (isReadAsUtf8 && !encoding.startsWith('UTF-') && encoding !== 'unknown')
    return line => toBytes(line, encoding).toString('utf8')
  if (isReadAsUtf8 && hasEscapes(encoding)) return line => toBytes(line, encoding).toString('utf8')
  return hasEscapes(encoding) ? line => replaceEscapes(line) : null
}

type Merge = { isPlain: boolean; view: View }

/** Compares line by line; unchanged lines keep their bytes. */
const merge = (file: TextBytes, fresh: string, { isPlain, view }: Merge): Buffer => {
  const lines = splitLines(file.text)
  const keys = lines.map(line => {
    const seen = view ? view(line) : line
    return isPlain ? seen.replace(/\r?\n$|\r$/, '\n') : seen
  })
  const edits: Edit[] = []
  let [at, offset] = [0, 0]
  const take = (count: number): void => {
    for (const line of lines.slice(at, at + count)) offset += line.length
    at += count
  }
  const end = (): string => endOf(lines[Math.max(at - 1, 0)] ?? '') || endOf(lines[0] ?? '') || '\n'
  for (const { added, removed, value, count } of changes(keys, splitLines(fresh))) {
    if (!added && !removed) take(count)
    else if (removed) {
      const start = offset
      take(count)
      edits.push({ start, end: offset, text: '' })
    } else {
      const text = value.join('')
      if (view) checkShown(text)
      const last = edits.at(-1)
      const content = isPlain ? text.replaceAll('\n', end()) : text
      if (last?.end === offset && last.text === '') last.text = content
      else edits.push({ start: offset, end: offset, text: content })
    }
  }
  return splice(file, edits)
}

const checkShown = (text: string): void => {
  if (text.includes('\ufffd'))
    throw invalid(
      'Lines that would change hold bytes that are not text; saving them from here would damage the file',
      { code: 'not_text' },
    )
}

type LineChange = { added: boolean; removed: boolean; value: string[]; count: number }

/** Diffs two lists of lines. Common lines at the beginning and the end are skipped first. */
const changes = (old: string[], fresh: string[]): LineChange[] => {
  const most = Math.min(old.length, fresh.length)
  let head = 0
  while (head < most && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < most - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++
  const [before, after] = [old, fresh].map(list => list.slice(head, list.length - tail)) as [
    string[],
    string[],
  ]
  const middle = diffArrays(before, after, { maxEditLength: MAX_DIFFERENT_LINES }) ?? [
    { added: false, removed: true, value: before, count: before.length },
    { added: true, removed: false, value: after, count: after.length },
  ]
  const same = (value: string[]) => ({ added: false, removed: false, value, count: value.length })
  return [same(old.slice(0, head)), ...middle, same(old.slice(old.length - tail))]
}
