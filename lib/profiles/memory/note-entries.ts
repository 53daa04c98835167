/** Adds, replaces and removes single entries of the notes, within their limits: the operations of the memory tool. */
import { shorten } from '../../base/shorten.ts'
import { LOCK_WAIT_MS, limitsOf, type MemoryHome, readNote, writeNote } from './memory.ts'
import { reveal } from '../../base/redact/redact.ts'
import { withFileLock } from '../../store/flock.ts'
import { findThreat } from '../../base/prompt-injection.ts'

export const TARGETS = ['memory', 'user'] as const
export type Target = (typeof TARGETS)[number]

export type EntryChange =
  | { action: 'add'; content: string }
  /** `oldText`: a part of exactly one entry. */
  | { action: 'replace'; oldText: string; content: string }
  | { action: 'remove'; oldText: string }

/** The result of an edit for the model, with the current entries. */
export type EntryResult = {
  success: boolean
  target: Target
  entries: string[]
  /** `NN% — x/y chars` */
  usage: string
  entry_count: number
  message?: string
  error?: string
}

const SEPARATOR_TEXT = '\n§\n'
/** Files edited by hand have spaces and carriage returns around it. */
const SEPARATOR = /(?:^|\r?\n)[ \t]*§[ \t]*(?=\r?\n|$)/
const SEPARATOR_KEPT = new RegExp(`(${SEPARATOR.source})`)

type EntrySpan = { entry: string; start: number; end: number }

/** The position of each entry, without surrounding white space. */
const findEntries = (text: string): EntrySpan[] => {
  let from = 0
  return text.split(SEPARATOR_KEPT).flatMap((part, at) => {
    const start = from + part.length - part.trimStart().length
    from += part.length
    const entry = part.trim()
    return at % 2 === 0 && entry !== '' ? [{ entry, start, end: start + entry.length }] : []
  })
}

/** The entries without duplicates. */
export const parseEntries = (text: string): string[] => [
  ...new Set(findEntries(text).map(({ entry }) => entry)),
]

/** The text with these entries; unchanged entries keep their position and every byte around them. */
const withEntries = (text: string, next: readonly string[]): string => {
  const places = findEntries(text)
  if (places.length === 0 || next.length === 0) return next.join(SEPARATOR_TEXT)
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const write = (entry: string) => entry.replace(/\r?\n/g, end)
  const now = places.map(({ entry }) => entry)
  const fresh = next.filter(entry => !now.includes(entry))
  let out = ''
  let at = 0
  let isFirst = true
  for (const [index, place] of places.entries()) {
    const isKept = next.includes(place.entry)
    // A replacement takes the position of the old entry; an added entry goes to the end.
    const entry = isKept ? place.entry : fresh.shift()
    const before = text.slice(at, place.start)
    at = place.end
    if (entry === undefined) continue
    out += isFirst && index > 0 ? '' : before
    out += isKept ? entry : write(entry)
    isFirst = false
  }
  const lines = fresh.map(entry => `${end}§${end}${write(entry)}`).join('')
  return out + lines + text.slice(at)
}

const sizeOf = (entries: readonly string[]): number => [...entries.join(SEPARATOR_TEXT)].length

/** A profile can turn off either note, as for the host agent. */
export const isNoteEnabled = (home: MemoryHome, target: Target): boolean => {
  const { memory_enabled, user_profile_enabled } = home.config().memory
  return target === 'memory' ? memory_enabled : user_profile_enabled
}

const checkContent = (content: string): string | null => {
  if (!content) return 'content is required.'
  if (SEPARATOR.test(content)) return 'An entry cannot hold a line of only §: write two entries.'
  const threat = findThreat(content)
  return threat && `This was not stored: it holds ${threat}, and the note is part of every prompt.`
}

/** The entries after the change, or why it is rejected. */
const apply = (
  entries: readonly string[],
  change: EntryChange,
): { entries: string[]; message: string } | { error: string } => {
  const content = 'content' in change ? change.content.trim() : ''
  if (change.action !== 'remove') {
    const error = checkContent(content)
    if (error) return { error }
  }
  if (change.action === 'add')
    return entries.includes(content)
      ? { entries: [...entries], message: 'This entry is there already.' }
      : { entries: [...entries, content], message: 'Entry added.' }
  const oldText = change.oldText.trim()
  if (!oldText) return { error: 'old_text is required: a part of the entry that is meant.' }
  const matches = entries.filter(entry => entry.includes(oldText))
  if (matches.length === 0) return { error: `No entry holds "${shorten(oldText, 80)}".` }
  if (matches.length > 1)
    return {
      error: `${matches.length} entries hold "${shorten(oldText, 80)}"; give more of the one you mean: ${matches.map(entry => `"${shorten(entry, 80)}"`).join(', ')}`,
    }
  if (change.action === 'remove')
    return { entries: entries.filter(entry => entry !== matches[0]), message: 'Entry removed.' }
  const next = entries.map(entry => (entry === matches[0] ? content : entry))
  return { entries: [...new Set(next)], message: 'Entry replaced.' }
}

/** The model has read the note with secrets masked. */
const revealed = (change: EntryChange, note: string): EntryChange => ({
  ...change,
  ...('content' in change && { content: reveal(change.content, note) }),
  ...('oldText' in change && { oldText: reveal(change.oldText, note) }),
})

/** Reads, changes and writes under the file lock that the host agent uses too. */
export const changeEntries = (
  home: MemoryHome,
  target: Target,
  change: EntryChange,
): Promise<EntryResult> => {
  const { path } = readNote(home, target)
  return withFileLock(`${path}.lock`, { timeoutMs: LOCK_WAIT_MS }, () => {
    const { text } = readNote(home, target)
    const now = parseEntries(text)
    const limits = limitsOf(home)
    const limit = target === 'memory' ? limits.memory_char_limit : limits.user_char_limit
    const state = (entries: readonly string[]) => ({
      target,
      entries: [...entries],
      usage: `${Math.round((sizeOf(entries) / limit) * 100)}% — ${sizeOf(entries)}/${limit} chars`,
      entry_count: entries.length,
    })
    const refuse = (error: string): EntryResult => ({ success: false, ...state(now), error })
    const next = apply(now, revealed(change, text))
    if ('error' in next) return refuse(next.error)
    const size = sizeOf(next.entries)
    // A person may exceed the limit: an edit that makes the note smaller is accepted.
    if (size > limit && size >= sizeOf(now) && change.action !== 'remove')
      return refuse(
        `The note would have ${size} of at most ${limit} characters. Shorten, merge or remove entries first.`,
      )
    if (next.entries.join(SEPARATOR_TEXT) !== now.join(SEPARATOR_TEXT))
      writeNote(path, withEntries(readNote(home, target).text, next.entries))
    return { success: true, ...state(next.entries), message: next.message }
  })
}
