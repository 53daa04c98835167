/** Base direction of a list, quote or table: that of its first letter outside code. */

/** Hebrew, Arabic, Syriac, Thaana, N'Ko and their presentation forms. */
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/

/**
 * `dir="auto"` skips descendants that have a direction of their own, as the paragraphs in a list have, so the attribute alone
 * would not decide. `raw`: Markdown.
 */
export const directionOf = (raw: string): 'ltr' | 'rtl' => {
  const letter = raw.replace(/```[\s\S]*?```|`[^`\n]*`/g, '').match(/\p{L}/u)?.[0] ?? ''
  return RTL.test(letter) ? 'rtl' : 'ltr'
}
