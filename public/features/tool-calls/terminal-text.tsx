/** Terminal output: the last lines in color, the rest on demand. */
import { useMemo, useState } from 'preact/hooks'
import { t } from '../../strings/t.ts'
import { parseAnsi, stripAnsi } from './ansi.ts'
import type { Piece } from './ansi.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'

const FIRST_LINES = 12
/** Output with more pieces is shown without color, to limit the number of DOM nodes. */
const MAX_PIECES = 2_000

const lastLines = (text: string, count: number): string => {
  let at = text.length
  for (let line = 0; line < count; line++) {
    at = text.lastIndexOf('\n', at - 1)
    if (at < 0) return text
  }
  return text.slice(at + 1)
}

/** The part of the output that is not loaded. */
export type Rest = { lines: number; load: () => Promise<void> }

type Props = { text: string; label: string; rest?: Rest | null }

export function TerminalText({ text, label, rest = null }: Props) {
  const [whole, setWhole] = useState(false)
  const [state, setState] = useState<'idle' | 'loading' | 'failed'>('idle')
  const trimmed = text.replace(/\s+$/, '')
  const shown = whole && !rest ? trimmed : lastLines(trimmed, FIRST_LINES)
  const pieces = useMemo(() => {
    const found = parseAnsi(shown)
    return found.length > MAX_PIECES ? [{ text: stripAnsi(shown), style: {} }] : found
  }, [shown])
  const lines = rest ? rest.lines : shown === trimmed ? 0 : trimmed.split('\n').length
  const showAll = () => {
    setWhole(true)
    if (!rest) return
    setState('loading')
    rest.load().catch(() => setState('failed'))
  }
  if (!trimmed) return <p class="tool-note">{t('tool.empty')}</p>
  return (
    <div class="term">
      {lines > 0 && (
        <button
          type="button"
          class="tx-more"
          onClick={showAll}
          disabled={rest !== null && state === 'loading'}
        >
          {rest && state === 'failed'
            ? t('tool.fetch.failed')
            : rest && state === 'loading'
              ? t('tx.loading')
              : t('tool.lines', { count: lines })}
        </button>
      )}
      <ScrollBox class={whole && !rest ? 'term-box term-whole' : 'term-box'} label={label}>
        <pre dir="ltr">{pieces.map(colored)}</pre>
      </ScrollBox>
    </div>
  )
}

/** Programs choose colors for a black screen; mixing them with the theme's text color keeps them readable. */
const legible = (color: string): string => `color-mix(in oklab, ${color} 55%, var(--text))`
const muted = (color: string): string => `color-mix(in oklab, ${color} 25%, transparent)`

const colored = ({ text, style }: Piece, index: number) => {
  const names = classes(style)
  const own = {
    ...(typeof style.color === 'string' && { color: legible(style.color) }),
    ...(typeof style.background === 'string' && { backgroundColor: muted(style.background) }),
  }
  if (!names && Object.keys(own).length === 0) return text
  // A style object is set through the CSSOM, which the Content-Security-Policy allows.
  return (
    <span key={index} class={names} style={own}>
      {text}
    </span>
  )
}

const classes = (style: Piece['style']): string => {
  const names: string[] = []
  if (typeof style.color === 'number') names.push(`term-c${style.color}`)
  if (typeof style.background === 'number') names.push(`term-b${style.background}`)
  for (const key of ['bold', 'dim', 'italic', 'underline', 'strike', 'inverse'] as const) {
    if (style[key]) names.push(`term-${key}`)
  }
  return names.join(' ')
}
