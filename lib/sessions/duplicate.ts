/** Copies of sessions: the lines of another session with the same messages. Pure. */
import type { Message } from '../schema/message.ts'
import type {
  JournalEntry,
  Meta,
  SentEntry,
  StateEntry,
  StoredState,
  SummaryEntry,
} from './entries.ts'
import type { Folded } from './fold.ts'

/** Keys that stay with the original: tokens were spent once, and a CLI session has one origin. */
const NOT_COPIED = [
  'input_tokens',
  'output_tokens',
  'estimated_cost',
  'cache_read_tokens',
  'cache_write_tokens',
  'composer_draft',
  'queued',
  'sent_messages',
  'yolo',
  'approved_patterns',
  'turn_role',
  'background',
  'budget_granted',
  'budget_lifted',
  'pinned',
  'archived',
  'created_at',
  'updated_at',
  'is_cli_session',
  '_cli_origin',
  '_cli',
  'source_tag',
  'compression_anchor_visible_idx',
  'compression_anchor_message_key',
  'imported',
  'imported_lines',
]

/** The summaries whose messages are all in the copy, with the line numbers of the copy. */
const copiedSummaries = (
  { numbers, summaries }: Folded,
  count: number,
): Omit<SummaryEntry, 'n' | 'at'>[] =>
  summaries.flatMap(({ from, to, text }) => {
    const first = numbers.findIndex(n => n >= from)
    const last = numbers.findLastIndex(n => n <= to)
    if (first < 0 || last < first || last >= count) return []
    return [{ t: 'summary', from: first + 2, to: last + 2, last: `m${last + 2}`, text }]
  })

/** How the copied messages were sent to the model, so that the provider's prompt cache still matches. */
const copiedSent = ({ messages, sent }: Folded, count: number): Omit<SentEntry, 'n' | 'at'>[] =>
  sent.flatMap(({ id, ...how }) => {
    const index = messages.findIndex(message => message.id === id)
    return index < 0 || index >= count ? [] : [{ t: 'sent', id: `m${index + 2}`, ...how }]
  })

/** The reasoning of the copied messages, which their providers still accept. */
const copiedStates = (
  { messages }: Folded,
  states: ReadonlyMap<string, StoredState>,
  count: number,
): Omit<StateEntry, 'n' | 'at'>[] =>
  messages.slice(0, count).flatMap(({ id }, index) => {
    const state = states.get(id)
    return state ? [{ t: 'provider_state', id: `m${index + 2}`, ...state }] : []
  })

/** The lines of a copy with the first `keep` messages. `states`: as `readStates` returns them. */
export const copyOf = (
  folded: Folded,
  states: ReadonlyMap<string, StoredState>,
  { id, at, keep, meta }: { id: string; at: number; keep: number; meta: Meta },
): JournalEntry[] => {
  const fields = Object.entries(folded.meta).filter(([key]) => !NOT_COPIED.includes(key))
  const messages = folded.messages.slice(0, keep).map((message, index): JournalEntry => {
    const n = index + 2
    return { n, t: 'message', at, message: { ...message, id: `m${n}` } as Message }
  })
  return [
    { n: 1, t: 'session', at, v: 1, id, meta: { ...Object.fromEntries(fields), ...meta } },
    ...messages,
    ...[
      ...copiedSummaries(folded, messages.length),
      ...copiedSent(folded, messages.length),
      ...copiedStates(folded, states, messages.length),
    ].map((entry, index) => ({ ...entry, n: messages.length + 2 + index, at }) as JournalEntry),
  ]
}
