/** Renders Markdown. Writes no HTML: model text becomes text nodes or validated attributes. */
import { useMemo, useRef } from 'preact/hooks'
import type { ComponentChild } from 'preact'
import { ScrollBox } from '../parts/scroll-box.tsx'
import { t } from '../strings/transcript-strings.ts'
import { Blocks } from './blocks.ts'
import type { Footnotes } from './blocks.ts'
import { CodeBlock } from './code.tsx'
import { inline } from './inline.tsx'
import { lex } from '../../lib/base/markdown/lexer.ts'
import type { Token, Tokens } from '../../lib/base/markdown/lexer.ts'
import { type DetailsToken, groupDetails } from '../../lib/base/markdown/plain-tags.ts'
import { Formula } from './math.tsx'
import { useShowMore } from './show-more.tsx'

/** Hebrew, Arabic, Syriac, Thaana, N'Ko and their presentation forms. */
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/

/**
 * `dir="auto"` skips descendants that have a direction of their own, as the paragraphs in a list have, so the attribute alone
 * would not decide. `raw`: Markdown.
 */
export const directionOf = (raw: string): 'ltr' | 'rtl' => {
  const letter = raw.replace(/```[\s\S]*?```|`[^`\n]*`/g, '').match(/\p{L}/u)?.[0] ?? ''
  return RTL.test(letter) ? 'rtl' : 'ltr'
}

/** Context of the tokens being rendered. */
export type RenderContext = {
  id: string
  footnotes: Footnotes
  open: boolean
  /** Of the document, relative to the workspace: its links and images are relative to it. */
  directory: string
  /** Level of the heading above, to skip none: an answer may begin with `###`. */
  above: number
  /** Inside a link, which cannot contain another one. */
  isLink?: boolean
}

/** Longer lists and tables show more on demand, to limit DOM nodes. */
const MAX_ROWS = 60
const MAX_ITEMS = 120

type MarkdownProps = { text: string; open?: boolean; id: string; directory?: string }

export function Markdown({ text, open = false, id, directory = '' }: MarkdownProps) {
  const blocks = useRef<Blocks>(null)
  blocks.current ??= new Blocks()
  const list = blocks.current.update(text, open)
  const footnotes = blocks.current.footnotes()
  const grouped = groupDetails(
    list.map(({ token }) => token),
    lex,
  )
  const keys = new Map(list.map(({ key, token }) => [token, key]))
  const last = grouped.length - 1
  let level = PAGE_LEVEL
  return (
    <div class="md">
      {grouped.map((token, index) => {
        const above = level
        if (token.type === 'heading') level = levelOf(token as Tokens.Heading, above)
        return (
          <Block
            key={keys.get(token) ?? `group-${index}`}
            token={token}
            place={{ id, footnotes, directory, above, open: open && index === last }}
          />
        )
      })}
      {/* While streaming, footnotes would be pushed down by every new line. */}
      {!open && footnotes.size > 0 && (
        <Notes place={{ id, footnotes, directory, above: level, open }} />
      )}
    </div>
  )
}

/** Memoized: a closed block is not diffed again. */
function Block({ token, place }: { token: Token; place: RenderContext }) {
  const notes = [...place.footnotes.keys()].join()
  return useMemo(
    () => block(token, place),
    [token, place.open, place.directory, place.above, notes],
  )
}

const blocksOf = (tokens: Token[] | undefined, place: RenderContext): ComponentChild[] =>
  groupDetails(tokens ?? [], lex).map(token => block(token, place))

const block = (token: Token, place: RenderContext): ComponentChild => {
  switch (token.type) {
    case 'paragraph':
      return <p dir="auto">{inline(token.tokens, place)}</p>
    case 'text':
      return token.tokens ? inline(token.tokens, place) : inline([token], place)
    case 'heading':
      return heading(token as Tokens.Heading, place)
    case 'code':
      return (
        <CodeBlock
          text={token.text}
          lang={(token.lang ?? '').trim().split(/\s/)[0]!.slice(0, 40)}
          open={place.open}
        />
      )
    case 'blockquote':
      return <blockquote dir={directionOf(token.raw)}>{blocksOf(token.tokens, place)}</blockquote>
    case 'list':
      return <List token={token as Tokens.List} place={place} />
    case 'table':
      return <Table token={token as Tokens.Table} place={place} />
    case 'hr':
      return <hr />
    case 'mathBlock':
      return <Formula text={token.text} display />
    case 'details':
      return <Details token={token as DetailsToken} place={place} />
    case 'html':
      return (
        <p class="md-html" dir="auto">
          {token.raw.trimEnd()}
        </p>
      )
    case 'checkbox':
    case 'footnote':
    case 'def':
    case 'space':
      return null
    default:
      return inline([token], place)
  }
}

/** Of the headings of the page. */
const PAGE_LEVEL = 2

const levelOf = ({ depth }: Tokens.Heading, above: number): number =>
  Math.min(6, depth + PAGE_LEVEL, above + 1)

const heading = (token: Tokens.Heading, place: RenderContext): ComponentChild => {
  const Tag = `h${levelOf(token, place.above)}` as 'h3'
  return (
    <Tag class={`md-h${token.depth}`} dir="auto">
      {inline(token.tokens, place)}
    </Tag>
  )
}

function List({ token, place }: { token: Tokens.List; place: RenderContext }) {
  const Tag = token.ordered ? 'ol' : 'ul'
  const start = token.ordered && token.start !== 1 ? Number(token.start) : undefined
  const more = useShowMore(token.items, MAX_ITEMS)
  return (
    <>
      <Tag dir={directionOf(token.raw)} {...(start === undefined ? {} : { start })}>
        {more.visible.map((item, index) => (
          <li key={index} class={item.task ? 'md-task' : undefined}>
            {item.task && (
              <span
                class={item.checked ? 'md-box md-box-on' : 'md-box'}
                role="img"
                aria-label={item.checked ? t('md.done') : t('md.open')}
              />
            )}
            {item.task ? <div>{blocksOf(item.tokens, place)}</div> : blocksOf(item.tokens, place)}
          </li>
        ))}
      </Tag>
      {more.button}
    </>
  )
}

function Table({ token, place }: { token: Tokens.Table; place: RenderContext }) {
  const more = useShowMore(token.rows, MAX_ROWS)
  const cell = (Tag: 'th' | 'td') => (data: Tokens.TableCell, index: number) => (
    <Tag key={index} class={data.align ? `md-${data.align}` : undefined}>
      {inline(data.tokens, place)}
    </Tag>
  )
  return (
    <>
      <ScrollBox class="md-table" label={t('md.table')}>
        <table dir={directionOf(token.raw)}>
          <thead>
            <tr>{token.header.map(cell('th'))}</tr>
          </thead>
          <tbody>
            {more.visible.map((row, index) => (
              <tr key={index}>{row.map(cell('td'))}</tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {more.button}
    </>
  )
}

function Details({ token, place }: { token: DetailsToken; place: RenderContext }) {
  return (
    <details open={token.open} dir="auto">
      {token.summary && <summary>{inline(token.summary, place)}</summary>}
      {blocksOf(token.tokens, place)}
    </details>
  )
}

function Notes({ place }: { place: RenderContext }) {
  return (
    <section class="md-notes" aria-label={t('md.notes')}>
      <ol>
        {[...place.footnotes].map(([label, note]) => (
          <li key={label} id={`${place.id}-note-${label}`}>
            {blocksOf(note.tokens, place)}
          </li>
        ))}
      </ol>
    </section>
  )
}
