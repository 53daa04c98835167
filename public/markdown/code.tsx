/** Code block: language label, copy button and highlighting; long blocks grow without a full relayout. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../parts/copy-button.tsx'
import { lazy } from '../parts/lazy.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import { t } from '../strings/t.ts'
import { grammarOf, paint, spansOf } from './highlight.ts'

/** Lines per piece: a new token then changes one small element. */
const PIECE_LINES = 40

const pieces = (text: string): string[] => {
  const found: string[] = []
  let from = 0
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    if (++lines % PIECE_LINES) continue
    found.push(text.slice(from, at + 1))
    from = at + 1
  }
  if (from < text.length || found.length === 0) found.push(text.slice(from))
  return found
}

/** Code without a frame, highlighted when `grammar` is known. */
export function CodeText({ text, grammar }: { text: string; grammar: string | null }) {
  const place = useRef<HTMLElement>(null)
  useEffect(() => {
    const element = place.current
    if (!grammar || !element) return
    let clear = () => {}
    let current = true
    spansOf(text, grammar).then(
      spans => {
        if (current) clear = paint(element, spans)
      },
      // Without the grammar the code stays plain.
      () => undefined,
    )
    return () => {
      current = false
      clear()
    }
  }, [text, grammar])
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

export function CodeBlock({ text, lang, open }: { text: string; lang: string; open: boolean }) {
  const [drawn, setDrawn] = useState(false)
  const diagram = lang.toLowerCase() === 'mermaid' && !open
  return (
    <figure class="md-code">
      <figcaption class="md-code-head">
        <span class="md-code-lang">{lang || t('code.plain')}</span>
        {diagram && (
          <button type="button" class="tx-link" onClick={() => setDrawn(!drawn)}>
            {drawn ? t('code.source') : t('code.diagram')}
          </button>
        )}
        <CopyButton text={text} label={t('code.copy')} />
      </figcaption>
      {drawn ? (
        <Diagram text={text} onFail={() => setDrawn(false)} />
      ) : (
        <ScrollBox class="md-pre" label={t('code.label', { lang: lang || t('code.plain') })}>
          <pre>
            <CodeText text={text} grammar={open ? null : grammarOf(lang)} />
          </pre>
        </ScrollBox>
      )}
    </figure>
  )
}
