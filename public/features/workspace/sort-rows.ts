/** Sorts the rows of a table by one column: numbers by value, other cells as text, empty cells last. */
import { pageLocale } from '../../strings/t.ts'

export type Sorting = { column: number; down: boolean }

const compareText = new Intl.Collator(pageLocale(), { numeric: true, sensitivity: 'base' }).compare

/** `1,234.5`, `12 %`, `-3`; NaN for anything else. */
export const numberOf = (cell: string): number => {
  const text = cell.trim()
  return /^[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d{1,3})? ?%?$/i.test(text) &&
    /\d/.test(text)
    ? Number(text.replace(/[,% ]/g, ''))
    : Number.NaN
}

type Keyed = { row: string[]; text: string; value: number }

const compare = (a: Keyed, b: Keyed): number => {
  const [first, second] = [Number.isNaN(a.value), Number.isNaN(b.value)]
  if (!first && !second) return a.value - b.value
  // Numbers come before texts.
  if (first !== second) return first ? 1 : -1
  return compareText(a.text, b.text)
}

/** A sorted copy; rows that are equal keep their order. Without a sorting, the rows themselves. */
export const sortRows = (
  rows: readonly string[][],
  sorting: Sorting | null,
): readonly string[][] => {
  if (!sorting) return rows
  const keyed = rows.map(row => {
    const text = row[sorting.column] ?? ''
    return { row, text, value: numberOf(text) }
  })
  const full = keyed.filter(({ text }) => text.trim() !== '')
  full.sort((a, b) => (sorting.down ? compare(b, a) : compare(a, b)))
  return [...full, ...keyed.filter(({ text }) => text.trim() === '')].map(({ row }) => row)
}
