/** The text of an answer as it is read aloud: no code, no addresses, in parts of a few sentences. */
import { pageLocale } from '../../strings/t.ts'
import { lex } from '../../../lib/base/markdown/lexer.ts'
import { toPlainText } from '../../markdown/plain-text.ts'

/** Some browsers stop in the middle of a longer utterance. */
const MAX_PART_CHARS = 200

const ADDRESS = /\bhttps?:\/\/\S+/g

/** Sentences together, up to the limit; a longer sentence is divided between words. */
const partsOf = (text: string): string[] => {
  const sentences = [...new Intl.Segmenter(pageLocale(), { granularity: 'sentence' }).segment(text)]
  const pieces = sentences.flatMap(({ segment }) =>
    segment.length <= MAX_PART_CHARS
      ? [segment]
      : (segment.match(
          new RegExp(`.{1,${MAX_PART_CHARS}}(?:\\s|$)|\\S{1,${MAX_PART_CHARS}}`, 'gs'),
        ) ?? []),
  )
  const parts: string[] = []
  for (const piece of pieces) {
    const last = parts.at(-1)
    if (last !== undefined && last.length + piece.length <= MAX_PART_CHARS)
      parts[parts.length - 1] = last + piece
    else parts.push(piece)
  }
  return parts.map(part => part.trim()).filter(Boolean)
}

/** `code` and `link` are spoken instead of code blocks and addresses. */
export const toSpeech = (markdown: string, words: { code: string; link: string }): string[] => {
  const text = lex(markdown)
    .map(token => (token.type === 'code' ? words.code : toPlainText(token.raw)))
    .filter(Boolean)
    .map(block => block.replace(ADDRESS, words.link))
  return text.flatMap(partsOf)
}
