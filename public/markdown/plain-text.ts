/** Converts Markdown to plain text, for the clipboard and find. */
import { lex } from '../../lib/base/markdown/lexer.ts'
import type { Token, Tokens } from '../../lib/base/markdown/lexer.ts'
import { decodeEntities } from '../../lib/base/markdown/links.ts'

/** Fields common to all tokens. */
type Loose = { type: string; raw: string; text?: string; tokens?: Token[] }

export const toPlainText = (markdown: string): string =>
  lex(markdown)
    .map(token => block(token, ''))
    .filter(Boolean)
    .join('\n\n')
    .trim()

const block = (token: Token, indent: string): string => {
  switch (token.type) {
    case 'code':
      return token.text
    case 'list':
      return list(token as Tokens.List, indent)
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return [header, ...rows]
        .map(row => row.map(cell => inlineText(cell.tokens)).join('\t'))
        .join('\n')
    }
    case 'blockquote':
      return (token.tokens ?? []).map((inner: Token) => block(inner, indent)).join('\n')
    case 'space':
    case 'def':
    case 'hr':
      return ''
    default:
      return textOf(token)
  }
}

const list = ({ ordered, start, items }: Tokens.List, indent: string): string =>
  items
    .map((item, index) => {
      const mark = ordered ? `${Number(start) + index}.` : '•'
      const parts = item.tokens
        .filter(token => token.type !== 'checkbox')
        .map(token => block(token, `${indent}  `))
      return `${indent}${mark} ${parts.filter(Boolean).join('\n')}`
    })
    .join('\n')

/** Text of a paragraph or a cell. */
export const inlineText = (tokens: Token[]): string =>
  tokens
    .map(token => {
      if (token.type === 'br') return '\n'
      if (token.type === 'codespan' || token.type === 'escape') return token.text
      if (token.type === 'html' || token.type === 'footnoteRef') return token.raw
      return textOf(token)
    })
    .join('')

const textOf = ({ tokens, text, raw }: Loose): string =>
  tokens ? inlineText(tokens) : decodeEntities(text ?? raw)
