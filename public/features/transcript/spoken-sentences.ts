/** The sentences of an answer that is still being written, for screen readers: whole ones, once, in order. Code and formulas are only named. */
import type { Token, Tokens } from '../../../lib/base/markdown/lexer.ts'
import { Blocks } from '../../markdown/blocks.ts'
import { inlineText } from '../../markdown/plain-text.ts'
import { pageLocale } from '../../strings/t.ts'

export type Words = { code: (language: string) => string; formula: string }

/** A paragraph, an item, or a row. `isNamed`: its words stand for something that is not read. */
type Unit = { text: string; isNamed?: boolean }
type Inner = { tokens?: Token[]; raw: string; text?: string }

const LETTER = /\p{L}/u
/** It becomes a table or a formula when more of it arrives. */
const UNDECIDED = /^\s*(?:\||\$\$|\\\[)/

const unitsOf = (token: Token, words: Words): Unit[] => {
  const within = (tokens: readonly Token[] = []): Unit[] =>
    tokens.flatMap(inner => unitsOf(inner, words))
  switch (token.type) {
    case 'code': {
      const { lang = '', text } = token as Tokens.Code
      // The line with the language is still being written.
      return text === '' ? [{ text: '' }] : [{ text: words.code(lang), isNamed: true }]
    }
    case 'mathBlock':
      return [{ text: words.formula, isNamed: true }]
    case 'list':
      return (token as Tokens.List).items.flatMap(item => within(item.tokens))
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return [header, ...rows].map(row => ({
        text: row.flatMap(cell => inlineText(cell.tokens) || []).join(', '),
      }))
    }
    case 'blockquote':
    case 'footnote':
      return within((token as Inner).tokens)
    case 'checkbox':
    case 'def':
    case 'hr':
    case 'html':
    case 'space':
      return []
    default: {
      const { tokens, text, raw } = token as Inner
      return [{ text: tokens ? inlineText(tokens) : (text ?? raw) }]
    }
  }
}

/** The ends of lines in Markdown are not the ends of sentences; there is nothing to say of a row of signs. */
const split = (text: string, segmenter: Intl.Segmenter): string[] =>
  [...segmenter.segment(text.replace(/\s+/g, ' ').trim())]
    .map(({ segment }) => segment.trim())
    .filter(each => /[\p{L}\p{N}]/u.test(each))

/** Those that no further text can change. */
const completeSentences = (
  units: readonly Unit[],
  isOpen: boolean,
  segmenter: Intl.Segmenter,
): string[] => {
  // What follows decides whether a sentence or a paragraph has ended: "e.g. 5 or", a line of dashes below a text.
  const last = isOpen
    ? units.findLastIndex(({ text, isNamed }) => isNamed || LETTER.test(text))
    : units.length
  return units.flatMap(({ text, isNamed }, index) => {
    if (isNamed) return index <= last ? [text] : []
    if (index > last) return []
    const sentences = split(text, segmenter)
    if (index < last) return sentences
    if (UNDECIDED.test(text)) return []
    return sentences.slice(
      0,
      Math.max(
        0,
        sentences.findLastIndex(each => LETTER.test(each)),
      ),
    )
  })
}

export class SpokenSentences {
  readonly #words: Words
  readonly #segmenter = new Intl.Segmenter(pageLocale(), { granularity: 'sentence' })
  readonly #blocks = new Blocks()
  #before = ''
  /** Blocks that are spoken completely. */
  #spokenBlocks = 0
  /** Sentences that were returned of the other blocks. */
  #spoken = 0
  /** All sentences that were returned, and those before the text was replaced. */
  #sentences: string[] = []
  #earlierSentences: readonly string[] = []

  constructor(words: Words) {
    this.#words = words
  }

  /** Sentences that are complete now and were not returned before. `isOpen`: more text will follow. */
  update(text: string, isOpen: boolean): string[] {
    if (!text.startsWith(this.#before)) {
      ;[this.#spokenBlocks, this.#spoken, this.#earlierSentences, this.#sentences] = [
        0,
        0,
        this.#sentences,
        [],
      ]
    }
    this.#before = text
    const blocks = this.#blocks.update(text, isOpen)
    const units = (from: number, to?: number): Unit[] =>
      blocks.slice(from, to).flatMap(({ token }) => unitsOf(token, this.#words))
    const sentences = completeSentences(units(this.#spokenBlocks), isOpen, this.#segmenter)
    const fresh = sentences.slice(this.#spoken)
    this.#spoken = Math.max(this.#spoken, sentences.length)
    const closed = isOpen ? this.#blocks.closed() : blocks.length
    if (closed > this.#spokenBlocks) {
      const finished = completeSentences(units(this.#spokenBlocks, closed), false, this.#segmenter)
      // Those of the last closed block wait for what follows it.
      if (finished.length <= this.#spoken) {
        this.#spoken -= finished.length
        this.#spokenBlocks = closed
      }
    }
    // A request that was repeated may bring the same beginning again.
    const isRepeated = (sentence: string, index: number) =>
      this.#earlierSentences[this.#sentences.length + index] === sentence
    const result = fresh.filter((sentence, index) => !isRepeated(sentence, index))
    this.#sentences.push(...fresh)
    return result
  }
}
