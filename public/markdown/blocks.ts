/** Splits streamed Markdown into blocks; only the last, open block is parsed again when text arrives. */
import { completePartial } from './complete-partial.ts'
import { lex } from '../../lib/base/markdown/lexer.ts'
import type { Links, Token } from '../../lib/base/markdown/lexer.ts'

export type Block = { key: number; token: Token }
export type Footnote = Token & { type: 'footnote'; label: string; tokens: Token[] }
export type Footnotes = ReadonlyMap<string, Footnote>

export type Blocks = {
  /** Blocks of `text`; cheap when it extends the text of the last call. `open`: more text will follow. */
  update(text: string, open: boolean): readonly Block[]
  /** Number of blocks at the beginning that further text doesn't change. */
  closed(): number
  /** Footnotes by label, in document order. */
  footnotes(): Footnotes
}

type OpenFence = { at: number; lang: string; body: number; close: RegExp; scanned: number }

export const createBlocks = (): Blocks => {
  let text = ''
  let final = false
  let closedEnd = 0
  let closed: Block[] = []
  let links: Links = {}
  let fence: OpenFence | null = null
  let shown: readonly Block[] = []

  const restart = () => {
    closedEnd = 0
    closed = []
    links = {}
    fence = null
  }

  /** Closes blocks that further text can't change. */
  const close = (tokens: Token[], count: number) => {
    for (const token of tokens.slice(0, count)) {
      closedEnd += token.raw.length
      if (isShown(token)) closed.push({ key: closed.length, token })
    }
  }

  /** Lexes the open part. A link definition changes brackets that were already rendered as text. */
  const advance = (open: boolean) => {
    if (fence && (!open || isClosed(text, fence))) fence = null
    else fence ??= openFence(text, closedEnd, open)
    if (fence) return
    const tokens = lex(text.slice(closedEnd), { ...links })
    const count = open ? tokens.length - stillOpen(tokens) : tokens.length
    const late = addLinks(links, tokens.slice(0, count)) && closed.length > 0
    if (late) {
      const end =
        closedEnd + tokens.slice(0, count).reduce((sum, token) => sum + token.raw.length, 0)
      closedEnd = 0
      closed = []
      const again = lex(text.slice(0, end), { ...links })
      close(again, again.length)
    } else close(tokens, count)
    fence = openFence(text, closedEnd, open)
  }

  return {
    update(next, open) {
      // Normalizes line ends as marked does, so that the lengths of `raw` add up.
      const clean = next.includes('\r') ? next.replace(/\r\n?/g, '\n') : next
      if (clean === text && final === !open) return shown
      if (final || !clean.startsWith(text)) restart()
      text = clean
      final = !open
      advance(open)
      const rest = text.slice(closedEnd)
      if (fence) shown = [...closed, fenced(text, fence, closed.length)]
      else if (!rest) shown = [...closed]
      else shown = [...closed, ...number(lex(completePartial(rest), { ...links }), closed.length)]
      return shown
    },
    closed: () => closed.length,
    footnotes() {
      const notes = new Map<string, Footnote>()
      for (const { token } of shown) {
        if (token.type === 'footnote') notes.set((token as Footnote).label, token as Footnote)
      }
      return notes
    },
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
