/**
 * Finds the text that a model quotes and turns its replacement into edits that change nothing else. Allowed differences
 * between quotation and file: line endings, trailing white space, one shift of the indentation, characters that look the
 * same, and double escaping.
 */
import { diffArrays } from 'diff'
import { distance } from 'fastest-levenshtein'
import type { Edit } from '../../store/text-bytes.ts'
import { keepCharacters, toPlainSigns, withPlainSigns } from './look-alike.ts'
import { indentOf, type Reindent, shiftOf } from './patch-indent.ts'

/** One match: the file's lines there, and how to write new lines in the same style. */
export type Match = {
  /** In `Source.plain`. */
  start: number
  end: number
  pieces: Piece[]
  old: string[]
  fresh: string[]
  reindent: Reindent
}

/** A line or a part of one in the file's text; `lineEnd` is its line break. */
type Piece = { start: number; end: number; lineEnd: string }

/** A file's text with normalized line endings, and the mapping back. */
export type Source = {
  text: string
  plain: string
  toText: (at: number) => number
  /** Each line without its line break, and its offset in `plain`. */
  lines: string[]
  starts: number[]
}

const CRLF = /\r\n/g

export const openSource = (text: string): Source => {
  const isMac = !text.includes('\n') && text.includes('\r')
  const plain = isMac ? text.replaceAll('\r', '\n') : text.replace(CRLF, '\n')
  const lines = plain.split('\n')
  const starts: number[] = []
  let at = 0
  for (const line of lines) {
    starts.push(at)
    at += line.length + 1
  }
  return { text, plain, toText: isMac ? at => at : wayBack(text, plain), lines, starts }
}

/** Each dropped `\r` shifts later offsets by one. */
const wayBack = (text: string, plain: string): Source['toText'] => {
  if (text.length === plain.length) return at => at
  const dropped = [...text.matchAll(CRLF)].map(({ index }, before) => index - before)
  return at => {
    let [low, high] = [0, dropped.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((dropped[middle] ?? 0) < at) low = middle + 1
      else high = middle
    }
    return at + low
  }
}

/** Normalizes line endings of a quotation. */
export const toPlain = (text: string): string => text.replace(CRLF, '\n')

const asWritten: Reindent = line => line

// ── Readings ────────────────────────────────────────────────────────────────────────────────────────────────────────

type Reading = { name: string; find: (source: Source, old: string, fresh: string) => Match[] }

const withoutTail = (line: string): string => line.replace(/[ \t\r\f\v]+$/, '')

const plainLine = (line: string): string => withoutTail(toPlainSigns(line))

const unescaped = (text: string): string =>
  text.replace(/\\([nrt"'`\\])/g, (_, char) => ({ n: '\n', r: '\r', t: '\t' })[char as 'n'] ?? char)

/** From strict to loose; the first one with a match wins. */
const READINGS: Reading[] = [
  {
    name: 'exact',
    find: (source, old, fresh) =>
      exact(source, source.plain, old, old, fresh).filter(match => !isInIndent(source, match)),
  },
  { name: 'white space at line ends', find: byLines(withoutTail, false) },
  { name: 'indentation', find: byLines(withoutTail, true) },
  {
    name: 'typographic signs',
    find: alike,
  },
  { name: 'typographic signs and white space', find: byLines(plainLine, false) },
  { name: 'typographic signs and indentation', find: byLines(plainLine, true) },
  {
    name: 'a part of a line and of its indentation',
    find: (source, old, fresh) =>
      fresh.includes('\n') ? [] : exact(source, source.plain, old, old, fresh),
  },
  {
    name: 'escapes',
    find(source, old, fresh) {
      // Double escaping shows in the absence of real line breaks.
      if (old.includes('\n') || fresh.includes('\n') || !/\\[nt]/.test(old)) return []
      const [real, next] = [toPlain(unescaped(old)), toPlain(unescaped(fresh))]
      return real.trim() === '' ? [] : exact(source, source.plain, real, real, next)
    },
  },
]

/** V4A hunks are whole lines and never escaped. */
const LINE_READINGS = new Set(['escapes', 'typographic signs'])

/** All matches of the strictest reading that finds any. `old` is not blank and has normalized line endings. */
export const findMatches = (
  source: Source,
  old: string,
  fresh: string,
  { wholeLines = false, from = 0 }: { wholeLines?: boolean; from?: number } = {},
): Match[] => {
  for (const { name, find } of READINGS) {
    if (wholeLines && LINE_READINGS.has(name)) continue
    const matches = find(source, old, fresh).filter(
      match => match.start >= from && (!wholeLines || isAtLine(source.plain, match)),
    )
    if (matches.length > 0) return matches
  }
  return []
}

const isAtLine = (plain: string, { start, end }: Match): boolean =>
  (start === 0 || plain[start - 1] === '\n') &&
  (end === plain.length || plain[end] === '\n' || plain[end - 1] === '\n')

/** A quotation with less indentation than its line refers to the line, not to the rest of its indentation. */
const isInIndent = ({ plain }: Source, { start }: Match): boolean => {
  const before = plain.slice(plain.lastIndexOf('\n', start - 1) + 1, start)
  return before !== '' && /^[ \t]+$/.test(before) && /[ \t]/.test(plain[start] ?? '')
}

const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+/g) ?? []

/** Quotations that only look like the text. */
function alike(source: Source, old: string, fresh: string): Match[] {
  const { plain, toOwn } = withPlainSigns(source.plain)
  const quoted = splitLines(old)
  const wanted = toPlainSigns(old)
  const matches: Match[] = []
  for (let at = plain.indexOf(wanted); at >= 0; at = plain.indexOf(wanted, at + wanted.length)) {
    let from = at
    const bounds = [at, ...quoted.map(line => (from += toPlainSigns(line).length))].map(toOwn)
    // A part of a character is no match.
    if (!bounds.every(bound => bound !== null)) continue
    matches.push({
      start: bounds[0] ?? 0,
      end: bounds.at(-1) ?? 0,
      pieces: quoted.map((_, nth) => pieceOf(source, bounds[nth] ?? 0, bounds[nth + 1] ?? 0)),
      old: quoted,
      fresh: splitLines(fresh),
      reindent: asWritten,
    })
  }
  return matches
}

/** `seen` has the same length as the plain text. */
const exact = (
  source: Source,
  seen: string,
  wanted: string,
  old: string,
  fresh: string,
): Match[] => {
  const matches: Match[] = []
  const quoted = splitLines(old)
  for (let at = seen.indexOf(wanted); at >= 0; at = seen.indexOf(wanted, at + wanted.length)) {
    let from = at
    const pieces = quoted.map(line => {
      const piece = pieceOf(source, from, from + line.length)
      from += line.length
      return piece
    })
    matches.push({
      start: at,
      end: at + wanted.length,
      pieces,
      old: quoted,
      fresh: splitLines(fresh),
      reindent: asWritten,
    })
  }
  return matches
}

const pieceOf = ({ toText, text }: Source, from: number, to: number): Piece => {
  const [start, end] = [toText(from), toText(to)]
  return {
    start,
    end,
    lineEnd: /(?:\r\n|\n|\r)$/.exec(text.slice(Math.max(start, end - 2), end))?.[0] ?? '',
  }
}

/** Windows of whole lines that are equal after `read` is applied to both sides. */
function byLines(read: (line: string) => string, isShifted: boolean): Reading['find'] {
  const key = isShifted ? (line: string) => read(line).replace(/^[ \t]+/, '') : read
  return (source, old, fresh) => {
    const quoted = old.replace(/\n$/, '').split('\n')
    const wanted = quoted.map(key)
    if (wanted.every(line => line === '')) return []
    const seen = source.lines.map(key)
    const matches: Match[] = []
    for (let at = 0; at + wanted.length <= seen.length; at++) {
      if (!wanted.every((line, offset) => seen[at + offset] === line)) continue
      const lines = source.lines.slice(at, at + wanted.length)
      const reindent = isShifted
        ? shiftOf(quoted, lines, fresh.split('\n'), source.lines)
        : asWritten
      if (!reindent) continue
      matches.push(cut(source, at, quoted, { old, fresh, reindent }))
      at += wanted.length - 1
    }
    return matches
  }
}

const cut = (
  source: Source,
  at: number,
  quoted: string[],
  { old, fresh, reindent }: { old: string; fresh: string; reindent: Reindent },
): Match => {
  const last = at + quoted.length - 1
  const isLastOfFile = last === source.lines.length - 1
  // The last line of a file may lack the line break of the quotation.
  const takesEnd = old.endsWith('\n') && !isLastOfFile
  const [from, to] = old.endsWith('\n') && isLastOfFile ? [old, fresh].map(dropEnd) : [old, fresh]
  const endOf = (line: number, whole: boolean): number =>
    (source.starts[line] ?? 0) + (source.lines[line]?.length ?? 0) + (whole ? 1 : 0)
  return {
    start: source.starts[at] ?? 0,
    end: endOf(last, takesEnd),
    pieces: quoted.map((_, offset) => {
      const line = at + offset
      return pieceOf(source, source.starts[line] ?? 0, endOf(line, line < last || takesEnd))
    }),
    old: splitLines(from ?? ''),
    fresh: splitLines(to ?? ''),
    reindent,
  }
}

const dropEnd = (text: string): string => text.replace(/\n$/, '')

// ── Edits ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Differences between two texts; the time grows with the square, and the event loop waits. */
const MAX_CHANGES = 2_000

type Change = { added: boolean; removed: boolean; value: string[] }

/** Texts with more differences count as different in every line. */
const changesOf = (old: string[], fresh: string[]): Change[] =>
  diffArrays(old, fresh, { maxEditLength: MAX_CHANGES }) ?? [
    { added: false, removed: true, value: old },
    { added: true, removed: false, value: fresh },
  ]

/** Writes only the difference between quotation and replacement; unchanged lines keep every byte. */
export const toEdits = (source: Source, match: Match): Edit[] => {
  const { old, fresh } = match
  const edits: Edit[] = []
  let at = 0
  let gone: [from: number, to: number] = [0, 0]
  let added: string[] = []
  const flush = (): void => {
    const [from, to] = gone
    if (to > from || added.length > 0) edits.push(write(source, match, from, to, added))
    gone = [at, at]
    added = []
  }
  for (const { added: isAdded, removed, value } of changesOf(old, fresh)) {
    if (isAdded) added = value
    else {
      if (!removed) flush()
      at += value.length
      gone = removed ? [gone[0], at] : [at, at]
    }
  }
  flush()
  return edits
}

/** Replaces the pieces from `from` to `to` with the new lines. */
const write = (
  source: Source,
  { pieces, old, reindent, start }: Match,
  from: number,
  to: number,
  added: readonly string[],
): Edit => {
  const begin = pieces[from]?.start ?? pieces.at(-1)?.end ?? source.toText(start)
  const lines = added.map((line, nth) => {
    const at = Math.min(from + nth, to - 1)
    const piece = pieces[at >= from ? at : from - 1]
    const end = piece?.lineEnd || lineEndAt(source, begin)
    const like = mostAlike(old, from, to, from + nth, line)
    const own = pieces[like]
    const body = own ? keepSigns(source, own, old[like] ?? '', line) : line
    return reindent(body).replace(/\n$/, () => end)
  })
  return {
    start: begin,
    end: to > from ? (pieces[to - 1]?.end ?? begin) : begin,
    text: lines.join(''),
  }
}

/** The replaced line that a new one was most likely made from: not always the one in its place. */
const mostAlike = (
  old: readonly string[],
  from: number,
  to: number,
  inPlace: number,
  line: string,
): number => {
  const isPlain = old
    .slice(from, to)
    .every((quoted, at) => quoted === line || from + at === inPlace)
  if (isPlain || to - from > MAX_COMPARED) return inPlace < to ? inPlace : -1
  let [best, least] = [-1, Infinity]
  for (let at = from; at < to; at++) {
    const far = distance(old[at] ?? '', line) - (at === inPlace ? 0.5 : 0)
    if (far < least) [best, least] = [at, far]
  }
  return best
}

/** Lines that are compared with each new one. */
const MAX_COMPARED = 50

/** In a partly changed line, the rest keeps the file's own letters, quotation marks, and dashes. */
const keepSigns = ({ text }: Source, piece: Piece, old: string, fresh: string): string => {
  const [was, now] = [old, fresh].map(line => line.replace(/\n$/, '')) as [string, string]
  const there = text.slice(piece.start, piece.end - piece.lineEnd.length)
  const [own, quoted, next] = [there, was, now].map(line =>
    withoutTail(line.slice(indentOf(line).length)),
  ) as [string, string, string]
  const end = indentOf(now).length + next.length
  return indentOf(now) + keepCharacters(own, quoted, next) + fresh.slice(end)
}

/** The line ending at an offset: its own line's, the previous one's, or the file's first. */
export const lineEndAt = ({ text }: Source, at: number): string => {
  const isMac = !text.includes('\n')
  const sign = isMac ? '\r' : '\n'
  const after = text.indexOf(sign, at)
  const found = after >= 0 ? after : text.lastIndexOf(sign)
  if (found < 0) return '\n'
  return isMac ? '\r' : text[found - 1] === '\r' ? '\r\n' : '\n'
}
