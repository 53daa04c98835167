/** Shortens a long tool result for the page: its head and tail, still valid JSON. */
import type { JsonObject } from '../base/json.ts'
import { truncateMiddle } from '../agent/long-result.ts'

/** Longer tool results are loaded when the user opens them. */
export const MAX_SHOWN_CHARS = 4_000
/** Shorter fields are not truncated. */
const MIN_LONG_CHARS = 200
/** With less space than this for the long fields, the result is truncated as plain text. */
const MIN_FIELD_CHARS = 400

/** Shortens to at most `maxChars` characters. */
export const shortenResult = (content: string, maxChars = MAX_SHOWN_CHARS): string => {
  if (content.length <= maxChars) return content
  const fields = readFields(content)
  return (fields && shortenFields(fields, maxChars)) ?? truncateMiddle(content, maxChars)
}

/** Number of lines in the output of the whole result. */
export const countResultLines = (content: string): number => {
  const { output, content: text } = readFields(content) ?? {}
  const main = typeof output === 'string' ? output : typeof text === 'string' ? text : content
  return countLines(main.trimEnd())
}

const countLines = (text: string): number => {
  let lines = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

const readFields = (content: string): JsonObject | null => {
  if (!content.trimStart().startsWith('{')) return null
  try {
    return JSON.parse(content) as JsonObject
  } catch {
    // Text that begins like JSON, or a result that was truncated before.
    return null
  }
}

const jsonLength = (value: unknown): number => JSON.stringify(value)?.length ?? 0

/** Short fields stay: exit code, errors, counts. Null when they alone are too long. */
const shortenFields = (fields: JsonObject, maxChars: number): string | null => {
  const long = Object.entries(fields).filter(
    ([, value]) =>
      (typeof value === 'string' || Array.isArray(value)) && jsonLength(value) > MIN_LONG_CHARS,
  )
  const emptied = Object.fromEntries(
    long.map(([key, value]) => [key, typeof value === 'string' ? '' : []]),
  )
  let room = maxChars - jsonLength({ ...fields, ...emptied })
  if (long.length === 0 || room < MIN_FIELD_CHARS) return null
  const cut: JsonObject = {}
  // Smallest first, so that the space they do not need is left for the others.
  const bySize = long.toSorted((a, b) => jsonLength(a[1]) - jsonLength(b[1]))
  for (const [at, [key, value]] of bySize.entries()) {
    const share = Math.floor(room / (bySize.length - at))
    cut[key] = shortenValue(key, value, share)
    room -= jsonLength(cut[key])
  }
  return JSON.stringify({ ...fields, ...cut })
}

const shortenValue = (key: string, value: unknown, maxChars: number): unknown => {
  if (jsonLength(value) <= maxChars) return value
  if (Array.isArray(value)) return firstItems(value, maxChars)
  const text = String(value)
  // A truncated hunk would make the line numbers wrong.
  return key === 'diff' ? firstLines(text, maxChars) : fitted(text, maxChars)
}

const firstItems = (items: readonly unknown[], maxChars: number): unknown[] => {
  const first: unknown[] = []
  let size = 2
  for (const item of items) {
    size += jsonLength(item) + 1
    if (size > maxChars) break
    first.push(item)
  }
  return first
}

const firstLines = (text: string, maxChars: number): string => {
  const head = text.slice(
    0,
    largest(text.length, size => jsonLength(text.slice(0, size)) <= maxChars),
  )
  return head.slice(0, head.lastIndexOf('\n') + 1)
}

/** Head and tail that fit when JSON-escaped. */
const fitted = (text: string, maxChars: number): string =>
  truncateMiddle(
    text,
    largest(text.length, size => jsonLength(truncateMiddle(text, size)) <= maxChars),
  )

/** The largest size up to `most` that fits, roughly; at least 100. */
const largest = (most: number, fits: (size: number) => boolean): number => {
  let [low, high] = [100, most]
  while (high - low > 16) {
    const middle = (low + high) >> 1
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}
