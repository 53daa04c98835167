/** Terminal output reduced to its color sequences, and truncation that does not split a sequence. */
import { stripVTControlCharacters } from 'node:util'

const COLOR = /(\x1b\[[0-9;:]*m)/
export const RESET = '\x1b[0m'
/** An incomplete sequence at the end of a text. */
const INCOMPLETE = /\x1b(?:\[[0-9;:<=>? -/]*)?$/

const isColored = (text: string): boolean => COLOR.test(text.replaceAll(RESET, ''))

/** Removes all control sequences except colors; null when there are no colors. */
export const stripAllButColors = (text: string): string | null => {
  if (!isColored(text)) return null
  return text
    .split(COLOR)
    .map((part, at) => (at % 2 === 0 ? stripVTControlCharacters(part) : part))
    .join('')
}

/** `text` from `at`, without the rest of a sequence that starts before it. */
export const coloredTail = (text: string, at: number): string => {
  const tail = text.slice(at)
  const isSplit = INCOMPLETE.test(text.slice(Math.max(0, at - 32), at))
  return isSplit ? tail.replace(/^\[?[0-9;:<=>? -/]*[@-~]/, '') : tail
}

export const coloredHead = (text: string, length: number): string =>
  text.slice(0, length).replace(INCOMPLETE, '')

/** Head and tail with an uncolored note between them, at most `maxChars`. */
export const truncateColored = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text
  const note = `${RESET}\n[… ${text.length - maxChars} characters left out …]\n`
  const head = Math.floor(maxChars * 0.4)
  return `${coloredHead(text, head)}${note}${coloredTail(text, head + text.length - maxChars + note.length)}`
}
