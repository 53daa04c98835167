import { oneLine } from '../base/shorten.ts'
/** Converts a search query to FTS5 syntax, and builds the snippet of a hit. */

/** Scripts without spaces between words: the tokenizer would see one long word, so every character becomes a token. */
const SPACELESS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/gu
const HAS_SPACELESS = new RegExp(SPACELESS.source, 'u')
const MAY_BE_SPACELESS =
  /[\u0e00-\u0e7f\u1100-\u11ff\u2e80-\ua4cf\ua960-\ud7ff\uf900-\ufaff\uff66-\uffdc]|[\ud840-\ud8ff]/

/** The text to index. Deterministic: a row can only be deleted with exactly the text it was inserted with. */
export const toIndexed = (text: string): string =>
  MAY_BE_SPACELESS.test(text) ? text.replace(SPACELESS, ' $& ') : text

export type Term = { text: string; prefix: boolean }

const MAX_TERMS = 12

/** Parses words and "quoted phrases". The last word matches as a prefix, because the user may still be typing it. */
export const toTerms = (query: string): Term[] => {
  const terms: Term[] = []
  for (const match of query.normalize('NFC').matchAll(/"([^"]*)"|[^\s"]+/g)) {
    const quoted = match[1] !== undefined
    const text = (match[1] ?? match[0]).replace(/[\p{C}"*]/gu, ' ').trim()
    // Punctuation alone is not a token.
    if (!/[\p{L}\p{N}\p{Co}]/u.test(text)) continue
    terms.push({
      text,
      prefix: !quoted && match.index + match[0].length === query.trimEnd().length,
    })
    if (terms.length === MAX_TERMS) break
  }
  return terms
}

/** The MATCH expression. Terms are always quoted, so user input never acts as an operator. */
export const toMatch = (terms: readonly Term[]): string =>
  terms
    .map(({ text, prefix }) => `"${oneLine(toIndexed(text))}"${prefix ? ' *' : ''}`)
    .join(' AND ')

export type SnippetPart = { text: string; mark: boolean }

const BEFORE_CHARS = 40
const SNIPPET_CHARS = 200

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Up to three punctuation characters may separate the words of a phrase: the tokenizer drops them. */
const pattern = ({ text, prefix }: Term): string => {
  const words = text
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter(Boolean)
    .map(escaped)
  const inner = words.join('[^\\p{L}\\p{N}]{1,3}')
  if (HAS_SPACELESS.test(text)) return inner
  return `(?<![\\p{L}\\p{N}])${inner}${prefix ? '' : '(?![\\p{L}\\p{N}])'}`
}

/** Lower case without accents, and the original offset of each code unit. */
const foldWithOffsets = (text: string): { folded: string; offsets: number[] } => {
  let folded = ''
  const offsets: number[] = []
  let at = 0
  for (const character of text) {
    const plain = character.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
    folded += plain
    for (let index = 0; index < plain.length; index += 1) offsets.push(at)
    at += character.length
  }
  offsets.push(at)
  return { folded, offsets }
}

const NOT_ASCII = /[^\x00-\x7f]/
const FOLDED_CHARS = 20_000
const MAX_MARKS = 20

/** The ranges of `text` that match a term, in order, not overlapping. */
const findMarks = (text: string, terms: readonly Term[]): [number, number][] => {
  if (terms.length === 0) return []
  const plain = (): [number, number][] =>
    [...text.matchAll(new RegExp(terms.map(pattern).join('|'), 'giu'))]
      .slice(0, MAX_MARKS)
      .map(match => [match.index, match.index + match[0].length])
  // Accents: the tokenizer matches "café" for "cafe" and vice versa.
  const isPlain = ![text.slice(0, FOLDED_CHARS), ...terms.map(term => term.text)].some(part =>
    NOT_ASCII.test(part),
  )
  if (isPlain) return plain()
  const { folded, offsets } = foldWithOffsets(text.slice(0, FOLDED_CHARS))
  const bare = terms.map(term => ({ ...term, text: foldWithOffsets(term.text).folded }))
  const marks = [...folded.matchAll(new RegExp(bare.map(pattern).join('|'), 'giu'))]
    .slice(0, MAX_MARKS)
    .map((match): [number, number] => [
      offsets[match.index] ?? 0,
      offsets[match.index + match[0].length] ?? text.length,
    ])
  return marks.length > 0 ? marks : plain()
}

/** The offset, moved out of the middle of a surrogate pair. */
const whole = (text: string, at: number): number => {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}

/** Longer than any secret, so that a snippet contains no secret that `excerptOf` cut. */
const EXCERPT_CHARS = 2_000

/** The text around the first match: as much as must be masked before a snippet is cut from it. */
export const excerptOf = (text: string, terms: readonly Term[]): string => {
  const first = findMarks(text, terms)[0]?.[0] ?? 0
  return text.slice(whole(text, Math.max(0, first - EXCERPT_CHARS)), first + EXCERPT_CHARS)
}

/** The text around the first match, in parts to concatenate. Matches are flagged parts, never markup. Mask the text before: neither half a secret nor one that a mark divides is recognized. */
export const toSnippet = (text: string, terms: readonly Term[]): SnippetPart[] => {
  const marks = findMarks(text, terms)
  const first = marks[0]?.[0] ?? 0
  const from = first <= BEFORE_CHARS ? 0 : whole(text, first - BEFORE_CHARS)
  const to = whole(text, Math.min(text.length, from + SNIPPET_CHARS))
  const parts: SnippetPart[] = []
  const push = (start: number, stop: number, mark: boolean): void => {
    const piece = text.slice(start, stop).replace(/\s+/g, ' ')
    if (piece !== '') parts.push({ text: piece, mark })
  }
  if (from > 0) parts.push({ text: '…', mark: false })
  let at = from
  for (const [start, stop] of marks) {
    if (start < at || start >= to) continue
    push(at, start, false)
    push(start, Math.min(stop, to), true)
    at = Math.min(stop, to)
  }
  push(at, to, false)
  if (to < text.length) parts.push({ text: '…', mark: false })
  return parts
}
