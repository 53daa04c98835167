/** Splits streamed Markdown into blocks; only the last, open block is parsed again when text arrives. */
import { completePartial } from './complete-partial.ts'
import { lex } from '../../lib/base/markdown/lexer.ts'
import type { Links, Token } from '../../lib/base/markdown/lexer.ts'

export type Block = { key: number; token: Token }
export type Footnote = Token & { type: 'footnote'; label: string; tokens: Token[] }
export type Footnotes = ReadonlyMap<string, Footnote>

type OpenFence = { at: number; lang: string; body: number; close: RegExp; scanned: number }

export class Blocks {
  #text = ''
  #final = false
  #closedEnd = 0
  #closed: Block[] = []
  #links: Links = {}
  #fence: OpenFence | null = null
  #result: readonly Block[] = []

  /** Blocks of `text`; cheap when it extends the text of the last call. `open`: more text will follow. */
  update(next: string, open: boolean): readonly Block[] {
    // Normalizes line ends as marked does, so that the lengths of `raw` add up.
    const text = next.includes('\r') ? next.replace(/\r\n?/g, '\n') : next
    if (text === this.#text && this.#final === !open) return this.#result
    if (this.#final || !text.startsWith(this.#text)) {
      this.#closedEnd = 0
      this.#closed = []
      this.#links = {}
      this.#fence = null
    }
    this.#text = text
    this.#final = !open
    this.#advance(open)
    const closed = this.#closed
    const rest = text.slice(this.#closedEnd)
    if (this.#fence) this.#result = [...closed, fenced(text, this.#fence, closed.length)]
    else if (!rest) this.#result = [...closed]
    else {
      const tokens = lex(completePartial(rest), { ...this.#links })
      this.#result = [...closed, ...number(tokens, closed.length)]
    }
    return this.#result
  }

  /** Number of blocks at the beginning that further text doesn't change. */
  closed(): number {
    return this.#closed.length
  }

  /** Footnotes by label, in document order. */
  footnotes(): Footnotes {
    const notes = new Map<string, Footnote>()
    for (const { token } of this.#result) {
      if (token.type === 'footnote') notes.set((token as Footnote).label, token as Footnote)
    }
    return notes
  }

  /** Closes blocks that further text can't change. */
  #close(tokens: Token[]): void {
    for (const token of tokens) {
      this.#closedEnd += token.raw.length
      if (isShown(token)) this.#closed.push({ key: this.#closed.length, token })
    }
  }

  /** Lexes the open part. A link definition changes brackets that were already rendered as text. */
  #advance(open: boolean): void {
    const text = this.#text
    if (this.#fence && (!open || isClosed(text, this.#fence))) this.#fence = null
    else this.#fence ??= openFence(text, this.#closedEnd, open)
    if (this.#fence) return
    const tokens = lex(text.slice(this.#closedEnd), { ...this.#links })
    const done = open ? tokens.slice(0, tokens.length - stillOpen(tokens)) : tokens
    const late = addLinks(this.#links, done) && this.#closed.length > 0
    if (late) {
      const end = this.#closedEnd + done.reduce((sum, token) => sum + token.raw.length, 0)
      this.#closedEnd = 0
      this.#closed = []
      this.#close(lex(text.slice(0, end), { ...this.#links }))
    } else this.#close(done)
    this.#fence = openFence(text, this.#closedEnd, open)
  }
}

/** Adds new link definitions; true when there were any. The first definition of a name wins. */
const addLinks = (links: Links, tokens: Token[]): boolean => {
  let added = false
  for (const token of tokens) {
    if (token.type !== 'def' || Object.hasOwn(links, token.tag)) continue
    links[token.tag] = { href: token.href, title: token.title }
    added = true
  }
  return added
}

const isShown = (token: Token): boolean => token.type !== 'space' && token.type !== 'def'

const number = (tokens: Token[], from: number): Block[] =>
  tokens.filter(isShown).map((token, index) => ({ key: from + index, token }))

/**
 * Number of tokens at the end that may still change: the last block, and the one before it
 * until the first line of the last one is complete: "text\n***" is a rule, "text\n***bold***" is not.
 */
const stillOpen = (tokens: Token[]): number => {
  let count = 0
  let blocks = 0
  for (const token of tokens.toReversed()) {
    count++
    if (token.type === 'space') continue
    blocks++
    if (blocks > 1 || /[^\n]\n/.test(token.raw)) return count
  }
  return count
}

/** An open fence is scanned line by line, so that a long file isn't lexed again for each token. */
const openFence = (text: string, at: number, open: boolean): OpenFence | null => {
  if (!open) return null
  const head = /^\n*( {0,3})(`{3,}|~{3,})([^\n]*)\n/.exec(text.slice(at, at + 300))
  if (!head) return null
  const [whole, , marks, info] = head as unknown as [string, string, string, string]
  if (marks[0] === '`' && info.includes('`')) return null
  const close = new RegExp(`^ {0,3}${marks[0]}{${marks.length},}[ \\t]*$`)
  const lang = info.trim().split(/\s/)[0] ?? ''
  const fence = { at, lang, body: at + whole.length, close, scanned: at + whole.length }
  return isClosed(text, fence) ? null : fence
}

const isClosed = (text: string, fence: OpenFence): boolean => {
  for (;;) {
    const end = text.indexOf('\n', fence.scanned)
    if (fence.close.test(text.slice(fence.scanned, end < 0 ? undefined : end))) return true
    if (end < 0) return false
    fence.scanned = end + 1
  }
}

const fenced = (text: string, fence: OpenFence, key: number): Block => {
  const body = text.slice(fence.body).replace(/\n {0,3}[`~]{0,2}$|\n$/, '')
  return { key, token: { type: 'code', raw: '', text: body, lang: fence.lang } }
}
