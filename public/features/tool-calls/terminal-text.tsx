/** Terminal output in color: the last lines first, earlier ones on demand, and a search over all of it. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { LinkedText } from '../../markdown/linked-text.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { parseAnsi, stripAnsi } from './ansi.ts'
import type { Piece } from './ansi.ts'
import { t } from './strings.ts'

const FIRST_LINES = 12
/** This many more are shown rather than a button for them. */
const SLACK_LINES = 3
/** Lines that a press of the button adds: all of a usual output, one part of a huge one. */
const PART_LINES = 1_000
/** Output with more pieces is shown without color, to limit the number of DOM nodes. */
const MAX_PIECES = 2_000
const MAX_FOUND = 200

/** The part of the output that is not loaded. */
export type Rest = { lines: number; load: () => Promise<void> }

type Props = {
  text: string
  label: string
  rest?: Rest | null
  /** Shown with the number of lines; null: unknown, or none. */
  exitCode?: number | null
  /** Output that still grows: the last name in it may be incomplete, so it has no links. */
  live?: boolean
}

type Loading = 'idle' | 'loading' | 'failed'

export function TerminalText(props: Props) {
  const { text, label, rest = null, exitCode = null, live = false } = props
  const count = useSignal(FIRST_LINES)
  const state = useSignal<Loading>('idle')
  const query = useSignal('')
  const lines = useMemo(() => text.trimEnd().split('\n'), [text])
  const total = rest ? rest.lines : lines.length
  const limit = lines.length - count.value <= SLACK_LINES && !rest ? lines.length : count.value
  const start = lines.length - limit
  const load = () => {
    if (!rest || state.value === 'loading') return
    state.value = 'loading'
    rest.load().then(
      () => {
        state.value = 'idle'
      },
      () => {
        state.value = 'failed'
      },
    )
  }
  const showMore = () => {
    count.value = count.value === FIRST_LINES ? PART_LINES : count.value + PART_LINES
    load()
  }
  if (!text.trim()) return <Summary exitCode={exitCode} text={t('tool.empty')} />
  const isLong = total > FIRST_LINES + SLACK_LINES
  const visibleLines = Math.min(limit, total)
  return (
    <div class="term">
      {(isLong || (exitCode ?? 0) !== 0) && (
        <div class="term-bar">
          <Summary
            exitCode={exitCode}
            text={
              visibleLines < total
                ? t('output.last', { count: total, shown: visibleLines })
                : t('output.whole', { count: total })
            }
          />
          {isLong && (
            <input
              type="search"
              class="term-find"
              placeholder={t('output.find')}
              aria-label={t('output.find')}
              value={query.value}
              onInput={event => {
                query.value = event.currentTarget.value
                load()
              }}
            />
          )}
          {(start > 0 || rest) && !query.value && (
            <button
              type="button"
              class="tx-more"
              onClick={showMore}
              disabled={state.value === 'loading'}
            >
              {state.value === 'failed'
                ? t('tool.fetch.failed')
                : state.value === 'loading'
                  ? t('tx.loading')
                  : total > PART_LINES
                    ? t('output.earlier', {
                        count: Math.min(
                          PART_LINES - (count.value === FIRST_LINES ? FIRST_LINES : 0),
                          total - visibleLines,
                        ),
                      })
                    : t('output.all')}
            </button>
          )}
          {count.value > FIRST_LINES && isLong && start === 0 && !query.value && (
            <button
              type="button"
              class="tx-more"
              onClick={() => {
                count.value = FIRST_LINES
              }}
            >
              {t('output.less')}
            </button>
          )}
        </div>
      )}
      {query.value ? (
        <Found lines={lines} query={query.value} label={label} />
      ) : (
        <ScrollBox
          class={limit > FIRST_LINES + SLACK_LINES ? 'term-box term-whole' : 'term-box'}
          label={label}
        >
          <Colored
            text={start > 0 ? lines.slice(start).join('\n') : lines.join('\n')}
            live={live}
          />
        </ScrollBox>
      )}
    </div>
  )
}

const Summary = ({ exitCode, text }: { exitCode: number | null; text: string }) => (
  <p class="term-sum">
    {exitCode !== null && (
      <>
        <span class={exitCode === 0 ? '' : 'term-bad'}>
          {t('output.exit', { code: `${exitCode}` })}
        </span>
        {' · '}
      </>
    )}
    {text}
  </p>
)

function Colored({ text, live }: { text: string; live: boolean }) {
  const pieces = useMemo(() => {
    const spans = parseAnsi(text)
    return spans.length > MAX_PIECES ? [{ text: stripAnsi(text), style: {} }] : spans
  }, [text])
  return <pre dir="ltr">{pieces.map((piece, index) => colored(piece, index, live))}</pre>
}

/** The lines that contain the query, with their numbers. */
function Found({
  lines,
  query,
  label,
}: {
  lines: readonly string[]
  query: string
  label: string
}) {
  const matches = useMemo(() => findLines(lines, query), [lines, query])
  const visible = matches.slice(0, MAX_FOUND)
  return (
    <>
      <p class="tool-note" role="status">
        {matches.length === 0
          ? t('output.found.none')
          : matches.length > visible.length
            ? t('output.found.first', { shown: visible.length, count: matches.length })
            : t('output.found', { count: matches.length })}
      </p>
      {visible.length > 0 && (
        <ScrollBox class="term-box term-whole" label={label}>
          <pre dir="ltr" class="numbered">
            {visible.map(({ number, parts }) => (
              <div key={number} data-n={number}>
                {parts.map((part, at) => (at % 2 === 1 ? <mark key={at}>{part}</mark> : part))}
                {'\n'}
              </div>
            ))}
          </pre>
        </ScrollBox>
      )}
    </>
  )
}

/** Matching lines as parts, of which every second one matches. Case counts only when the query has capitals. */
const findLines = (
  lines: readonly string[],
  query: string,
): { number: number; parts: string[] }[] => {
  const escaped = query.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = new RegExp(`(${escaped})`, /\p{Lu}/u.test(query) ? 'gu' : 'giu')
  return lines.flatMap((line, at) => {
    const parts = stripAnsi(line).split(pattern)
    return parts.length > 1 ? [{ number: at + 1, parts }] : []
  })
}

/** Programs choose colors for a black screen; mixing them with the theme's text color keeps them readable. */
const legible = (color: string): string => `color-mix(in oklab, ${color} 55%, var(--text))`
const muted = (color: string): string => `color-mix(in oklab, ${color} 25%, transparent)`

const colored = ({ text, style }: Piece, index: number, live: boolean) => {
  const content = live ? text : <LinkedText key={index} text={text} />
  const names = classes(style)
  const own = {
    ...(typeof style.color === 'string' && { color: legible(style.color) }),
    ...(typeof style.background === 'string' && { backgroundColor: muted(style.background) }),
  }
  if (!names && Object.keys(own).length === 0) return content
  // A style object is set through the CSSOM, which the Content-Security-Policy allows.
  return (
    <span key={index} class={names} style={own}>
      {content}
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
