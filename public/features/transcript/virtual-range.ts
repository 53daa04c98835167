/** Visible range of the virtualized transcript, from measured or estimated row heights. */
import type { TranscriptRow } from './rows.ts'

export type Range = { start: number; end: number; above: number; below: number }

/** Rendered beyond the viewport on either side, unless a view says otherwise. */
export const OVERSCAN_PX = 700
/** A new range is rendered when less than this remains; each render takes about half a frame. */
const RESERVE_PX = 250
/** Maximum number of rendered rows. */
const MAX_ROWS = 120

/** Estimated row height for the scroll bar, replaced by the measured one. */
const guessHeight = (row: TranscriptRow, width: number): number => {
  const lineChars = Math.max(30, width / 7.4)
  const lines = (text: string) => Math.ceil(text.length / lineChars) + count(text, '\n') * 0.6
  switch (row.kind) {
    case 'user':
      return 56 + Math.min(12, lines(contentOf(row.message.content))) * 24
    case 'text':
      return 16 + Math.max(1, lines(row.text)) * 25
    case 'activity':
    case 'decision':
    case 'notice':
      return 36
    case 'step':
      return 34
    case 'foot':
      return 36
    case 'limit':
      return 96
    case 'error':
      return 130
    case 'cancelled':
    case 'compaction':
      return 48
  }
}

const contentOf = (content: unknown): string => (typeof content === 'string' ? content : '')

const count = (text: string, mark: string): number => {
  let total = 0
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) total++
  return total
}

/** Row heights by key: measured, else estimated. */
export class Heights {
  readonly #measured = new Map<string, number>()
  #guessed = new WeakMap<TranscriptRow, number>()

  of(row: TranscriptRow, width: number): number {
    const height = this.#measured.get(row.key) ?? this.#guessed.get(row)
    if (height !== undefined) return height
    const guess = guessHeight(row, width)
    this.#guessed.set(row, guess)
    return guess
  }

  /** Records a measured height; true when it changed. */
  take(key: string, height: number): boolean {
    if (this.#measured.get(key) === height) return false
    this.#measured.set(key, height)
    return true
  }

  /** Drops all heights after the width changed, also the estimates: text has more lines in a narrow column. */
  clear(): void {
    this.#measured.clear()
    this.#guessed = new WeakMap()
  }
}

export type View = {
  top: number
  height: number
  width: number
  /** Rendered beyond the viewport on either side. */
  overscan?: number
}

/** The range around the viewport. */
export const rangeAt = (rows: readonly TranscriptRow[], heights: Heights, view: View): Range => {
  const { overscan = OVERSCAN_PX } = view
  const from = view.top - overscan
  const to = view.top + view.height + overscan
  let at = 0
  let start = -1
  let above = 0
  let end = rows.length
  let endAt = -1
  for (const [index, row] of rows.entries()) {
    const height = heights.of(row, view.width)
    if (start < 0 && at + height > from) {
      start = index
      above = at
    }
    if (endAt < 0 && start >= 0 && (at > to || index - start >= MAX_ROWS)) {
      end = index
      endAt = at
    }
    at += height
  }
  if (start < 0) return rangeAtEnd(rows, heights, view)
  return { start, end, above, below: endAt < 0 ? 0 : at - endAt }
}

/** The range at the end of the list. */
export const rangeAtEnd = (rows: readonly TranscriptRow[], heights: Heights, view: View): Range => {
  let start = rows.length
  let height = 0
  while (
    start > 0 &&
    height < view.height + (view.overscan ?? OVERSCAN_PX) &&
    rows.length - start < MAX_ROWS
  ) {
    start--
    height += heights.of(rows[start]!, view.width)
  }
  let above = 0
  for (let index = 0; index < start; index++) above += heights.of(rows[index]!, view.width)
  return { start, end: rows.length, above, below: 0 }
}

/** Whether all rows of `inner` are in `outer`. */
export const contains = (outer: Range, inner: Range): boolean =>
  outer.start <= inner.start && inner.end <= outer.end

/** Offset of a row from the first one; null when it no longer exists. */
export const offsetOfRow = (
  rows: readonly TranscriptRow[],
  heights: Heights,
  key: string,
  width: number,
): number | null => {
  let at = 0
  for (const row of rows) {
    if (row.key === key) return at
    at += heights.of(row, width)
  }
  return null
}

/** Whether the rendered range extends far enough beyond the viewport. */
export const covers = (
  range: Range,
  rows: readonly TranscriptRow[],
  heights: Heights,
  { top, height, width }: View,
): boolean => {
  let end = range.above
  for (const row of rows.slice(range.start, range.end)) end += heights.of(row, width)
  const enoughAbove = range.start === 0 || range.above < top - RESERVE_PX
  const enoughBelow = range.end >= rows.length || end > top + height + RESERVE_PX
  return enoughAbove && enoughBelow
}
