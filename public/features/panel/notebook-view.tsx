/** A notebook: text, code, and what it printed. Nothing in it is run. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { CodeText } from '../../markdown/code.tsx'
import { Markdown } from '../../markdown/markdown.tsx'
import { directoryOf, fileName } from '../../parts/file-kind.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { TerminalText } from '../tool-calls/terminal-text.tsx'
import type { Doc } from '../workspace/document.ts'
import { type Cell, type Output, parseNotebook } from '../workspace/notebook.ts'
import { t } from '../workspace/strings.ts'
import { TextView } from './text-view.tsx'

/** Null: it is no Base64. */
const toBlob = (data: string, type: string): Blob | null => {
  try {
    return new Blob([Uint8Array.from(atob(data), letter => letter.charCodeAt(0))], { type })
  } catch {
    return null
  }
}

const Picture = ({ data, type }: { data: string; type: string }) => {
  const url = useSignal('')
  useEffect(() => {
    const blob = toBlob(data, type)
    const objectUrl = blob ? URL.createObjectURL(blob) : ''
    url.value = objectUrl
    return () => URL.revokeObjectURL(objectUrl)
  }, [data, type])
  return url.value === '' ? null : (
    <img class="cell-picture" src={url.value} alt={t('cell.picture')} />
  )
}

const OutputView = ({ output, label }: { output: Output; label: string }) =>
  output.kind === 'image' ? (
    <Picture {...output} />
  ) : (
    <TerminalText text={output.text} label={label} />
  )

const CellView = ({ cell, at, doc, language }: CellProps) => {
  const { kind, source, count, outputs } = cell
  if (kind === 'markdown')
    return (
      <Markdown text={source} id={`cell-${doc.path}-${at}`} directory={directoryOf(doc.path)} />
    )
  return (
    <section class="cell" aria-label={t('cell.code', { n: count ?? at + 1 })}>
      <span class="cell-count" aria-hidden="true">
        {kind === 'code' && `[${count ?? ' '}]`}
      </span>
      <ScrollBox class="cell-code" label={t('cell.code', { n: count ?? at + 1 })}>
        <pre dir="ltr">
          <CodeText text={source} label={kind === 'code' ? language : null} />
        </pre>
      </ScrollBox>
      {outputs.map((output, n) => (
        <OutputView key={n} output={output} label={t('cell.output', { n: count ?? at + 1 })} />
      ))}
    </section>
  )
}

type CellProps = { cell: Cell; at: number; doc: Doc; language: string }

export const NotebookView = ({ doc }: { doc: Doc }) => {
  const notebook = useMemo(() => parseNotebook(doc.content), [doc.content])
  if (!notebook) return <TextView doc={doc} />
  return (
    <ScrollBox class="md-view notebook" label={t('preview.contents', { name: fileName(doc.path) })}>
      {notebook.cells.map((cell, at) => (
        <CellView key={at} cell={cell} at={at} doc={doc} language={notebook.language} />
      ))}
    </ScrollBox>
  )
}
