/** Terminal output with nothing but its colours, and cut without cutting a sequence in two. */
import { stripVTControlCharacters } from 'node:util'

const COLOR = /(\x1b\[[0-9;:]*m)/
export const RESET = '\x1b[0m'
/** A sequence whose end is missing, at the end of a text. */
const BEGUN = /\x1b(?:\[[0-9;:<=>? -/]*)?$/

const isColored = (text: string): boolean => COLOR.test(text.replaceAll(RESET, ''))

/** All control sequences but colours are dropped; null when there are none. */
export const stripAllButColors = (text: string): string | null => {
  if (!isColored(text)) return null
  return text
    .split(COLOR)
    .map((part, at) => (at % 2 === 0 ? stripVTControlCharacters(part) : part))
    .join('')
}

/** `text` from `at` on, without the rest of a sequence that began before. */
export const coloredTail = (text: string, at: number): string => {
  const tail = text.slice(at)
  const begun = BEGUN.test(text.slice(Math.max(0, at - 32), at))
  return begun ? tail.replace(/^\[?[0-9;:<=>? -/]*[@-~]/, '') : tail
}

export const coloredHead = (text: string, length: number): string =>
  text.slice(0, length).replace(BEGUN, '')

/** Head and tail, `room` characters at most; the note between them has no colour. */
export const truncateColored = (text: string, room: number): string => {
  if (text.length <= room) return text
  const note = `${RESET}\n[… ${text.length - room} characters left out …]\n`
  const head = Math.floor(room * 0.4)
  return `${coloredHead(text, head)}${note}${coloredTail(text, head + text.length - room + note.length)}`
}
