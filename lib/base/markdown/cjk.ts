/** Characters of Chinese, Japanese and Korean texts, as parts of patterns with the flag `u`. */

/** Content of a character class: letters and punctuation, with full-width forms, without the ideographic space. */
export const CJK =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}\\p{sc=Bopomofo}\\u3001-\\u303f\\u30fb\\u30fc\\ufe10-\\ufe1f\\ufe30-\\ufe4f\\uff01-\\uffef'

/** Dashes and the middle dot, which addresses have that were copied from a browser. */
const IN_ADDRESSES = '\\u00b7\\u2010-\\u2013'

/** One character of a path, query or fragment. Beyond ASCII, no punctuation, and nothing of a text that needs no spaces. */
const IN_PATH = `(?:[!-;=-~]|(?![${CJK}]|(?![${IN_ADDRESSES}])\\p{P})[^\\0-\\x7f\\s])`

/**
 * What follows the host of an address that is not marked as a link. The rest of the authority is ASCII, so that no letter or
 * mark of the text behind it makes it the address of another host.
 */
export const AFTER_HOST = `[!$-.0-;=@-~]*(?:[/?#]${IN_PATH}*)?`

const ADDRESS = new RegExp(
  `^https?:\\/\\/(?:[^\\0-\\x7f\\s\\p{P}][\\p{L}\\p{N}-]*\\.)*${AFTER_HOST}`,
  'iu',
)

/** The address that `text` begins with, without the text that follows it without a space. */
export const addressIn = (text: string): string => ADDRESS.exec(text)?.[0] ?? ''
