/**
 * Finds the text that a model quotes and turns its replacement into edits that change nothing else. Allowed differences
 * between quotation and file: line endings, trailing white space, one shift of the indentation, and characters that look the
 * same.
 */
import { diffArrays } from 'diff'
import type { Edit } from '../../store/text-bytes.ts'
import { keepCharacters, toPlainSigns } from './look-alike.ts'
import { indentOf, type Reindent, indentShift } from './patch-indent.ts'

type SourceLine = { text: string; start: number; eol: string }

/** The text of a file and its lines. Offsets are in `text`. */
export type Source = { text: string; lines: SourceLine[]; eol: string }

export const openSource = (text: string): Source => {
  // A lone carriage return is a line break only in files without `\n`.
  const breaks = text.includes('\n') ? /\r?\n/g : /\r/g
  const lines: SourceLine[] = []
  let start = 0
  for (const { index, 0: eol } of text.matchAll(breaks)) {
    lines.push({ text: text.slice(start, index), start, eol })
    start = index + eol.length
  }
  if (start < text.length) lines.push({ text: text.slice(start), start, eol: '' })
  return { text, lines, eol: lines[0]?.eol || '\n' }
}

/** Normalizes line endings of a quotation. */
export const toPlain = (text: string): string => text.replace(/\r\n/g, '\n')

/** A final line break doesn't start another line. */
export const linesIn = (text: string): string[] =>
  text === '' ? [] : text.replace(/\n$/, '').split('\n')

/** Where a quotation is: `line` is its first line, from 0. */
export type Match = { line: number; edits: () => Edit[] }

/** Matches of a part of the text, which may begin and end within a line. */
const exact = ({ text, lines, eol }: Source, old: string, fresh: string): Match[] => {
  const parts = old.split('\n').map(part => RegExp.escape(part))
  const pattern = new RegExp(parts.join(eol === '\r' ? '\r' : '\r?\n'), 'g')
  const matches: Match[] = []
  let line = 0
  for (const { index: start, 0: whole } of text.matchAll(pattern)) {
    while ((lines[line + 1]?.start ?? Infinity) <= start) line++
    const next = fresh.replaceAll('\n', lines[line]?.eol || eol)
    matches.push({ line, edits: () => [{ start, end: start + whole.length, text: next }] })
  }
  return matches
}

/** A quotation with less indentation than its line refers to the line, not to the rest of its indentation. */
const isInIndent = ({ text, lines }: Source, old: string, { line, edits }: Match): boolean => {
  const before = text.slice(lines[line]?.start, edits()[0]?.start)
  return before !== '' && /^[ \t]+$/.test(before) && /^[ \t]/.test(old)
}

const withoutTail = (line: string): string => line.replace(/[ \t\r\f\v]+$/, '')

/** From strict to loose: how a line of the file and a quoted one are made equal. */
const READINGS: { key: (line: string) => string; isShifted?: true }[] = [
  { key: withoutTail },
  { key: withoutTail, isShifted: true },
  { key: line => withoutTail(toPlainSigns(line)) },
  { key: line => withoutTail(toPlainSigns(line)), isShifted: true },
]

const asWritten: Reindent = line => line

/** All windows of whole lines that the strictest reading finds. */
export const findLines = (
  source: Source,
  quoted: readonly string[],
  fresh: readonly string[],
  from = 0,
): Match[] => {
  const file = source.lines.map(({ text }) => text)
  for (const { key, isShifted } of READINGS) {
    const keyOf = (line: string) => (isShifted ? key(line).trimStart() : key(line))
    const keys = quoted.map(keyOf)
    if (keys.every(line => line === '')) continue
    const seen = file.map(keyOf)
    const matches: Match[] = []
    for (let line = from; line + keys.length <= seen.length; line++) {
      if (!keys.every((each, offset) => seen[line + offset] === each)) continue
      const there = file.slice(line, line + keys.length)
      const reindent = isShifted ? indentShift(quoted, there, file) : asWritten
      if (!reindent) continue
      const at = line
      matches.push({ line: at, edits: () => lineEdits(source, { at, quoted, fresh, reindent }) })
      line += keys.length - 1
    }
    if (matches.length > 0) return matches
  }
  return []
}

/** All matches of the strictest reading that finds any. `old` is not blank and has normalized line endings. */
export const findMatches = (source: Source, old: string, fresh: string): Match[] => {
  const parts = exact(source, old, fresh)
  const whole = parts.filter(match => !isInIndent(source, old, match))
  if (whole.length > 0) return whole
  const lines = findLines(source, linesIn(old), linesIn(fresh))
  return lines.length > 0 || fresh.includes('\n') ? lines : parts
}

/** Differences between two texts; the time grows with the square, and the event loop waits. */
const MAX_CHANGES = 2_000

type Replaced = {
  at: number
  quoted: readonly string[]
  fresh: readonly string[]
  reindent: Reindent
}

/** Writes only the lines that differ between quotation and replacement; the others keep every byte. */
const lineEdits = (source: Source, { at, quoted, fresh, reindent }: Replaced): Edit[] => {
  const changes = diffArrays([...quoted], [...fresh], { maxEditLength: MAX_CHANGES }) ?? [
    { added: false, removed: true, value: [...quoted] },
    { added: true, removed: false, value: [...fresh] },
  ]
  const edits: Edit[] = []
  let line = at
  let removed = 0
  for (const [index, change] of changes.entries()) {
    if (!change.added) line += change.value.length
    if (change.removed) removed = change.value.length
    if (change.removed && changes[index + 1]?.added) continue
    if (change.added || change.removed) {
      const from = line - removed
      const added = change.added ? change.value : []
      const texts = added.map((text, nth) => {
        const own = nth < removed ? source.lines[from + nth] : undefined
        return reindent(own ? keepSigns(own.text, quoted[from + nth - at] ?? '', text) : text)
      })
      edits.push(replaceLines(source, from, line, texts))
    }
    removed = 0
  }
  return edits
}

/** Replaces the lines from `from` up to before `to`: each new one ends like the one in its place, the last like the last. */
export const replaceLines = (
  { text, lines, eol }: Source,
  from: number,
  to: number,
  added: readonly string[],
): Edit => {
  const start = lines[from]?.start ?? text.length
  const end = lines[to]?.start ?? text.length
  const ends = added.map((_, nth) => {
    const own = nth < added.length - 1 ? Math.min(from + nth, to - 1) : to - 1
    return lines[own]?.eol || eol
  })
  const addedText = added.map((line, nth) => line + ends[nth]).join('')
  const isOpen = end === text.length && text !== '' && lines.at(-1)?.eol === ''
  if (!isOpen || added.length === 0) return { start, end, text: addedText }
  // A file without a final line break stays without one.
  const body = addedText.slice(0, addedText.length - (ends.at(-1)?.length ?? 0))
  return { start, end, text: start === text.length ? eol + body : body }
}

/** In a partly changed line, the rest keeps the file's own letters, quotation marks, and dashes. */
const keepSigns = (there: string, quoted: string, fresh: string): string => {
  const [own, was, next] = [there, quoted, fresh].map(line =>
    withoutTail(line.slice(indentOf(line).length)),
  ) as [string, string, string]
  return indentOf(fresh) + keepCharacters(own, was, next) + fresh.slice(withoutTail(fresh).length)
}
