/** The source view: highlighted text with line numbers. Clicking a number selects the line and puts it into the URL. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { CodeText } from '../../markdown/code.tsx'
import { languageOf, nameOf } from '../../parts/file-kind.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import type { Doc } from '../workspace/document.ts'
import { t } from '../workspace/strings.ts'
import { useWorkspacePanel } from './context.ts'

/** The line height in preview.css. Lines never wrap, so a line's offset is its index times this. */
const LINE_PX = 20

const numbersOf = (count: number): string =>
  Array.from({ length: count }, (_, index) => index + 1).join('\n')

export const TextView = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  const { content, path, line, endLine } = doc
  const box = useRef<HTMLDivElement>(null)
  const count = useMemo(() => content.replace(/\n$/, '').split('\n').length, [content])
  const numbers = useMemo(() => numbersOf(count), [count])

  // Scrolls the line to the upper third: what follows it matters more than what precedes it.
  useLayoutEffect(() => {
    const scroller = box.current?.closest('.text-view')
    if (!scroller || line === null) return
    const top = (line - 1) * LINE_PX
    const seen = top >= scroller.scrollTop && top < scroller.scrollTop + scroller.clientHeight - 40
    if (!seen) scroller.scrollTop = Math.max(0, top - scroller.clientHeight / 3)
  }, [line, content])

  if (content === '') return <p class="panel-note">{t('preview.empty')}</p>
  return (
    <ScrollBox class="text-view" label={t('preview.contents', { name: nameOf(path) })}>
      <div ref={box} class="text-lines" dir="ltr">
        {line !== null && line <= count && (
          <div
            class="text-mark"
            style={{
              top: `${(line - 1) * LINE_PX}px`,
              height: `${(Math.min(count, endLine ?? line) - line + 1) * LINE_PX}px`,
            }}
          />
        )}
        <pre
          class="text-numbers"
          aria-hidden="true"
          onClick={event => {
            const from = event.currentTarget.getBoundingClientRect().top
            const pressed = Math.floor((event.clientY - from) / LINE_PX) + 1
            const wanted = Math.max(1, Math.min(count, pressed))
            preview.select(wanted === line ? null : wanted)
          }}
        >
          {numbers}
        </pre>
        <pre class="text-code">
          <CodeText text={content} label={languageOf(path)} />
        </pre>
      </div>
    </ScrollBox>
  )
}
