/** Message content in the host agent's database: text or, from schema version 11, a list of parts with a prefix. */
import { isObject } from '../../base/json.ts'

const PARTS_PREFIX = '\0json:'

const partText = (part: unknown): string => {
  if (typeof part === 'string') return part
  if (!isObject(part)) return ''
  const { type, text, image_url, source, file } = part
  if (typeof text === 'string') return text
  const kind = typeof type === 'string' ? type : ''
  // A placeholder: as text, the bytes of an image would be megabytes.
  if (image_url !== undefined || source !== undefined || /image/.test(kind)) return '[image]'
  if (file !== undefined || /file|document|audio|video/.test(kind)) return `[${kind || 'file'}]`
  return kind ? `[${kind}]` : ''
}

/** The text of stored content, to show, search and send. */
export const readContent = (content: unknown): string => {
  if (typeof content !== 'string') return ''
  if (!content.startsWith(PARTS_PREFIX)) return content
  try {
    const value: unknown = JSON.parse(content.slice(PARTS_PREFIX.length))
    if (typeof value === 'string') return value
    return (Array.isArray(value) ? value : [value]).map(partText).filter(Boolean).join('\n')
  } catch {
    // Truncated, or a format of a newer version.
    return '[unreadable content]'
  }
}

/** SQL condition for content with parts. SQLite's text functions stop at the NUL of the prefix, so such rows are searched after reading. */
export const IS_PARTS = "substr(cast(content as blob), 1, 6) = x'006a736f6e3a'"
