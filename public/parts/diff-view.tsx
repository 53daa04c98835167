/** Diff of a file with line numbers and word-level marks. */
import { visibleText } from '../../lib/base/visible.ts'
import { useEffect, useRef } from 'preact/hooks'
import { grammarOf, paint, spansOf } from '../markdown/highlight.ts'
import { LinkedText } from '../markdown/linked-text.tsx'
import { useShowMore } from '../markdown/show-more.tsx'
import { t } from './diff-strings.ts'
import type { DiffLine, FileDiff } from './diff.ts'
import { ScrollBox } from './scroll-box.tsx'

const MAX_LINES = 120

export function Diff({ file }: { file: FileDiff }) {
  const more = useShowMore(file.lines, MAX_LINES)
  const code = useHighlighted(file.path, more.visible)
  return (
    <div class="diff">
      <ScrollBox class="diff-box" label={t('tool.diff')}>
        <pre dir="ltr" ref={code}>
          {more.visible.map(line)}
        </pre>
      </ScrollBox>
      {more.button}
    </div>
  )
}

/** Colors the lines by the language of the file, without further nodes. */
export const useHighlighted = (path: string, lines: readonly DiffLine[]) => {
  const place = useRef<HTMLPreElement>(null)
  useEffect(() => {
    const grammar = grammarOf(path.split('.').at(-1) ?? '')
    const element = place.current
    if (!grammar || !element) return
    let clear = () => {}
    let current = true
    let repaint = () => {}
    // A name that becomes a link is another text node.
    const links = new MutationObserver(() => repaint())
    links.observe(element, { childList: true, subtree: true })
    spansOf(element.textContent ?? '', grammar).then(
      spans => {
        if (!current) return
        repaint = () => {
          clear()
          clear = paint(element, spans)
        }
        repaint()
      },
      // Without the grammar the lines stay plain.
      () => undefined,
    )
    return () => {
      current = false
      links.disconnect()
      clear()
    }
  }, [path, lines])
  return place
}

/** Part of a line, with its changed words marked. */
const slicesOf = (parts: DiffLine['parts'], from: number, to: number) => {
  let at = 0
  return parts.map(({ text, changed }, index) => {
    const start = at
    at += text.length
    const piece = text.slice(Math.max(0, from - start), Math.max(0, to - start))
    return changed && piece ? <mark key={index}>{piece}</mark> : piece
  })
}

/** The words of a line. URLs and files with a line are links. */
export const LineText = ({ parts }: Pick<DiffLine, 'parts'>) => {
  const pieces = parts.map(part => ({ ...part, text: visibleText(part.text) }))
  const text = pieces.map(part => part.text).join('')
  const slice = (from: number, to: number) => slicesOf(pieces, from, to)
  // Few lines have a link; the others need no node.
  if (!/https?:\/\/|[:(#]L?\d/i.test(text)) return <>{slice(0, text.length)}</>
  return <LinkedText text={text} places slice={slice} />
}

/** The style sheet renders the number from `data-n`: it is not copied and needs no node. */
const line = ({ kind, number, parts }: DiffLine, index: number) => (
  <div key={index} class={`diff-${kind}`} data-n={kind === 'gap' || kind === 'note' ? '' : number}>
    {kind === 'gap' && '⋯ '}
    <LineText parts={parts} />
    {'\n'}
  </div>
)
