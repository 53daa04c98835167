/** What the model reads of a result that is too long: its head and its tail, and where all of it stands. */
import { isObjectOrArray } from '../base/json.ts'
import type { ToolResult } from './types.ts'

export const MAX_RESULT_CHARS = 100_000
/** All results of one message together. */
export const MAX_BATCH_CHARS = 200_000
/** What is left of a text that was put aside. */
const PREVIEW_CHARS = 1_500
const HEAD = 0.4

/** Head and tail with a note between them, `room` characters in all. */
export const truncateMiddle = (text: string, room: number): string => {
  if (text.length <= room) return text
  const note = `\n[… ${text.length - room} characters left out …]\n`
  const head = text.slice(0, Math.floor(room * HEAD))
  const tail = text.slice(head.length + text.length - room + note.length)
  return `${head}${note}${tail}`
}

/** JSON as lines: tools that read files count in lines, and line breaks inside strings should be some. */
export const toReadableLines = (content: string): string => {
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch {
    // Plain text: it has its lines already.
    return content
  }
  if (!isObjectOrArray(value)) return content
  const shown: Readonly<Record<string, string>> = { n: '\n', t: '\t', '"': '"', '\\': '\\' }
  return JSON.stringify(value, null, 2).replace(/\\([nt"\\])/g, (_, letter) => shown[letter] ?? '')
}

/** The result itself while it has room; else what is left of it when all of it was put aside, or could not be. */
export const truncateResult = (
  result: ToolResult,
  room: number,
  spill: (text: string) => string | null,
): ToolResult => {
  const { content } = result
  if (content.length <= Math.max(room, PREVIEW_CHARS)) return result
  const path = spill(toReadableLines(content))
  if (path === null)
    return { ...result, content: truncateMiddle(content, Math.max(room, PREVIEW_CHARS)) }
  const note = `[This result has ${content.length} characters. All of it is in ${path}: read it in parts with read_file, or look through it with search_files. It begins and ends like this:]\n`
  return { ...result, content: note + truncateMiddle(content, PREVIEW_CHARS) }
}
