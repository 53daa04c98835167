/** Jupyter notebooks for `read_file`: their cells as text, with shortened outputs. */
import { z } from 'zod'
import type { ExtractedText } from './read-document.ts'

const MAX_OUTPUT_LINES = 40
const MAX_OUTPUT_CHARS = 4_000

/** Text is a string or a list of lines (nbformat 4). */
const text = z
  .union([z.string(), z.array(z.string())])
  .transform(value => (typeof value === 'string' ? value : value.join('')))

const output = z.looseObject({
  output_type: z.string(),
  text: text.optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  ename: z.string().optional(),
  evalue: z.string().optional(),
  traceback: z.array(z.string()).optional(),
})

const notebook = z.object({
  cells: z.array(
    z.object({
      cell_type: z.string(),
      source: text.default(''),
      execution_count: z.number().nullish(),
      outputs: z.array(output).default([]),
    }),
  ),
})

/** Null if the text is no notebook; it is then read as it is. */
export const readNotebook = (json: string): ExtractedText | null => {
  const parsed = notebook.safeParse(parseJson(json))
  if (!parsed.success) return null
  const { cells } = parsed.data
  const lines = cells.flatMap((cell, at) => {
    const run = cell.execution_count == null ? '' : `, run ${cell.execution_count}`
    const outputs = cell.outputs.map(describeOutput).filter(Boolean)
    return [
      `--- cell ${at + 1}: ${cell.cell_type}${run} ---`,
      ...cell.source.split('\n'),
      ...(outputs.length > 0 ? [`--- output of cell ${at + 1} ---`] : []),
      ...outputs.flatMap(one => shorten(one).split('\n')),
    ]
  })
  return {
    lines,
    facts: {
      format: 'ipynb',
      cells: cells.length,
      note: 'Cells as text. patch changes the JSON of the file: quote it as the terminal shows it.',
    },
  }
}

const parseJson = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    // Damaged: the raw text helps to repair it.
    return null
  }
}

const ANSI = /\x1b\[[\d;]*m/g

const describeOutput = ({
  text,
  data,
  ename,
  evalue,
  traceback,
}: z.output<typeof output>): string => {
  if (ename !== undefined)
    return `${ename}: ${evalue ?? ''}\n${(traceback ?? []).join('\n')}`.replace(ANSI, '').trimEnd()
  if (text !== undefined) return text.replace(ANSI, '').trimEnd()
  const plain = z.union([z.string(), z.array(z.string())]).safeParse(data?.['text/plain'])
  const kinds = Object.keys(data ?? {}).filter(kind => !kind.startsWith('text/plain'))
  return [
    ...(plain.success ? [[plain.data].flat().join('').trimEnd()] : []),
    ...kinds.filter(kind => !kind.startsWith('text/')).map(kind => `[${kind}]`),
  ].join('\n')
}

/** The start, and the end, where errors have their message. */
const shorten = (output: string): string => {
  const lines = output.split('\n')
  const half = MAX_OUTPUT_LINES / 2
  const text =
    lines.length > MAX_OUTPUT_LINES
      ? [
          ...lines.slice(0, half),
          `[… ${lines.length - MAX_OUTPUT_LINES} lines left out …]`,
          ...lines.slice(-half),
        ].join('\n')
      : output
  return text.length > MAX_OUTPUT_CHARS
    ? `${text.slice(0, MAX_OUTPUT_CHARS / 2).toWellFormed()}\n[… ${text.length - MAX_OUTPUT_CHARS} characters left out …]\n${text.slice(-MAX_OUTPUT_CHARS / 2).toWellFormed()}`
    : text
}
