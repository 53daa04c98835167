/** What becomes of files in the former format: converted on the first write, and joined with the journal of the same session. */
import { existsSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { sha256 } from '../base/sha256.ts'
import type { Message } from '../schema/message.ts'
import { syncDir } from '../store/atomic-write.ts'
import { Journal } from '../store/journal.ts'
import { readWhole } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'
import { type JournalEntry, formatEntry, type MessageEntry } from './entries.ts'
import { foldFile, readEntries, type SessionFiles, writeJournal } from './files.ts'
import { toEntries } from './legacy.ts'

/**
 * Converts `<id>.json` to `<id>.jsonl` and renames the original to `<id>.json.migrated`. After a kill between the two
 * renames, both files exist; `joinFormats` completes it. False when the file is not a session.
 */
export const convertLegacyFile = (id: string, files: SessionFiles): boolean => {
  const entries = toEntries(id, readWhole(files.json(id)))
  if (!entries) return false
  writeJournal(files.jsonl(id), entries)
  move(files.json(id), `${files.json(id)}.migrated`)
  return true
}

const move = (from: string, to: string): void => {
  renameSync(from, to)
  reportWrite(from)
  reportWrite(to)
  syncDir(dirname(from))
}

const messagesOf = (entries: readonly JournalEntry[]): MessageEntry[] =>
  entries.filter(entry => entry.t === 'message')

/** What a message says, for comparing: ids and times differ between the formats. */
const wireOf = ({ message }: { message: Message }): string => {
  const { role, content, tool_calls, tool_call_id } = message
  return JSON.stringify([role, content, tool_calls ?? [], tool_call_id ?? null])
}

const isBeginning = (texts: readonly string[], whole: readonly string[]): boolean =>
  texts.length <= whole.length && texts.every((text, at) => text === whole[at])

/** In this order, with others between them. */
const isAmong = (texts: readonly string[], whole: readonly string[]): boolean => {
  let count = 0
  for (const text of whole) if (text === texts[count]) count += 1
  return count === texts.length
}

/** A short id derived from the content: a file that is written repeatedly gets the same one. */
const idFor = (text: string): string => sha256(text).slice(0, 12)

/**
 * For a `.json` file beside a journal: its conversion was interrupted, or a program of the former format still writes it. The
 * journal keeps the id. `contained`: it has all messages of the file, shown or not. `continued`: it had the beginning of
 * them, and what follows was added. Otherwise the file moves to the id that is returned, so that both can be read; a later
 * write that only adds messages replaces the moved file.
 */
export const joinFormats = (
  id: string,
  files: SessionFiles,
): 'converted' | 'contained' | 'continued' | { moved: string } => {
  const [json, jsonl] = [files.json(id), files.jsonl(id)]
  const bytes = readWhole(json)
  const lines = readEntries(jsonl)
  const from = lines[0]?.t === 'session' ? lines[0].from : undefined
  if (from && bytes.length === from.size && sha256(bytes) === from.sha256) {
    move(json, `${json}.migrated`)
    return 'converted'
  }
  const inJson = messagesOf(toEntries(id, bytes) ?? [])
  const texts = inJson.map(wireOf)
  const inJournal = messagesOf(lines)
  if (isAmong(texts, inJournal.map(wireOf))) return 'contained'
  if (addFollowing(id, jsonl, inJson, inJournal)) return 'continued'
  const candidates = [idFor(`${id} json`), idFor(`${id} ${texts.join('\n')}`)]
  const free = candidates.find(candidate => {
    if (existsSync(files.jsonl(candidate))) return false
    if (!existsSync(files.json(candidate))) return true
    const before = toEntries(candidate, readWhole(files.json(candidate)))
    return before !== null && isBeginning(messagesOf(before).map(wireOf), texts)
  })
  if (free === undefined) return 'contained'
  move(json, files.json(free))
  return { moved: free }
}

/** False when the chat also went on here, or was changed. */
const addFollowing = (
  id: string,
  jsonl: string,
  inJson: readonly MessageEntry[],
  inJournal: readonly MessageEntry[],
): boolean => {
  const folded = foldFile({ id, path: jsonl, format: 'jsonl' })?.folded
  const visible = (folded?.messages ?? []).map(message => wireOf({ message }))
  // A running turn has given out numbers.
  if (!folded || visible.length === 0 || folded.turn?.how === null) return false
  const following = inJson.slice(visible.length)
  const [first] = following
  if (!first || !isBeginning(visible, inJson.map(wireOf))) return false
  const ids = new Set(folded.messages.map(message => message.id))
  const hidden = inJournal.filter(({ message }) => !ids.has(message.id))
  // It was taken back here.
  if (hidden.some(entry => wireOf(entry) === wireOf(first))) return false
  const journal = new Journal(jsonl)
  try {
    journal.append(
      following.map((entry, at) => {
        const n = folded.nextN + at
        return formatEntry({ ...entry, n, message: { ...entry.message, id: `m${n}` } })
      }),
    )
  } finally {
    journal.close()
  }
  return true
}
