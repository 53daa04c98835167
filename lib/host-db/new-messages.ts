/** What a session that was taken over from the command line has to add when the terminal went on with it. */
import { isObject } from '../base/json.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import type { NewEntry } from '../sessions/entries.ts'
import type { Folded } from '../sessions/fold.ts'
import { isSameMessage, withoutCopies } from './read-messages.ts'

/** Kept with the session: how far the terminal's list was read, how many messages that made here, and the name it had there. */
export type SyncState = { seen: number; count: number; title: string }

export const newestNumber = (theirs: readonly Message[]): number =>
  theirs.reduce((most, { id }) => Math.max(most, Number(id.slice(1)) || 0), 0)

const parseSyncState = (value: unknown): SyncState | undefined => {
  if (!isObject(value)) return undefined
  const { seen, count, title } = value as Partial<SyncState>
  if (typeof seen !== 'number' || typeof count !== 'number') return undefined
  return { seen, count, title: typeof title === 'string' ? title : '' }
}

const commonLength = (a: readonly Message[], b: readonly Message[]): number => {
  const end = Math.min(a.length, b.length)
  for (let at = 0; at < end; at += 1) if (!isSameMessage(a[at]!, b[at]!)) return at
  return end
}

const toEntry = ({ id: _, ...message }: Message): NewEntry => ({ t: 'message', message })

/** Kept for the reader, never sent to a model: both sides wrote, and both are here. */
const divider = (now: number): NewMessage => ({
  role: 'assistant',
  content: '*The conversation also went on at the terminal. What was said there follows.*',
  _error: true,
  timestamp: Math.floor(now),
})

export type HostTranscript = {
  messages: readonly Message[]
  /** The name it has there; empty when it has none of its own. */
  title: string
  /** Earlier messages were replaced by a summary in place. */
  compacted: boolean
}

/** Only ever adds: what the terminal took back is hidden by a cut, and nothing written here is touched. Empty when all is said. */
export const planSync = (own: Folded, theirs: HostTranscript, now: number): NewEntry[] => {
  const { messages, title, compacted } = theirs
  // An empty list is a database somebody replaced, or a session that was deleted there: not a word of ours goes with it.
  if (messages.length === 0) return []
  const known = parseSyncState(own.meta._cli)
  const shared = commonLength(own.messages, messages)
  const isWhole = shared === own.messages.length
  const isOurs = own.turn !== null || (known ? own.messages.length !== known.count : !isWhole)
  const unseen = known
    ? messages.filter(({ id }) => Number(id.slice(1)) > known.seen)
    : isWhole
      ? messages.slice(shared)
      : []
  const entries: NewEntry[] = []
  let count = own.messages.length
  if (isOurs) {
    const added = withoutCopies(own.messages, unseen)
    if (added.length > 0) entries.push({ t: 'message', message: divider(now) })
    entries.push(...added.map(toEntry))
    // From the first word here on it is ours: it never counts as the terminal's again.
    count = known?.count ?? -1
  } else if (isWhole) {
    entries.push(...messages.slice(shared).map(toEntry))
    count = messages.length
  } else if (compacted) {
    const added = withoutCopies(own.messages, unseen)
    entries.push(...added.map(toEntry))
    count += added.length
  } else {
    entries.push({ t: 'cut', after: own.numbers[shared - 1] ?? 1 })
    entries.push(...messages.slice(shared).map(toEntry))
    count = messages.length
  }
  const seen = Math.max(known?.seen ?? 0, newestNumber(messages))
  const named = title || known?.title || ''
  const isRenamed = known !== undefined && own.meta.title !== known.title
  const next: SyncState = { seen, count, title: named }
  const isSameState = known && known.seen === seen && known.count === count && known.title === named
  if (isSameState) return entries
  const name = !isRenamed && known && named !== own.meta.title && named ? { title: named } : {}
  return [...entries, { t: 'meta', patch: { _cli: next, ...name } }]
}
