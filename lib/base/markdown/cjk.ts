/** Characters of Chinese, Japanese and Korean texts, as parts of patterns with the flag `u`. */

/** Content of a character class: letters and punctuation, with full-width forms, without the ideographic space. */
export const CJK =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}\\p{sc=Bopomofo}\\u3001-\\u303f\\u30fb\\u30fc\\ufe10-\\ufe1f\\ufe30-\\ufe4f\\uff01-\\uffef'

/** Dashes and the middle dot, which addresses have that were copied from a browser. */
const IN_ADDRESSES = '\\u00b7\\u2010-\\u2013'

/** One character of a path, query or fragment. Beyond ASCII, no punctuation, and nothing of a text that needs no spaces. */
const IN_PATH = `(?:[!-;=-~]|(?![${CJK}]|(?![${IN_ADDRESSES}])\\p{P})[^\\0-\\x7f\\s])`

/** Letters that one label may have beside ASCII. */
const IN_HOST = '\\p{sc=Latin}\\p{M}'

/**
 * What follows the host of an address that is not marked as a link. The rest of the authority has no letter of other scripts, so
 * that no letter or mark of the text behind it makes it the address of another host.
 */
const AFTER_HOST = `[!$-.0-;=@-~${IN_HOST}]*(?:[/?#]${IN_PATH}*)?`

/** Host and rest of an address. None where a host of other scripts would be cut off: the beginning is the address of another one. */
export const HOST_AND_REST = `(?![\\w.:@${IN_HOST}-]*(?![${IN_HOST}])[^\\0-\\x7f\\P{L}][\\p{L}\\p{M}\\p{N}-]*\\.(?![${CJK}])\\p{L}{2})(?:[a-zA-Z0-9${IN_HOST}-]+\\.?)+${AFTER_HOST}`

const ADDRESS = new RegExp(
  `^https?:\\/\\/(?:[^\\0-\\x7f\\s\\p{P}][\\p{L}\\p{N}-]*\\.)*${AFTER_HOST}`,
  'iu',
)

/** The address that `text` begins with, without the text that follows it without a space. */
export const addressIn = (text: string): string => ADDRESS.exec(text)?.[0] ?? ''
