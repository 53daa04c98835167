/** A CSV file as a table: a header sorts, and only the rows in view are elements. */
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { visibleText } from '../../../lib/base/visible.ts'
import type { Doc } from '../workspace/document.ts'
import { fileName } from '../../parts/file-kind.ts'
import { t } from '../workspace/strings.ts'
import { pageLocale } from '../../strings/t.ts'

const SEPARATORS = [',', ';', '\t', '|'] as const

/** The separator that occurs most often in the first line, outside of quotes. */
export const separatorOf = (text: string): string => {
  const [head = ''] = text
    .slice(0, 20_000)
    .replace(/"[^"]*"/g, '')
    .split(/\r?\n/, 1)
  const counts = SEPARATORS.map(separator => head.split(separator).length)
  return SEPARATORS[counts.indexOf(Math.max(...counts))]!
}

/** RFC 4180. */
export const parseCsv = (text: string, separator = separatorOf(text)): string[][] => {
  const rows: string[][] = []
  let row: string[] = []
  let field = ''
  let quoted = false
  const endField = () => {
    row.push(field)
    field = ''
  }
  const endRow = () => {
    endField()
    rows.push(row)
    row = []
  }
  for (let at = text.charCodeAt(0) === 0xfeff ? 1 : 0; at < text.length; at += 1) {
    const letter = text[at]!
    if (quoted) {
      if (letter !== '"') field += letter
      else if (text[at + 1] === '"') {
        field += '"'
        at += 1
      } else quoted = false
    } else if (letter === '"' && field === '') quoted = true
    else if (letter === separator) endField()
    else if (letter === '\n') endRow()
    else if (letter === '\r' && text[at + 1] === '\n') continue
    else field += letter
  }
  if (field !== '' || row.length > 0) endRow()
  return rows
}

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

/** The row height in csv.css. */
const ROW_PX = 28
/** Rows above and below the visible ones. */
const MARGIN_ROWS = 12
const MAX_COLUMNS = 60
/** A cell is one line: the rest of a longer one is in the source. */
const MAX_CELL_CHARS = 300

const isNumber = (cell: string): boolean => /^[-+]?[\d.,]+ ?%?$/.test(cell)

const nextSorting = (sorting: Sorting | null, column: number): Sorting | null =>
  sorting?.column !== column
    ? { column, down: false }
    : sorting.down
      ? null
      : { column, down: true }

/** Which rows are in view, from the scroll position of the box. */
const useVisibleRows = (count: number) => {
  const ref = useRef<HTMLDivElement>(null)
  const first = useSignal(0)
  const fit = useSignal(40)
  useLayoutEffect(() => {
    const box = ref.current
    if (!box) return
    const measure = () => {
      first.value = Math.max(0, Math.floor(box.scrollTop / ROW_PX) - MARGIN_ROWS)
      fit.value = Math.ceil(box.clientHeight / ROW_PX) + 2 * MARGIN_ROWS
    }
    measure()
    const resized = new ResizeObserver(measure)
    resized.observe(box)
    box.addEventListener('scroll', measure, { passive: true })
    return () => {
      resized.disconnect()
      box.removeEventListener('scroll', measure)
    }
  }, [])
  const from = Math.min(first.value, Math.max(0, count - fit.value))
  return { ref, from, to: Math.min(count, from + fit.value) }
}

export const CsvView = ({ doc }: { doc: Doc }) => {
  const [head = [], ...rows] = useMemo(() => parseCsv(doc.content), [doc.content])
  const sorting = useSignal<Sorting | null>(null)
  const sorted = useMemo(() => sortRows(rows, sorting.value), [doc.content, sorting.value])
  const { ref, from, to } = useVisibleRows(sorted.length)
  const columns = head.slice(0, MAX_COLUMNS)
  return (
    <section
      ref={ref}
      class="csv-view"
      aria-label={t('preview.table', { rows: rows.length })}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
      tabIndex={0}
    >
      <table aria-rowcount={rows.length + 1} aria-label={fileName(doc.path)}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((cell, column) => {
              const name = visibleText(cell) || t('csv.column', { number: column + 1 })
              const order =
                sorting.value?.column === column ? (sorting.value.down ? 'down' : 'up') : null
              return (
                <th
                  key={column}
                  scope="col"
                  aria-sort={order ? (order === 'up' ? 'ascending' : 'descending') : undefined}
                >
                  <button
                    type="button"
                    class="csv-sort"
                    title={t('csv.sort', { column: name })}
                    onClick={() => {
                      sorting.value = nextSorting(sorting.value, column)
                    }}
                  >
                    {name}
                    <span aria-hidden="true">
                      {order === 'up' ? ' ↑' : order === 'down' ? ' ↓' : ''}
                    </span>
                  </button>
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>
          <Gap rows={from} columns={columns.length} />
          {sorted.slice(from, to).map((row, at) => (
            <tr key={from + at} aria-rowindex={from + at + 2}>
              {columns.map((_, column) => {
                const cell = row[column] ?? ''
                return (
                  <td key={column} class={isNumber(cell) ? 'csv-number' : undefined}>
                    {cell.slice(0, MAX_CELL_CHARS)}
                  </td>
                )
              })}
            </tr>
          ))}
          <Gap rows={sorted.length - to} columns={columns.length} />
        </tbody>
      </table>
    </section>
  )
}

/** The height of rows that are not elements. */
const Gap = ({ rows, columns }: { rows: number; columns: number }) =>
  rows > 0 ? (
    <tr>
      <td class="csv-gap" colSpan={columns} style={{ height: `${rows * ROW_PX}px` }} />
    </tr>
  ) : null
