/** Sessions of the earlier format, one `<id>.json` each: read as they are, converted when first written to. */
import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { isObject, type JsonObject } from '../base/json.ts'
import { diskFull } from '../errors.ts'
import { syncDir } from '../store/atomic-write.ts'
import { isDiskFull } from '../store/journal.ts'
import { type Entry, formatEntry, type Meta, withoutMark } from './entries.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import { toMessages, toTime } from './import-messages.ts'
import { toMeta } from './import-record.ts'
import { readWhole } from '../store/read-text.ts'

/** Computed by us from the rest, or of a turn that is long over. */
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

/** The user's words of a turn that had begun when the file was last written, and that it holds nowhere else. */
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

/** The lines this file would have as a journal; null when it is no session. Numbers and ids are the same each time. */
export const toEntries = (id: string, bytes: Buffer): Entry[] | null => {
  let file: unknown
  try {
    file = JSON.parse(withoutMark(bytes.toString()))
  } catch {
    // Half written or something else: not a session, and never touched.
    return null
  }
  if (!isObject(file)) return null
  // A session nobody has written to may have null in place of its list.
  const said = file.messages === null && file.session_id ? [] : file.messages
  if (!Array.isArray(said)) return null
  const meta: Meta = toMeta(
    Object.fromEntries(
      Object.entries(file).filter(([key, value]) => !DERIVED.has(key) && value !== null),
    ),
  )
  // Renamed by `takeAside`: the journal of its own name has another version of the conversation.
  if (typeof file.session_id === 'string' && file.session_id !== id && id !== '')
    meta.title = `${meta.title ?? 'Untitled'} (other version)`
  const created = meta.created_at ?? 0
  const updated = meta.updated_at ?? created
  const from = { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  const messages = [...said.flatMap(toMessages), ...pendingMessage(file)]
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
    ...messages.map((message, index): Entry => {
      const n = index + 2
      // A message's own time may lie after the file's: it must not move the session.
      const at = Math.min(
        typeof message.timestamp === 'number' ? message.timestamp : updated,
        updated,
      )
      return { n, t: 'message', at, message: { ...message, id: `m${n}` } as Message }
    }),
  ]
}

export const toLines = (entries: readonly Entry[]): { offset: number; bytes: Buffer }[] =>
  entries.map(entry => ({ offset: 0, bytes: Buffer.from(formatEntry(entry)) }))

/** Writes a whole journal under another name and moves it into place; survives a power cut. */
export const writeJournal = (path: string, entries: readonly Entry[]): void => {
  const temporary = `${path}.tmp`
  try {
    // What a killed process left there; or something else, which opening might wait for.
    rmSync(temporary, { force: true })
    const fd = openSync(temporary, 'wx', 0o600)
    try {
      writeFileSync(fd, entries.map(entry => `${formatEntry(entry)}\n`).join(''))
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    if (isDiskFull(error))
      throw diskFull(`The disk is full or read-only; nothing was saved in ${dirname(path)}`)
    throw error
  }
  syncDir(dirname(path))
}

/**
 * `<id>.json` becomes `<id>.jsonl` and stays beside it as `<id>.json.migrated`. Killed between the two renames
 * both names exist; `finishConversion` then ends it. False when the file is no session.
 */
export const convertLegacyFile = (id: string, json: string, jsonl: string): boolean => {
  const entries = toEntries(id, readWhole(json))
  if (!entries) return false
  writeJournal(jsonl, entries)
  renameSync(json, `${json}.migrated`)
  syncDir(dirname(json))
  return true
}

const wireOf = ({ role, content, tool_calls, tool_call_id }: NewMessage): string =>
  JSON.stringify([role, content, tool_calls ?? [], tool_call_id ?? null])

const messagesOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap(entry => (entry.t === 'message' ? [wireOf(entry.message)] : []))

const begins = (with_: readonly string[], whole: readonly string[]): boolean =>
  with_.length <= whole.length && with_.every((text, at) => text === whole[at])

/** Short, and the same for the same words: a file that is written again and again takes one place. */
const idFor = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

/**
 * A `.json` file beside a journal that was not made from it: a program of the former format still writes it. When it says
 * what the journal says it stays. Otherwise it moves to an id of its own, so that both can be read; a later write that
 * only adds to what was moved before takes its place. Answers that id, null when nothing was moved.
 */
export const moveConflictingFile = (
  id: string,
  spoken: readonly NewMessage[],
  path: (id: string, ending: 'json' | 'jsonl') => string,
): string | null => {
  const json = path(id, 'json')
  const entries = toEntries(id, readWhole(json))
  if (!entries) return null
  const said = messagesOf(entries)
  const known = spoken.map(wireOf)
  if (begins(said, known)) return null
  const candidates = [idFor(`${id} json`), idFor(`${id} ${said.join('\n')}`)]
  const free = candidates.find(candidate => {
    if (existsSync(path(candidate, 'jsonl'))) return false
    if (!existsSync(path(candidate, 'json'))) return true
    const before = toEntries(candidate, readWhole(path(candidate, 'json')))
    return before !== null && begins(messagesOf(before), said)
  })
  if (free === undefined) return null
  renameSync(json, path(free, 'json'))
  syncDir(dirname(json))
  return free
}

/** Both exist. True when the .json is what the journal was made from; the journal wins in either case. */
export const finishConversion = (json: string, header: Entry | null): boolean => {
  const from = header?.t === 'session' ? header.from : undefined
  if (!from) return false
  const bytes = readWhole(json)
  if (bytes.length !== from.size) return false
  if (createHash('sha256').update(bytes).digest('hex') !== from.sha256) return false
  renameSync(json, `${json}.migrated`)
  return true
}
