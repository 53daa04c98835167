/** Sessions in the former format, one `<id>.json` each: read as they are; see `conversion.ts` for what writes do to them. */
import { isObject, type JsonObject } from '../base/json.ts'
import { sha256 } from '../base/sha256.ts'
import { toTime } from '../base/to-time.ts'
import type { NewMessage } from '../schema/message.ts'
import { type JournalEntry, messageEntries, type Meta, withoutMark } from './entries.ts'
import { toMeta } from './import-record.ts'
import { toTranscript } from './tool-call-summaries.ts'

/** Derived keys, and keys of a turn that ended long ago. */
const DERIVED = new Set([
  'session_id',
  'messages',
  'tool_calls',
  'message_count',
  'is_streaming',
  'active_stream_id',
  'pending_user_message',
  'pending_attachments',
  'pending_started_at',
])

/** The user message of a turn that was starting when the file was written; the file has it nowhere else. */
const pendingMessage = (file: JsonObject): NewMessage[] => {
  const { pending_user_message: text, pending_started_at: at, pending_attachments: files } = file
  if (typeof text !== 'string' || text.trim() === '') return []
  const time = toTime(at)
  const attachments = Array.isArray(files) ? files.filter(name => typeof name === 'string') : []
  return [
    {
      role: 'user',
      content: text,
      ...(time === undefined ? {} : { timestamp: Math.floor(time) }),
      ...(attachments.length > 0 ? { attachments } : {}),
    },
  ]
}

/** Python also writes numbers that JSON does not have; as values of a session they say nothing. */
const NOT_JSON = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g

const parsePython = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    const asJson = text.replace(NOT_JSON, token => (token.startsWith('"') ? token : 'null'))
    if (asJson === text) throw error
    return JSON.parse(asJson)
  }
}

/** The file as journal lines; null when it is not a session. Deterministic: numbers and ids are the same each time. */
export const toEntries = (id: string, bytes: Buffer): JournalEntry[] | null => {
  let file: unknown
  try {
    file = parsePython(withoutMark(bytes.toString()))
  } catch {
    // Half written or another kind of file: not a session, and never changed.
    return null
  }
  if (!isObject(file)) return null
  // A new session may have null instead of a list.
  const list = file.messages === null && file.session_id ? [] : file.messages
  if (!Array.isArray(list)) return null
  const meta: Meta = toMeta(
    Object.fromEntries(
      Object.entries(file).filter(([key, value]) => !DERIVED.has(key) && value !== null),
    ),
  )
  // Renamed by `joinFormats`: the journal with its original id has another version.
  if (typeof file.session_id === 'string' && file.session_id !== id && id !== '')
    meta.title = `${meta.title ?? 'Untitled'} (other version)`
  const created = meta.created_at ?? 0
  const updated = meta.updated_at ?? created
  const from = { size: bytes.length, sha256: sha256(bytes) }
  const messages = [...toTranscript(list, file.tool_calls), ...pendingMessage(file)]
  return [
    {
      n: 1,
      t: 'session',
      at: created,
      v: 1,
      id,
      from,
      meta: { ...meta, created_at: created, updated_at: updated },
    },
    ...messageEntries(messages, updated),
  ]
}
