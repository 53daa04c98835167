/** Truncates long tool results: head, tail, and the path of the full text. */
import { isObjectOrArray } from '../base/json.ts'
import type { ToolResult } from './types.ts'
import { SMALL_WINDOW } from './window-services.ts'

const MAX_RESULT_CHARS = 100_000
/** Total for all results of one message. */
const MAX_BATCH_CHARS = 200_000
/** A result may take about a quarter of the window, an eighth of a small one, and all results of a message twice that. */
const CHARS_PER_TOKEN = 4
const RESULT_SHARE = 0.25
const SMALL_WINDOW_RESULT_SHARE = 0.125

/** Characters of one tool result, and of all results of one message, for a window in tokens; 0: unknown. */
export const resultLimits = (windowTokens: number): { one: number; batch: number } => {
  const share = windowTokens > SMALL_WINDOW ? RESULT_SHARE : SMALL_WINDOW_RESULT_SHARE
  const chars = Math.floor(windowTokens * CHARS_PER_TOKEN * share) || Number.POSITIVE_INFINITY
  return { one: Math.min(MAX_RESULT_CHARS, chars), batch: Math.min(MAX_BATCH_CHARS, chars * 2) }
}
/** What remains of an offloaded result. */
const PREVIEW_CHARS = 1_500
const HEAD_SHARE = 0.4

/** Head and tail with a note between them, `maxChars` in total. */
export const truncateMiddle = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text
  const note = `\n[… ${text.length - maxChars} characters left out …]\n`
  const head = text.slice(0, Math.floor(maxChars * HEAD_SHARE))
  const tail = text.slice(head.length + text.length - maxChars + note.length)
  return `${head}${note}${tail}`
}

/** JSON as indented lines with real line breaks in strings, because file tools page by line. */
export const toReadableLines = (content: string): string => {
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch {
    // Plain text needs no formatting.
    return content
  }
  if (!isObjectOrArray(value)) return content
  const chars: Readonly<Record<string, string>> = { n: '\n', t: '\t', '"': '"', '\\': '\\' }
  return JSON.stringify(value, null, 2).replace(/\\([nt"\\])/g, (_, letter) => chars[letter] ?? '')
}

/** The result unchanged if it fits; otherwise truncated, with the full text offloaded where possible. */
export const truncateResult = (
  result: ToolResult,
  maxChars: number,
  offload: (text: string) => string | null,
): ToolResult => {
  const { content } = result
  if (content.length <= Math.max(maxChars, PREVIEW_CHARS)) return result
  const path = offload(toReadableLines(content))
  if (path === null)
    return { ...result, content: truncateMiddle(content, Math.max(maxChars, PREVIEW_CHARS)) }
  const note = `[This result has ${content.length} characters. All of it is in ${path}: read it in parts with read_file, or look through it with search_files. It begins and ends like this:]\n`
  return { ...result, content: note + truncateMiddle(content, PREVIEW_CHARS) }
}
