/** Output of a program: coloured, its last lines first, the rest on demand. */
import { useMemo, useState } from 'preact/hooks'
import { t } from '../strings/t.ts'
import { parseAnsi, stripAnsi } from './ansi.ts'
import type { Piece } from './ansi.ts'
import { ScrollBox } from './scroll-box.tsx'

const FIRST_LINES = 12
/** More pieces than this would crowd the page; the text then stays uncoloured. */
const MAX_PIECES = 400

const lastLines = (text: string, count: number): string => {
  let at = text.length
  for (let line = 0; line < count; line++) {
    at = text.lastIndexOf('\n', at - 1)
    if (at < 0) return text
  }
  return text.slice(at + 1)
}

export function TerminalText({ text, label }: { text: string; label: string }) {
  const [whole, setWhole] = useState(false)
  const trimmed = text.replace(/\s+$/, '')
  const shown = whole ? trimmed : lastLines(trimmed, FIRST_LINES)
  const pieces = useMemo(() => {
    const found = parseAnsi(shown)
    return found.length > MAX_PIECES ? [{ text: stripAnsi(shown), style: {} }] : found
  }, [shown])
  const lines = shown === trimmed ? 0 : trimmed.split('\n').length
  if (!trimmed) return <p class="tool-note">{t('tool.empty')}</p>
  return (
    <div class="term">
      {lines > 0 && (
        <button type="button" class="tx-more" onClick={() => setWhole(true)}>
          {t('tool.lines', { count: lines })}
        </button>
      )}
      <ScrollBox class={whole ? 'term-box term-whole' : 'term-box'} label={label}>
        <pre dir="ltr">{pieces.map(colored)}</pre>
      </ScrollBox>
    </div>
  )
}

/** Programs choose colours for a black screen; mixed with the theme's own they can be read on every one. */
const legible = (color: string): string => `color-mix(in oklab, ${color} 55%, var(--text))`
const muted = (color: string): string => `color-mix(in oklab, ${color} 25%, transparent)`

const colored = ({ text, style }: Piece, index: number) => {
  const names = classes(style)
  const own = {
    ...(typeof style.color === 'string' && { color: legible(style.color) }),
    ...(typeof style.background === 'string' && { backgroundColor: muted(style.background) }),
  }
  if (!names && Object.keys(own).length === 0) return text
  // An object goes through the object model, which the page's policy admits.
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
