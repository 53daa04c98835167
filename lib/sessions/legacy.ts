/** Sessions in the former format, one `<id>.json` each: read as they are, converted on the first write. */
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
import { sha256 } from '../base/sha256.ts'
import { isObject, type JsonObject } from '../base/json.ts'
import { diskFull } from '../errors.ts'
import { syncDir } from '../store/atomic-write.ts'
import { isDiskFull } from '../store/journal.ts'
import { type Entry, formatEntry, type Meta, withoutMark } from './entries.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import { toTime } from '../base/to-time.ts'
import { toTranscript } from './tool-call-summaries.ts'
import { toMeta } from './import-record.ts'
import { readWhole } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'

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
export const toEntries = (id: string, bytes: Buffer): Entry[] | null => {
  let file: unknown
  try {
    file = parsePython(withoutMark(bytes.toString()))
  } catch {
    // Half written or another kind of file: not a session, and never changed.
    return null
  }
  if (!isObject(file)) return null
  // A new session may have null instead of a list.
  const said = file.messages === null && file.session_id ? [] : file.messages
  if (!Array.isArray(said)) return null
  const meta: Meta = toMeta(
    Object.fromEntries(
      Object.entries(file).filter(([key, value]) => !DERIVED.has(key) && value !== null),
    ),
  )
  // Renamed by `moveConflictingFile`: the journal with its original id has another version.
  if (typeof file.session_id === 'string' && file.session_id !== id && id !== '')
    meta.title = `${meta.title ?? 'Untitled'} (other version)`
  const created = meta.created_at ?? 0
  const updated = meta.updated_at ?? created
  const from = { size: bytes.length, sha256: sha256(bytes) }
  const messages = [...toTranscript(said, file.tool_calls), ...pendingMessage(file)]
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
      // A message time after the file's must not move the session in the list.
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

/** Writes a whole journal under a temporary name, fsyncs it and renames it. Survives a power cut. */
export const writeJournal = (path: string, entries: readonly Entry[]): void => {
  const temporary = `${path}.tmp`
  try {
    // Left by a killed process. It may also be a pipe, which open() would block on.
    rmSync(temporary, { force: true })
    const fd = openSync(temporary, 'wx', 0o600)
    try {
      writeFileSync(fd, entries.map(entry => `${formatEntry(entry)}\n`).join(''))
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(temporary, path)
    reportWrite(path)
  } catch (error) {
    rmSync(temporary, { force: true })
    if (isDiskFull(error))
      throw diskFull(`The disk is full or read-only; nothing was saved in ${dirname(path)}`)
    throw error
  }
  syncDir(dirname(path))
}

/**
 * Converts `<id>.json` to `<id>.jsonl` and renames the original to `<id>.json.migrated`. After a kill between the two
 * renames, both files exist; `finishConversion` completes it. False when the file is not a session.
 */
export const convertLegacyFile = (id: string, json: string, jsonl: string): boolean => {
  const entries = toEntries(id, readWhole(json))
  if (!entries) return false
  writeJournal(jsonl, entries)
  renameSync(json, `${json}.migrated`)
  reportWrite(json)
  reportWrite(`${json}.migrated`)
  syncDir(dirname(json))
  return true
}

export const wireOf = ({ role, content, tool_calls, tool_call_id }: NewMessage): string =>
  JSON.stringify([role, content, tool_calls ?? [], tool_call_id ?? null])

const messagesOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap(entry => (entry.t === 'message' ? [wireOf(entry.message)] : []))

export const begins = (with_: readonly string[], whole: readonly string[]): boolean =>
  with_.length <= whole.length && with_.every((text, at) => text === whole[at])

/** In this order, with others between them. */
const isAmong = (texts: readonly string[], whole: readonly string[]): boolean => {
  let found = 0
  for (const text of whole) if (text === texts[found]) found += 1
  return found === texts.length
}

/** A short id derived from the content: a file that is written repeatedly gets the same one. */
const idFor = (text: string): string => sha256(text).slice(0, 12)

/**
 * Handles a `.json` file beside a journal that was not made from it: a program of the former format still writes it. When
 * the journal contains all its messages, shown or not, it stays. Otherwise it moves to an id of its own, so that both can be read; a
 * later write that only adds messages replaces the moved file. Returns the id, null when nothing was moved.
 */
export const moveConflictingFile = (
  id: string,
  written: readonly NewMessage[],
  path: (id: string, ending: 'json' | 'jsonl') => string,
): string | null => {
  const json = path(id, 'json')
  const entries = toEntries(id, readWhole(json))
  if (!entries) return null
  const said = messagesOf(entries)
  if (isAmong(said, written.map(wireOf))) return null
  const candidates = [idFor(`${id} json`), idFor(`${id} ${said.join('\n')}`)]
  const free = candidates.find(candidate => {
    if (existsSync(path(candidate, 'jsonl'))) return false
    if (!existsSync(path(candidate, 'json'))) return true
    const before = toEntries(candidate, readWhole(path(candidate, 'json')))
    return before !== null && begins(messagesOf(before), said)
  })
  if (free === undefined) return null
  renameSync(json, path(free, 'json'))
  reportWrite(json)
  reportWrite(path(free, 'json'))
  syncDir(dirname(json))
  return free
}

/** Call when both files exist. Renames the .json and returns true when the journal was made from it. */
export const finishConversion = (json: string, header: Entry | null): boolean => {
  const from = header?.t === 'session' ? header.from : undefined
  if (!from) return false
  const bytes = readWhole(json)
  if (bytes.length !== from.size) return false
  if (sha256(bytes) !== from.sha256) return false
  renameSync(json, `${json}.migrated`)
  reportWrite(json)
  reportWrite(`${json}.migrated`)
  return true
}
