/**
 * Emphasis in texts without spaces between words, by the rule of markdown-cjk-friendly: beside a mark, punctuation of these
 * scripts counts as a letter, and any of their characters counts like a space where other punctuation is on the other side.
 * The patterns are marked's with more classes of characters; the numbers of their groups say whether a run may open or close.
 */
import { CJK } from './cjk.ts'

const cjk = `[${CJK}]`
/** Punctuation of other scripts, and what is neither. Beside a star or an underscore, `~` counts as a letter. */
const classes = (letters: '' | '~') => ({
  punct: `${letters && '(?!~)'}(?!${cjk})[\\p{P}\\p{S}]`,
  word: `(?:(?!${cjk})[^\\s\\p{P}\\p{S}]${letters && '|~'})`,
})
const { punct } = classes('~')

/** `run`: of marks; `mark`: what is not punctuation beside it; `skip`: what contains other marks. */
const closing = (
  run: string,
  { mark, skip, letters }: { mark: string; skip: string; letters: '' | '~' },
): RegExp => {
  const { punct: sign, word } = classes(letters)
  const letter = `(?:${cjk}|${word})`
  const beside = `(?!${mark})${sign}`
  const alternatives = [
    skip,
    // 1 and 2: it only closes.
    `${beside}(${run})(?=\\s|$)`,
    `(?:${letter}(?=${run}(?!${mark})(?:\\s|$))|${word}(?=${run}(?!${mark})${sign}))(${run})(?!${mark})`,
    // 3 and 4: it only opens.
    `(?:\\s(?=${run}${letter})|${beside}(?=${run}${word}))(${run})`,
    `\\s(${run})(?!${mark})(?=${sign})`,
    // 5 and 6: both.
    `(?:${beside}(?=${run}(?!${mark})(?:${sign}|${cjk}))|${cjk}(?=${run}(?!${mark})${sign}))(${run})(?!${mark})`,
    `${letter}(${run})(?=${letter})`,
  ]
  return new RegExp(alternatives.join('|'), 'gu')
}

const STAR_SKIP = '^[^_*]*?__[^_*]*?\\*[^_*]*?(?=__)|[^*]+(?=[^*])'

export const CJK_EMPHASIS = {
  emStrongLDelim: new RegExp(
    `^(?:\\*+(?:((?!\\*)${punct})|([^\\s*]))?)|^_+(?:((?!_)${punct})|([^\\s_]))?`,
    'u',
  ),
  emStrongRDelimAst: closing('\\*+', { mark: '\\*', skip: STAR_SKIP, letters: '~' }),
  delLDelim: new RegExp(`^~~?(?:((?!~)${classes('').punct})|[^\\s~])`, 'u'),
  delRDelim: closing('~~?', { mark: '~', skip: '^[^~]+(?=[^~])', letters: '' }),
  /** Before a run of marks: then it may open also before punctuation. */
  punctuation: new RegExp(`^((?![*_])[\\s\\p{P}\\p{S}]|${cjk})`, 'u'),
}
