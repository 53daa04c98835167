/** Text with line numbers and colors, of a file of any size by pages. Clicking a number selects the line and puts it into the URL. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { CodeText } from '../../markdown/code.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { formatBytes, languageOf, fileName } from '../../parts/file-kind.ts'
import type { IconName } from '../../parts/icon.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { type Doc, hasViews, type Page } from '../workspace/document.ts'
import { pageLocale } from '../../strings/t.ts'
import { t } from '../workspace/strings.ts'
import { useWorkspacePanel } from './context.ts'

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** Lays out JSON by its tokens, so that every number and string stays as it is written. Null for text that is no JSON. */
export const formatJson = (text: string): string | null => {
  try {
    JSON.parse(text)
  } catch {
    return null
  }
  const out: string[] = []
  let depth = 0
  let before = ''
  const newLine = () => `\n${'  '.repeat(depth)}`
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    const isClosing = token === '}' || token === ']'
    if (isClosing) depth -= 1
    const isEmpty = isClosing && (before === '{' || before === '[')
    const startsLine = before === '{' || before === '[' || before === ',' || isClosing
    if (startsLine && !isEmpty) out.push(newLine())
    if (before === ':') out.push(' ')
    out.push(token)
    if (token === '{' || token === '[') depth += 1
    before = token
  }
  return `${out.join('')}\n`
}

/** The line height in preview.css. Lines never wrap, so a line's offset is its index times this. */
const LINE_PX = 20

const numbersOf = (count: number, first: number): string =>
  Array.from({ length: count }, (_, index) => first + index).join('\n')

/** Where the page is in its file, and the way to the others. */
const PageBar = ({ page, sizeBytes, count }: { page: Page; sizeBytes: number; count: number }) => {
  const { openFile: preview } = useWorkspacePanel()
  const { from, to, first } = page
  const button = (go: Parameters<typeof preview.turnPage>[0], icon: IconName, isOff: boolean) => (
    <IconButton
      icon={icon}
      size={16}
      label={t(`page.${go}`)}
      disabled={isOff}
      onClick={() => void preview.turnPage(go)}
    />
  )
  const isEnd = to >= sizeBytes
  return (
    <nav class="page-bar" aria-label={t('page.label')}>
      <span>
        {first === null
          ? t('page.place', {
              from: formatBytes(from),
              to: formatBytes(to),
              size: formatBytes(sizeBytes),
            })
          : t('page.lines', {
              from: first.toLocaleString(pageLocale()),
              to: (first + count - 1).toLocaleString(pageLocale()),
              size: formatBytes(sizeBytes),
            })}
      </span>
      <Button kind="quiet" disabled={from === 0} onClick={() => void preview.turnPage('first')}>
        {t('page.first')}
      </Button>
      {button('previous', 'chevron-up', from === 0)}
      {button('next', 'chevron-down', isEnd)}
      <Button kind="quiet" disabled={isEnd} onClick={() => void preview.turnPage('last')}>
        {t('page.last')}
      </Button>
    </nav>
  )
}

/** JSON that was written for programs, laid out. */
export const JsonView = ({ doc }: { doc: Doc }) => {
  const text = useMemo(
    () => (hasViews(doc) ? formatJson(doc.content) : null),
    [doc.content, doc.kind],
  )
  // Its lines are not those of the file.
  return <TextView doc={text === null ? doc : { ...doc, content: text, line: null }} />
}

export const TextView = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  const { content, path, page, sizeBytes } = doc
  const first = page ? page.first : 1
  // Lines of this text, from 1.
  const inText = (at: number | null) => (at === null || first === null ? null : at - first + 1)
  const [line, endLine] = [inText(doc.line), inText(doc.endLine)]
  const box = useRef<HTMLDivElement>(null)
  const count = useMemo(() => content.replace(/\n$/, '').split('\n').length, [content])
  const numbers = useMemo(() => (first === null ? '' : numbersOf(count, first)), [count, first])

  // Scrolls the line to the upper third: what follows it matters more than what precedes it.
  useLayoutEffect(() => {
    const scroller = box.current?.closest('.text-view')
    if (!scroller) return
    if (line === null || line < 1) {
      if (page) scroller.scrollTop = 0
      return
    }
    const top = (line - 1) * LINE_PX
    const seen = top >= scroller.scrollTop && top < scroller.scrollTop + scroller.clientHeight - 40
    if (!seen) scroller.scrollTop = Math.max(0, top - scroller.clientHeight / 3)
  }, [line, content, page])

  if (content === '') return <p class="panel-note">{t('preview.empty')}</p>
  const text = (
    <ScrollBox class="text-view" label={t('preview.contents', { name: fileName(path) })}>
      <div ref={box} class="text-lines" dir="ltr">
        {line !== null && line >= 1 && line <= count && (
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
            const target = Math.max(1, Math.min(count, pressed))
            if (first !== null) preview.select(target === line ? null : target + first - 1)
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
  if (!page) return text
  return (
    <>
      {text}
      <PageBar page={page} count={count} sizeBytes={sizeBytes ?? page.to} />
    </>
  )
}
