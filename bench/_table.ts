/** Formats the result table: measured value, target, and the minimal server for comparison. */

import { median } from './_child.ts'

export type Figure = {
  what: string
  /** As text, with its unit. */
  measured: string
  bar?: string
  /** The minimal node:http server, same bytes. */
  minimal?: string
  ratio?: string
  /** The server that `--beside` names. */
  beside?: string
  kept?: boolean
}

const COLUMNS = ['what', 'measured', 'minimal', 'ratio', 'beside', 'bar', 'kept'] as const

const cellOf = (figure: Figure, column: (typeof COLUMNS)[number]): string => {
  if (column !== 'kept') return figure[column] ?? ''
  return figure.kept === undefined ? '' : figure.kept ? 'yes' : 'NO'
}

export const formatTable = (figures: readonly Figure[]): string => {
  const columns = COLUMNS.filter(
    column => column !== 'beside' || figures.some(({ beside }) => beside !== undefined),
  )
  const rows = [
    [...columns],
    ...figures.map(figure => columns.map(column => cellOf(figure, column))),
  ]
  const widths = columns.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const lines = rows.map(
    row => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  )
  lines.splice(1, 0, `|${widths.map(width => '-'.repeat(width + 2)).join('|')}|`)
  return lines.join('\n')
}

/** The median, and the lowest and the highest in parentheses. */
export const spread = (values: readonly number[]): string =>
  `${number(median(values))} (${number(Math.min(...values))}–${number(Math.max(...values))})`

/** Three significant digits, thousands separated by spaces. */
export const number = (value: number): string =>
  value >= 1000
    ? Math.round(value).toLocaleString('en').replaceAll(',', ' ')
    : String(Number(value.toPrecision(3)))
