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

const DETAILS = /^<details(\s+open)?>\s*(?:<summary>([\s\S]*?)<\/summary>)?([\s\S]*)$/i
const END = /<\/details>\s*$/i

type Lex = (text: string) => Token[]

/** A summary is one line. */
const inlineOf = (blocks: readonly Token[]): Token[] =>
  blocks.flatMap(block => ('tokens' in block ? (block.tokens ?? []) : []))

/**
 * Blocks with `<details>` and what is in it as one token. Blank lines make several blocks of it; one without an end contains
 * everything that follows, as in a text that is still being written.
 */
export const groupDetails = (tokens: readonly Token[], lex: Lex): Token[] => {
  if (!tokens.some(({ type, raw }) => type === 'html' && DETAILS.test(raw))) return [...tokens]
  const out: Token[] = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!
    const [, open, summary, rest = ''] =
      token.type === 'html' ? (DETAILS.exec(token.raw) ?? []) : []
    if (token.type !== 'html' || !DETAILS.test(token.raw)) {
      out.push(token)
      continue
    }
    const isWhole = END.test(token.raw)
    let depth = 1
    let end = at + 1
    for (; !isWhole && end < tokens.length; end++) {
      const { type, raw } = tokens[end]!
      if (type !== 'html') continue
      if (DETAILS.test(raw) && !END.test(raw)) depth += 1
      if (/^<\/details>\s*$/i.test(raw)) depth -= 1
      if (depth === 0) break
    }
    const inner = isWhole ? [] : tokens.slice(at + 1, end)
    out.push({
      type: 'details',
      raw: rawOf(tokens.slice(at, isWhole ? at + 1 : end + 1)),
      open: open !== undefined,
      summary: summary === undefined ? null : inlineOf(lex(summary.trim())),
      tokens: groupDetails([...lex(rest.replace(END, '').trim()), ...inner], lex),
    } satisfies DetailsToken)
    if (!isWhole) at = end
  }
  return out
}
