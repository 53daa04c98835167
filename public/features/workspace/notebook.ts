/** What a Jupyter notebook (nbformat 4) shows: its cells and their outputs. */
import { asObject, isObject } from '../../../lib/base/json.ts'

export type Output =
  | { kind: 'text'; text: string }
  /** Base64, and its type. */
  | { kind: 'image'; type: string; data: string }

export type Cell = {
  kind: 'markdown' | 'code' | 'raw'
  source: string
  /** Of code that was run. */
  count: number | null
  outputs: Output[]
}

export type Notebook = { language: string; cells: Cell[] }

/** A text, or its lines. */
const textOf = (value: unknown): string =>
  Array.isArray(value)
    ? value.filter(part => typeof part === 'string').join('')
    : typeof value === 'string'
      ? value
      : ''

const IMAGES = ['image/png', 'image/jpeg', 'image/gif'] as const

const outputOf = (value: unknown): Output[] => {
  const { output_type: type, text, data, traceback, ename, evalue } = asObject(value)
  if (type === 'stream') return [{ kind: 'text', text: textOf(text) }]
  if (type === 'error') {
    const lines = Array.isArray(traceback) ? traceback : []
    const message = lines.length > 0 ? lines.join('\n') : `${textOf(ename)}: ${textOf(evalue)}`
    return [{ kind: 'text', text: message }]
  }
  const bundle = asObject(data)
  const image = IMAGES.find(name => bundle[name] !== undefined)
  if (image) return [{ kind: 'image', type: image, data: textOf(bundle[image]) }]
  const plain = textOf(bundle['text/plain'] ?? bundle['text/markdown'] ?? bundle['text/html'])
  return plain ? [{ kind: 'text', text: plain }] : []
}

/** Null for what is no notebook. */
export const parseNotebook = (text: string): Notebook | null => {
  let whole: unknown
  try {
    whole = JSON.parse(text)
  } catch {
    return null
  }
  const { cells, metadata } = asObject(whole)
  if (!Array.isArray(cells)) return null
  const { language_info, kernelspec } = asObject(metadata)
  const language = asObject(language_info).name ?? asObject(kernelspec).language
  return {
    language: typeof language === 'string' ? language : 'python',
    cells: cells.filter(isObject).map(value => {
      const { cell_type: type, source, execution_count: count, outputs } = asObject(value)
      return {
        kind: type === 'markdown' || type === 'code' ? type : 'raw',
        source: textOf(source),
        count: typeof count === 'number' ? count : null,
        outputs: Array.isArray(outputs) ? outputs.flatMap(outputOf) : [],
      }
    }),
  }
}
