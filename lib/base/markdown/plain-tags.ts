/** HTML that people and models write in Markdown: a short list of tags without attributes. All other HTML is shown as text. */
import type { Token, Tokens } from 'marked'

const PAIRED = [
  'sub',
  'sup',
  'kbd',
  'mark',
  'b',
  'strong',
  'i',
  'em',
  'u',
  's',
  'del',
  'ins',
  'small',
] as const

export type PlainTag = (typeof PAIRED)[number]
export type TagToken = { type: 'tag'; raw: string; tag: PlainTag; tokens: Token[] }
/** `summary`: null where it has none. */
export type DetailsToken = {
  type: 'details'
  raw: string
  summary: Token[] | null
  tokens: Token[]
  open: boolean
}

const TAG = /^<(\/?)([a-z]+)\s*(\/?)>$/i
const BREAK = /^<br\s*\/?>$/i

const isPaired = (name: string): name is PlainTag => (PAIRED as readonly string[]).includes(name)

const tagOf = (token: Token): { name: PlainTag; closes: boolean } | null => {
  if (token.type !== 'html') return null
  const [, slash, name = '', end] = TAG.exec(token.raw.trim()) ?? []
  const lower = name.toLowerCase()
  return isPaired(lower) && end === '' ? { name: lower, closes: slash === '/' } : null
}

const rawOf = (tokens: readonly Token[]): string => tokens.map(({ raw }) => raw).join('')

/** Inline tokens with tags that have an end as tokens around what is between, and `<br>` as a line break. Others stay as they are. */
export const pairTags = (tokens: Token[]): void => {
  if (!tokens.some(({ type }) => type === 'html')) return
  const open: { name: PlainTag; at: number }[] = []
  const out: Token[] = []
  for (const token of tokens) {
    if (token.type === 'html' && BREAK.test(token.raw)) {
      out.push({ type: 'br', raw: token.raw })
      continue
    }
    const tag = tagOf(token)
    const at = tag?.closes ? open.findLastIndex(({ name }) => name === tag.name) : -1
    if (tag && !tag.closes) open.push({ name: tag.name, at: out.length })
    out.push(token)
    const begin = open[at]
    if (!tag || !begin) continue
    open.splice(at)
    const all = out.splice(begin.at)
    const inner = all.slice(1, -1)
    out.push({ type: 'tag', raw: rawOf(all), tag: tag.name, tokens: inner } satisfies TagToken)
  }
  tokens.splice(0, tokens.length, ...out)
}

/** Whether a block of HTML is inline text that begins with one of the tags. */
export const isInlineHtml = (token: Token): boolean => {
  const [first = ''] = token.type === 'html' ? (/^<[^>]*>/.exec(token.raw.trim()) ?? []) : []
  return BREAK.test(first) || tagOf({ type: 'html', raw: first } as Tokens.HTML) !== null
}

const DETAILS =
  /<details(?<open>\s+open)?\s*>(?:\s*<summary>(?<summary>[\s\S]*?)<\/summary>)?|<\/details\s*>/gi

type Lex = (text: string) => Token[]

/** A summary is one line. */
const inlineOf = (blocks: readonly Token[]): Token[] =>
  blocks.flatMap(block => ('tokens' in block ? (block.tokens ?? []) : []))

type TagPart = { raw: string } & (
  | { token: Token }
  | { token: null; begins: boolean; open: boolean; summary: string | undefined }
)

/** A block of HTML ends at a blank line, and may begin and end several of them with text between. */
const partsOf = (token: Token, lex: Lex): TagPart[] => {
  const { raw } = token
  const tags = token.type === 'html' && !raw.startsWith('<!--') ? [...raw.matchAll(DETAILS)] : []
  if (tags.length === 0) return [{ raw, token }]
  const between = (from: number, to = raw.length): TagPart[] =>
    lex(raw.slice(from, to).trim()).map(each => ({ raw: each.raw, token: each }))
  return tags.flatMap((match, n) => {
    const end = match.index + match[0].length
    const { open, summary } = match.groups!
    const begins = !match[0].startsWith('</')
    return [
      ...(n === 0 ? between(0, match.index) : []),
      { raw: match[0], token: null, begins, open: open !== undefined, summary },
      ...between(end, tags[n + 1]?.index),
    ]
  })
}

/**
 * Blocks with `<details>` and what is in it as one token. Blank lines make several blocks of it; one without an end contains
 * everything that follows, as in a text that is still being written.
 */
export const groupDetails = (tokens: readonly Token[], lex: Lex): Token[] => {
  const out: Token[] = []
  const inside: DetailsToken[] = []
  const put = (token: Token): void => void (inside.at(-1)?.tokens ?? out).push(token)
  for (const part of tokens.flatMap(token => partsOf(token, lex))) {
    const { raw } = part
    for (const each of inside) each.raw += raw
    if (part.token) put(part.token)
    else if (part.begins) {
      const summary = part.summary === undefined ? null : inlineOf(lex(part.summary.trim()))
      const begun: DetailsToken = { type: 'details', raw, open: part.open, summary, tokens: [] }
      put(begun)
      inside.push(begun)
    } else if (!inside.pop()) put({ type: 'html', raw, text: raw } as Token)
  }
  return out
}
