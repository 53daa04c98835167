/** Diff of a file with line numbers and word-level marks. */
import { visibleText } from '../../lib/base/visible.ts'
import { useEffect, useRef } from 'preact/hooks'
import { grammarOf, paint, spansOf } from '../markdown/highlight.ts'
import { useShowMore } from '../markdown/show-more.tsx'
import { t } from '../strings/t.ts'
import type { DiffLine, FileDiff } from './diff.ts'
import { ScrollBox } from './scroll-box.tsx'

const MAX_LINES = 120

export function Diff({ file }: { file: FileDiff }) {
  const more = useShowMore(file.lines, MAX_LINES)
  const code = useHighlighted(file.path, more.shown)
  return (
    <div class="diff">
      <ScrollBox class="diff-box" label={t('tool.diff')}>
        <pre dir="ltr" ref={code}>
          {more.shown.map(line)}
        </pre>
      </ScrollBox>
      {more.button}
    </div>
  )
}

/** Colors the lines by the language of the file, without further nodes. */
const useHighlighted = (path: string, shown: readonly DiffLine[]) => {
  const place = useRef<HTMLPreElement>(null)
  useEffect(() => {
    const grammar = grammarOf(path.split('.').at(-1) ?? '')
    const element = place.current
    if (!grammar || !element) return
    let clear = () => {}
    let current = true
    spansOf(element.textContent ?? '', grammar).then(
      spans => {
        if (current) clear = paint(element, spans)
      },
      // Without the grammar the lines stay plain.
      () => undefined,
    )
    return () => {
      current = false
      clear()
    }
  }, [path, shown])
  return place
}

/** The style sheet renders the number from `data-n`: it is not copied and needs no node. */
const line = ({ kind, number, parts }: DiffLine, index: number) => (
  <div key={index} class={`diff-${kind}`} data-n={kind === 'gap' ? '' : number}>
    {kind === 'gap'
      ? '⋯'
      : parts.map((part, at) => {
          const text = visibleText(part.text)
          return part.changed ? <mark key={at}>{text}</mark> : text
        })}
    {'\n'}
  </div>
)

export function DiffCounts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="diff-counts" role="img" aria-label={t('tool.diff.counts', { added, removed })}>
      <span class="diff-plus">+{added}</span> <span class="diff-minus">−{removed}</span>
    </span>
  )
}
