/** A CSV file as a table: a header sorts, and only the rows in view are elements. */
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { visibleText } from '../../../lib/base/visible.ts'
import { parseCsv } from '../workspace/csv.ts'
import type { Doc } from '../workspace/document.ts'
import { nameOf } from '../../parts/file-kind.ts'
import { type Sorting, sortRows } from '../workspace/sort-rows.ts'
import { t } from '../workspace/strings.ts'

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
      <table aria-rowcount={rows.length + 1} aria-label={nameOf(doc.path)}>
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
