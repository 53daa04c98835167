/** The hunks of a file's diff, and comments on their lines. */
import type { DiffComment } from '../../../lib/base/comment-text.ts'
import { type DiffLine, type FileDiff, parseDiff } from '../../parts/diff.ts'

/** `header` names the hunk for the server; empty for notes on the file above its hunks. */
export type Hunk = { header: string; file: FileDiff }

export const hunksOf = (diff: string): Hunk[] =>
  parseDiff(diff).flatMap(({ hunks, ...file }) =>
    hunks.map(({ header, lines }) => ({ header, file: { ...file, lines } })),
  )

const SIGNS = { same: ' ', added: '+', removed: '-', gap: ' ', note: '\\ ' } as const
/** The limit of the server. */
const MAX_QUOTE_CHARS = 20_000

/** Without the first character of a Windows line ending, which is the same on each line. */
const textOf = ({ parts }: DiffLine): string =>
  parts
    .map(({ text }) => text)
    .join('')
    .replace(/\r$/, '')

/** Indexes into the lines of a hunk, both included. */
export type LineRange = { from: number; to: number }

/** From the first to the last changed line. */
export const changedRange = ({ lines }: FileDiff): LineRange => {
  const isChanged = ({ kind }: DiffLine) => kind === 'added' || kind === 'removed'
  return {
    from: Math.max(0, lines.findIndex(isChanged)),
    to: Math.max(0, lines.findLastIndex(isChanged)),
  }
}

/** Line numbers of a range: those after the change, or those before it when all lines are removed ones. */
export const numbersOf = ({ lines }: FileDiff, { from, to }: LineRange) => {
  const all = lines.slice(from, to + 1)
  const own = all.filter(({ kind }) => kind !== 'note')
  const picked = own.length > 0 ? own : all
  const present = picked.filter(({ kind }) => kind !== 'removed')
  const numbers = (present.length > 0 ? present : picked).map(({ number }) => number)
  return { removed: present.length === 0, from: numbers[0] ?? 1, to: numbers.at(-1) ?? 1 }
}

export const toComment = (
  path: string,
  file: FileDiff,
  range: LineRange,
  text: string,
): DiffComment => {
  const quote = file.lines
    .slice(range.from, range.to + 1)
    .map(line => SIGNS[line.kind] + textOf(line))
    .join('\n')
  return {
    path,
    ...numbersOf(file, range),
    quote: quote.slice(0, MAX_QUOTE_CHARS),
    text: text.trim(),
  }
}
