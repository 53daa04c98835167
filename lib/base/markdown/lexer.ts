/** Markdown lexer of the page and of shared chats: `marked` with footnotes, math and media added; never throws. */
import { getDefaults, Lexer } from 'marked'
import type { MarkedOptions, Token, Tokens, TokenizerExtension } from 'marked'
import { CJK, HOST_AND_REST } from './cjk.ts'
import { CJK_EMPHASIS } from './emphasis.ts'
import { isInlineHtml, pairTags } from './plain-tags.ts'

export type { Token, Tokens }
export type Links = Lexer['tokens']['links']

/**
 * Finds where an extension block may begin. A paragraph ends at a blank line, so text after one doesn't matter; the lexer calls this
 * for every line, so an unbounded search would take quadratic time.
 */
const LOOK_CHARS = 4_000
const startOf = (pattern: RegExp) => (src: string) => {
  const near = src.slice(0, LOOK_CHARS)
  const end = near.search(/\n[ \t]*\n/)
  return (end < 0 ? near : near.slice(0, end + 2)).match(pattern)?.index
}

/** Footnote: `[^name]: text`, with indented continuation lines. */
const footnote: TokenizerExtension = {
  name: 'footnote',
  level: 'block',
  start: startOf(/^ {0,3}\[\^/m),
  tokenizer(src) {
    const match =
      /^ {0,3}\[\^([^\]\s]{1,80})\]:[ \t]*([^\n]*(?:\n+(?: {2,}|\t)[^\n]+)*)(?:\n+|$)/.exec(src)
    if (!match) return undefined
    const text = match[2]!.replace(/\n(?: {2,4}|\t)/g, '\n')
    return {
      type: 'footnote',
      raw: match[0],
      label: match[1]!,
      tokens: this.lexer.blockTokens(text, []),
    }
  },
}

const footnoteRef: TokenizerExtension = {
  name: 'footnoteRef',
  level: 'inline',
  start: src => src.indexOf('[^'),
  tokenizer(src) {
    const match = /^\[\^([^\]\s]{1,80})\]/.exec(src)
    return match ? { type: 'footnoteRef', raw: match[0], label: match[1]! } : undefined
  },
}

const mathBlock: TokenizerExtension = {
  name: 'mathBlock',
  level: 'block',
  // Only a complete formula ends a paragraph; rejoining a wrongly split one would take time proportional to its length.
  start: startOf(/^ {0,3}(?:\$\$(?:[^$]|\$(?!\$))+\$\$|\\\[(?:[^\\]|\\(?!\]))+\\\])[ \t]*$/m),
  tokenizer(src) {
    const match =
      /^ {0,3}\$\$((?:[^$]|\$(?!\$))+)\$\$[ \t]*(?:\n+|$)/.exec(src) ??
      /^ {0,3}\\\[((?:[^\\]|\\(?!\]))+)\\\][ \t]*(?:\n+|$)/.exec(src)
    return match ? { type: 'mathBlock', raw: match[0], text: match[1]!.trim() } : undefined
  },
}

/** `$20/month or 20$`: words after an amount, and nothing that formulas are made of. */
const isMoney = (text: string): boolean =>
  /^\d/.test(text) && WORD.test(text) && !/[\\^_={}<>+*|]/.test(text)
const WORD = new RegExp(`\\p{L}{2}|[${CJK}]`, 'u')

/**
 * `$…$` only where it can't be an amount of money or a variable of a shell: no space inside the delimiters, no letter, digit or
 * brace after them. A text without spaces between words may have letters beside a formula.
 */
const LETTER = `(?![${CJK}])[\\p{L}\\p{N}]`
const MATH_START = new RegExp(`(?<!${LETTER})\\$|\\\\\\(`, 'u')
const MATH = new RegExp(
  `^\\$(?!\\s)((?:[^$\\\\\\n]|\\\\[^\\n]){1,2000}?)(?<!\\s)\\$(?!${LETTER}|[_$\\{])`,
  'u',
)
const mathInline: TokenizerExtension = {
  name: 'mathInline',
  level: 'inline',
  start: src => src.match(MATH_START)?.index,
  tokenizer(src) {
    const match =
      /^\$\$((?:[^$\n]){1,2000})\$\$/.exec(src) ??
      MATH.exec(src) ??
      /^\\\(((?:[^\\\n]|\\(?!\))){1,2000})\\\)/.exec(src)
    return match && !isMoney(match[1]!)
      ? { type: 'mathInline', raw: match[0], text: match[1]!.trim() }
      : undefined
  },
}

/** `MEDIA:<path>`: quoted, or up to the first file extension, or a URL up to the next space. */
const media: TokenizerExtension = {
  name: 'media',
  level: 'inline',
  start: src => src.indexOf('MEDIA:'),
  tokenizer(src) {
    const match =
      /^MEDIA:[ \t]*(?:(["'`])([^\n]{1,1000}?)\1|([/~][^\n]{1,1000}?\.[a-z0-9]{1,5}(?=[\s)\],;.]|$)|(?:~?\/|https?:\/\/|file:\/\/)[^\s)\]]{1,1000}))/i.exec(
        src,
      )
    const text = match?.[2] ?? match?.[3]
    return match && text ? { type: 'media', raw: match[0], text } : undefined
  },
}

const extensionsOf = (level: TokenizerExtension['level']) => {
  const own = [media, mathInline, mathBlock, footnoteRef, footnote].filter(
    extension => extension.level === level,
  )
  return {
    tokenizers: own.map(({ tokenizer }) => tokenizer),
    starts: own.flatMap(({ start }) => start ?? []),
  }
}

/** What `Marked.use` would make of the extensions. That class also needs the parser and the HTML renderer, which the page does without. */
const lexerOptions = (): MarkedOptions => {
  const [block, inline] = [extensionsOf('block'), extensionsOf('inline')]
  return {
    ...getDefaults(),
    extensions: {
      block: block.tokenizers,
      startBlock: block.starts,
      inline: inline.tokenizers,
      startInline: inline.starts,
      renderers: {},
      childTokens: {},
    },
  }
}
const options = lexerOptions()

// The lexer takes its patterns from here, and nothing else uses this copy of marked.
const { gfm } = Lexer.rules.inline
Object.assign(gfm, CJK_EMPHASIS, {
  url: new RegExp(
    gfm.url.source.replace('(?:[a-zA-Z0-9\\-]+\\.?)+[^\\s<]*', () => HOST_AND_REST),
    'u',
  ),
})

/** With the plain tags, also inside of emphasis, links and cells. */
class PlainTagLexer extends Lexer {
  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    const inline = super.inlineTokens(src, tokens)
    pairTags(inline)
    return inline
  }
}

const textToken = (text: string): Token => ({ type: 'text', raw: text, text })

const plain = (text: string): Token[] => [
  { type: 'paragraph', raw: text, text, tokens: [textToken(text)] },
]

/** Paragraphs with more are shown as text, because each mark could require scanning the rest. */
const MAX_BRACKETS = 300
const MAX_MARKS = 2_000

const isHostile = (src: string): boolean =>
  src.length > MAX_BRACKETS &&
  ((src.match(/\[/g)?.length ?? 0) > MAX_BRACKETS ||
    (src.match(/[*_~`$]+/g)?.length ?? 0) > MAX_MARKS)

/** Blocks with their inline tokens. `links` has the link definitions of earlier text. */
export const lex = (text: string, links: Links = {}): Token[] => {
  const lexer = new PlainTagLexer(options)
  Object.assign(lexer.tokens.links, links)
  try {
    lexer.blockTokens(text.replace(/\r\n|\r/g, '\n'), lexer.tokens)
    for (const { src, tokens } of lexer.inlineQueue) {
      if (isHostile(src)) tokens.push(textToken(src))
      else lexer.inlineTokens(src, tokens)
    }
    return lexer.tokens.map(token =>
      isInlineHtml(token)
        ? {
            type: 'paragraph',
            raw: token.raw,
            text: token.raw,
            tokens: lexer.inlineTokens(token.raw.trim()),
          }
        : token,
    )
  } catch {
    // Deep nesting overflows the lexer's stack; show the text as it is.
    return plain(text)
  }
}
