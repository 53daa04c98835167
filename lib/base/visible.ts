/**
 * Shows the code points of characters that make a name or a command look like another one: control characters, bidi
 * marks, characters without width, unusual spaces. Used by the server and the page.
 */

/** Scripts that join or separate letters with zero-width characters. */
const LETTER =
  '[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Khmer}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Sinhala}]'
const PICTURE = '\\p{Extended_Pictographic}(?:\\p{Emoji_Modifier}|[\\ufe0e\\ufe0f])?'

/** Sequences of ordinary text that contain such characters: emoji, joined letters, variation sequences. */
const WRITTEN = [
  // Tag sequences (flags) first: their first character is a pictograph by itself.
  '\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{2,6}\\u{e007f}',
  `${PICTURE}(?:\\u200d${PICTURE})*`,
  '[0-9#*]\\ufe0f\\u20e3',
  `${LETTER}[\\u200c\\u200d](?=${LETTER})`,
  '\\p{Unified_Ideograph}[\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]',
].join('|')

const HIDDEN =
  '\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Bidi_Control}\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\ufff9-\\ufffc\\u2800'

/** Spaces at which a shell does not split words. */
const SPACES = '\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000'

/** Those that keyboards and systems insert between the words of a name. */
const USUAL = '\\u00a0\\u202f\\u3000'

type Marking = { any: RegExp; each: RegExp; plain: string }

/** Made when it is first needed: these patterns take milliseconds to read. */
const marking = (marked: string, plain: string): (() => Marking) => {
  let cache: Marking | undefined
  return () => {
    cache ??= {
      any: new RegExp(marked, 'u'),
      each: new RegExp(`${WRITTEN}|(?<hidden>${marked})`, 'gu'),
      plain,
    }
    return cache
  }
}

const NAME = marking(
  // A space beside another space, or at either end, is invisible.
  `[${HIDDEN}]|(?![${USUAL}])[${SPACES}]|(?<![^\\s])[${USUAL}]|[${USUAL}](?![^\\s])`,
  '',
)
const TEXT = marking(`[${HIDDEN}${SPACES}]`, '\n\t')
const WORDS = marking(`[${HIDDEN}]`, '\n\t')

const codeOf = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`

const escaped = (text: string, marks: () => Marking): string => {
  const { any, each, plain } = marks()
  return any.test(text)
    ? text.replace(each, (char, ...rest) => {
        const { hidden } = rest.at(-1) as { hidden?: string }
        return hidden === undefined || plain.includes(hidden) ? char : codeOf(hidden)
      })
    : text
}

/** For names, paths and titles: text on one line. */
export const visibleName = (text: string): string => escaped(text, NAME)

/** For commands, programs and diffs: line breaks and tabs are kept, every space other than U+0020 is marked. */
export const visibleText = (text: string): string => escaped(text, TEXT)

/** For prose: spaces used in typography and in number and time formats are kept. */
export const visibleWords = (text: string): string => escaped(text, WORDS)
