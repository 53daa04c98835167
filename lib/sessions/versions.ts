/** Versions of a message: which there are, and the line that shows another one. Pure. */
import { missing } from '../errors.ts'
import type { Message } from '../schema/message.ts'
import type { JournalEntry, NewEntry } from './entries.ts'
import { isHidden } from './fold.ts'

export const versionsOf = (
  versions: readonly string[][],
  id: string,
): readonly string[] | undefined => versions.find(group => group.includes(id))

/** The message with the ids of its versions, if it has others. */
export const withVersions = (message: Message, versions: readonly string[][]): Message => {
  const ids = versionsOf(versions, message.id)
  return ids ? { ...message, _versions: [...ids] } : message
}

type Cuts = readonly [number, number][]

/** The cuts in force after this line. */
const after = (cuts: Cuts, entry: JournalEntry): Cuts => {
  if (entry.t === 'cut') return [...cuts, [entry.n, entry.after]]
  if (entry.t === 'show') return [...entry.cuts, [entry.n, entry.after]]
  return entry.t === 'uncut' ? cuts.filter(([n]) => n !== entry.cut) : cuts
}

/** The shortest line that hides exactly the others of these lines of messages. */
const toShow = (lines: readonly number[], cuts: Cuts): NewEntry => {
  const between: [number, number][] = []
  let last = 0
  let isGap = false
  for (const n of lines) {
    if (isHidden(cuts, n)) isGap = true
    else {
      if (isGap) between.push([n, last])
      last = n
      isGap = false
    }
  }
  return { t: 'show', after: last, cuts: between }
}

/**
 * The line after which the transcript is what it was when this version was hidden last; null when it is visible. Throws
 * a 404 for a message that is no version of a visible one.
 */
export const lineToShow = (
  entries: Iterable<JournalEntry>,
  versions: readonly string[][],
  id: string,
): NewEntry | null => {
  const ids = versionsOf(versions, id)
  const lines: number[] = []
  const lineOf = new Map<string, number>()
  let cuts: Cuts = []
  let show: NewEntry | null = null
  for (const entry of entries) {
    if (entry.t === 'message') {
      lines.push(entry.n)
      if (ids?.includes(entry.message.id)) lineOf.set(entry.message.id, entry.n)
      continue
    }
    const next = after(cuts, entry)
    const line = lineOf.get(id)
    if (line !== undefined && !isHidden(cuts, line) && isHidden(next, line))
      show = toShow(lines, cuts)
    cuts = next
  }
  const visibleId = [...lineOf].find(([, line]) => !isHidden(cuts, line))?.[0]
  if (visibleId === undefined || !lineOf.has(id))
    throw missing('Message not found', { code: 'message_not_found' })
  return visibleId === id ? null : show
}
