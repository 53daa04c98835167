/** Formats the result table: measured value, target, and the minimal server for comparison. */

export type Figure = {
  what: string
  /** As text, with its unit. */
  measured: string
  bar?: string
  /** The minimal node:http server, same bytes. */
  minimal?: string
  ratio?: string
  kept?: boolean
}

const COLUMNS = ['what', 'measured', 'minimal', 'ratio', 'bar', 'kept'] as const

export const formatTable = (figures: readonly Figure[]): string => {
  const rows = [
    [...COLUMNS],
    ...figures.map(figure => [
      figure.what,
      figure.measured,
      figure.minimal ?? '',
      figure.ratio ?? '',
      figure.bar ?? '',
      figure.kept === undefined ? '' : figure.kept ? 'yes' : 'NO',
    ]),
  ]
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const lines = rows.map(
    row => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  )
  lines.splice(1, 0, `|${widths.map(width => '-'.repeat(width + 2)).join('|')}|`)
  return lines.join('\n')
}

/** Three significant digits, thousands separated by spaces. */
export const number = (value: number): string =>
  value >= 1000
    ? Math.round(value).toLocaleString('en').replaceAll(',', ' ')
    : String(Number(value.toPrecision(3)))
