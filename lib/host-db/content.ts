/** A message's content as the agent's database keeps it: text, or from schema 11 on a marked list of parts. */
import { isObject } from '../base/json.ts'

const PARTS_PREFIX = '\0json:'

const partText = (part: unknown): string => {
  if (typeof part === 'string') return part
  if (!isObject(part)) return ''
  const { type, text, image_url, source, file } = part
  if (typeof text === 'string') return text
  const kind = typeof type === 'string' ? type : ''
  // Its bytes are in the database; as text they would be megabytes of nothing.
  if (image_url !== undefined || source !== undefined || /image/.test(kind)) return '[image]'
  if (file !== undefined || /file|document|audio|video/.test(kind)) return `[${kind || 'file'}]`
  return kind ? `[${kind}]` : ''
}

/** Words to show, to search and to send. */
export const readContent = (stored: unknown): string => {
  if (typeof stored !== 'string') return ''
  if (!stored.startsWith(PARTS_PREFIX)) return stored
  try {
    const value: unknown = JSON.parse(stored.slice(PARTS_PREFIX.length))
    if (typeof value === 'string') return value
    return (Array.isArray(value) ? value : [value]).map(partText).filter(Boolean).join('\n')
  } catch {
    // Cut off, or of a shape to come: whatever it holds, it is not for reading.
    return '[content that cannot be read]'
  }
}

/** SQLite's text functions end at the mark's first byte, so these are looked through after reading. */
export const IS_PARTS = "substr(cast(content as blob), 1, 6) = x'006a736f6e3a'"
