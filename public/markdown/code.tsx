/** Code block: language label, copy button and highlighting; long blocks grow without a full relayout. */
import { useSignal } from '@preact/signals'
import { useContext, useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { AppContext } from '../features/shell/context.ts'
import { visibleWords } from '../../lib/base/visible.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { lazy } from '../parts/lazy.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import { t } from '../strings/transcript-strings.ts'
import { diagramHeight } from './diagram-size.ts'

/** Lines per piece: a new token then changes one small element. */
const PIECE_LINES = 40

const pieces = (text: string): string[] => {
  const result: string[] = []
  let from = 0
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    if (++lines % PIECE_LINES) continue
    result.push(text.slice(from, at + 1))
    from = at + 1
  }
  if (from < text.length || result.length === 0) result.push(text.slice(from))
  return result
}

type CodeTextProps = {
  text: string
  /** Fence label, file extension or language; null for plain text. */
  label: string | null
  /** It is still being written. */
  isOpen?: boolean
}

type Highlighter = typeof import('./highlight.ts')
const cache: { highlighter: Highlighter | null } = { highlighter: null }

const loadHighlighter = async (): Promise<Highlighter> => {
  cache.highlighter ??= await import('./highlight.ts')
  return cache.highlighter
}

/** Code without a frame, highlighted when there is a grammar for its label. */
export function CodeText({ text, label, isOpen = false }: CodeTextProps) {
  const place = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const element = place.current
    if (!label || !element) return
    // Before the code is shown, so that it does not change its colors.
    const painted = cache.highlighter?.paintNow(element, text, label, isOpen)
    if (painted) return painted
    let clear = () => {}
    let current = true
    loadHighlighter()
      .then(({ paintLater }) => paintLater(element, text, label))
      .then(
        painted => {
          clear = painted
          if (!current) painted()
        },
        // Without the grammar the code stays plain.
        () => undefined,
      )
    return () => {
      current = false
      clear()
    }
  }, [text, label, isOpen])
  return (
    <code ref={place} dir="ltr">
      {pieces(text).map((piece, index) => (
        <span key={index} class="code-piece">
          {piece}
        </span>
      ))}
    </code>
  )
}

const Diagram = lazy(async () => (await import('./diagram.tsx')).Diagram, true, false)

/** Languages of documents that the artifact pane shows, with the name of the document. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  html: 'page.html',
  svg: 'image.svg',
  mermaid: 'diagram.mmd',
  markdown: 'document.md',
  md: 'document.md',
  csv: 'table.csv',
}

/** Opens the text beside the chat. Absent outside of a chat, where there is no such place. */
const OpenButton = ({ text, lang }: { text: string; lang: string }) => {
  const app = useContext(AppContext)
  const name = DOCUMENTS[lang]
  if (!app || !name || app.shell.route.current.value.view !== 'chat') return null
  if (!app.chat.transcript.sessionId.value) return null
  return (
    <button
      type="button"
      class="tx-link"
      onClick={() => app.panel.openTarget({ path: name, line: null, text })}
    >
      {t('code.open')}
    </button>
  )
}

/** A diagram with more is drawn on demand only. */
const MAX_DRAWN_CHARS = 20_000

/** Longer lines do not fit into the column. */
const WIDE_LINE = /.{81}/

/** `TypeScript` for `ts`, once the highlighting is loaded. */
const useLanguageName = (lang: string): string => {
  const { highlighter } = cache
  const late = useSignal(highlighter !== null)
  useEffect(() => {
    if (lang && !late.value)
      loadHighlighter().then(
        () => {
          late.value = true
        },
        () => undefined,
      )
  }, [])
  return cache.highlighter?.languageName(lang.toLowerCase()) ?? (lang || t('code.plain'))
}

type CodeBlockProps = { text: string; lang: string; open: boolean }

export function CodeBlock({ text, lang, open }: CodeBlockProps) {
  const kind = lang.toLowerCase()
  const isDiagram = kind === 'mermaid'
  const name = useLanguageName(lang)
  const wraps = useSignal(false)
  const choice = useSignal<boolean | null>(null)
  const failedText = useSignal('')
  // Not what the drawing measures meanwhile: nothing moves while it is shown.
  const height = useMemo(() => (isDiagram ? diagramHeight(text) : 0), [isDiagram && text])
  const isDrawn =
    isDiagram && failedText.value !== text && (choice.value ?? text.length <= MAX_DRAWN_CHARS)
  return (
    <figure class="md-code">
      <figcaption class="md-code-head">
        <span class="md-code-lang">{name}</span>
        {isDiagram && failedText.value === text && (
          <span class="md-code-note">{t('code.failed')}</span>
        )}
        {isDiagram && failedText.value !== text && (
          <button
            type="button"
            class="tx-link"
            onClick={() => {
              choice.value = !isDrawn
            }}
          >
            {isDrawn ? t('code.source') : t('code.diagram')}
          </button>
        )}
        {!open && failedText.value !== text && <OpenButton text={text} lang={kind} />}
        {!open && !isDrawn && WIDE_LINE.test(text) && (
          <button
            type="button"
            class="tx-link"
            aria-pressed={wraps.value}
            onClick={() => {
              wraps.value = !wraps.value
            }}
          >
            {t('code.wrap')}
          </button>
        )}
        <CopyButton text={text} label={t('code.copy')} />
      </figcaption>
      {isDrawn ? (
        <div class="md-diagram-box" style={{ blockSize: `${height}px` }}>
          {!open && (
            <Diagram
              text={text}
              onFail={() => {
                failedText.value = text
              }}
            />
          )}
        </div>
      ) : (
        <ScrollBox
          class={wraps.value ? 'md-pre md-pre-wrap' : 'md-pre'}
          label={t('code.label', { lang: name })}
        >
          <pre>
            <CodeText text={visibleWords(text)} label={lang} isOpen={open} />
          </pre>
        </ScrollBox>
      )}
    </figure>
  )
}
