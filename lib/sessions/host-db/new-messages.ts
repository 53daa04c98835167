/** Computes what to append to an imported session after the terminal continued it. */
import { toSeconds } from '../../base/clock.ts'
import { isObject } from '../../base/json.ts'
import type { Message, NewMessage } from '../../schema/message.ts'
import type { NewEntry } from '../entries.ts'
import type { Folded } from '../fold.ts'
import { isSameMessage, withoutCopies } from './read-messages.ts'

/** Stored in the session's record (`_cli`): the highest row number read, our message count after that sync, and the title in the database. */
export type SyncState = { seen: number; count: number; title: string }

/** The highest row number: message ids are `c<row>`. */
export const newestNumber = (messages: readonly Message[]): number =>
  messages.reduce((most, { id }) => Math.max(most, Number(id.slice(1)) || 0), 0)

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

/** Shown to the user when both sides added messages. `_error` keeps it from being sent to a model. */
const divider = (now: number): NewMessage => ({
  role: 'assistant',
  content: '*This chat was also continued in the terminal. Those messages follow.*',
  _error: true,
  timestamp: Math.floor(toSeconds(now)),
})

export type HostTranscript = {
  messages: readonly Message[]
  /** The title in the database; empty when it has none. */
  title: string
  /** Earlier messages were replaced in place by a summary. */
  compacted: boolean
}

/**
 * The journal lines that bring an imported session up to date; empty when it is. Never removes anything: messages the
 * terminal took back are hidden by a cut, and messages written here stay. `now`: milliseconds since 1970.
 */
export const planSync = (own: Folded, host: HostTranscript, now: number): NewEntry[] => {
  const { messages, title, compacted } = host
  // The database was replaced, or the session was deleted there. Nothing of ours is deleted with it.
  if (messages.length === 0) return []
  const state = parseSyncState(own.meta._cli)
  const shared = commonLength(own.messages, messages)
  const isWhole = shared === own.messages.length
  const isOurs = own.turn !== null || (state ? own.messages.length !== state.count : !isWhole)
  const unseen = state
    ? messages.filter(({ id }) => Number(id.slice(1)) > state.seen)
    : isWhole
      ? messages.slice(shared)
      : []
  const entries: NewEntry[] = []
  let count = own.messages.length
  if (isOurs) {
    const added = withoutCopies(own.messages, unseen)
    if (added.length > 0) entries.push({ t: 'message', message: divider(now) })
    entries.push(...added.map(toEntry))
    // Once a message was written here, both sides diverge: the count never matches again.
    count = state?.count ?? -1
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
  const seen = Math.max(state?.seen ?? 0, newestNumber(messages))
  const label = title || state?.title || ''
  const isRenamed = state !== undefined && own.meta.title !== state.title
  const next: SyncState = { seen, count, title: label }
  const isSameState = state && state.seen === seen && state.count === count && state.title === label
  if (isSameState) return entries
  const name = !isRenamed && state && label !== own.meta.title && label ? { title: label } : {}
  return [...entries, { t: 'meta', patch: { _cli: next, ...name } }]
}
