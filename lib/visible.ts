/**
 * Makes characters visible that would let a name or a command look like another one: controls, marks that turn the
 * direction of writing, and what has no width. `public/visible.ts` is the same for names the page shows; a test keeps
 * both alike.
 */

/** Scripts in which letters are joined or kept apart by a mark without width. */
const LETTER =
  '[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Khmer}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Sinhala}]'
const PICTURE = '\\p{Extended_Pictographic}(?:\\p{Emoji_Modifier}|[\\ufe0e\\ufe0f])?'

/** Parts of what people write: emoji, joined letters, variants of a character. */
const WRITTEN = [
  // The flag first: its first character is a picture by itself.
  '\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{2,6}\\u{e007f}',
  `${PICTURE}(?:\\u200d${PICTURE})*`,
  '[0-9#*]\\ufe0f\\u20e3',
  `${LETTER}[\\u200c\\u200d](?=${LETTER})`,
  '\\p{Unified_Ideograph}[\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]',
].join('|')

const HIDDEN =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff9-\ufffb\u2800]/u

const EACH = new RegExp(`${WRITTEN}|(?<hidden>${HIDDEN.source})`, 'gu')

const codeOf = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`

const escaped = (text: string, kept: string): string =>
  HIDDEN.test(text)
    ? text.replace(EACH, (found, ...rest) => {
        const { hidden } = rest.at(-1) as { hidden?: string }
        return hidden === undefined || kept.includes(hidden) ? found : codeOf(hidden)
      })
    : text

/** A name, a path, a title: everything on one line. */
export const visibleName = (text: string): string => escaped(text, '')

/** A command, a program, a diff: lines and tabs are part of it. */
export const visibleText = (text: string): string => escaped(text, '\n\t')
