/** A chat that was exported for a program of the former format, and went on there: what was added is appended to its journal. */
import type { Message } from '../schema/message.ts'
import { Journal, readLines } from '../store/journal.ts'
import { readWhole } from '../store/read-text.ts'
import { type Entry, formatEntry, type MessageEntry, parseEntry } from './entries.ts'
import { foldFile, withFile } from './files.ts'
import { begins, toEntries, wireOf } from './legacy.ts'

const messagesOf = (entries: Iterable<Entry | 'unknown' | null>): MessageEntry[] =>
  Iterator.from(entries)
    .filter(entry => entry !== null && entry !== 'unknown' && entry.t === 'message')
    .toArray()

/** Also what was taken back or replaced here. */
export const messagesWritten = (path: string): Message[] =>
  withFile(path, fd => {
    const entries = Iterator.from(readLines(fd)).map(({ bytes }) => parseEntry(bytes.toString()))
    return messagesOf(entries).map(({ message }) => message)
  })

const isHidden = (path: string, shown: readonly Message[], wire: string): boolean => {
  const ids = new Set(shown.map(({ id }) => id))
  return messagesWritten(path).some(message => !ids.has(message.id) && wireOf(message) === wire)
}

/**
 * False when the chat also went on here, or was changed. The `.json` file stays in its place: the journal then has all of it,
 * and what it gets later is added likewise.
 */
export const continueJournal = (id: string, jsonl: string, json: string): boolean => {
  const journal = foldFile({ id, path: jsonl, format: 'jsonl' })
  const spoken = journal?.folded.messages ?? []
  // A running turn has given out numbers.
  if (!journal || spoken.length === 0 || journal.folded.turn?.how === null) return false
  const said = messagesOf(toEntries(id, readWhole(json)) ?? [])
  const [first, ...more] = said.slice(spoken.length)
  const texts = said.map(({ message }) => wireOf(message))
  if (!first || !begins(spoken.map(wireOf), texts)) return false
  if (isHidden(jsonl, spoken, wireOf(first.message))) return false
  const lines = [first, ...more].map((entry, at) => {
    const n = journal.summary.nextN + at
    return formatEntry({ ...entry, n, message: { ...entry.message, id: `m${n}` } })
  })
  const file = new Journal(jsonl)
  try {
    file.append(lines)
  } finally {
    file.close()
  }
  return true
}
