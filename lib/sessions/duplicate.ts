/** Creates sessions from other sessions: duplicate, branch, and adopt from another program. */
import { conflict, missing } from '../errors.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Entry, Meta, SentEntry, StateEntry, StoredState, SummaryEntry } from './entries.ts'
import { type Files, foldFile } from './files.ts'
import type { Folded } from './fold.ts'
import type { CatalogSync } from './catalog-sync.ts'
import { readImported } from './imported.ts'
import { writeJournal } from './legacy.ts'
import { UNTITLED } from './list-row.ts'
import type { NewMeta } from './types.ts'
import type { Watch } from './watch.ts'
import type { Writer } from './writer.ts'

type DuplicateOptions = {
  files: Files
  catalogSync: CatalogSync
  watch: Watch
  writer: Writer
  newId: () => string
  require: (id: string) => SessionRow
  providerStates: (id: string) => ReadonlyMap<string, StoredState>
  onCopied: (from: string, to: string) => void
}

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

export const createDuplicator = ({
  files,
  catalogSync,
  watch,
  writer,
  newId,
  require,
  providerStates,
  onCopied,
}: DuplicateOptions) => {
  const copy = (given: string, keep: number, change: (meta: Meta) => Meta): SessionRow => {
    const original = require(given).session_id
    const file = files.find(original)
    const folded = file && foldFile(file)?.folded
    if (!folded) throw missing('Session not found', { code: 'session_not_found' })
    const id = newId()
    const at = writer.nextTime(0)
    const kept = Object.fromEntries(
      Object.entries(folded.meta).filter(([key]) => !NOT_COPIED.includes(key)),
    )
    const messages = folded.messages.slice(0, keep).map((message, index): Entry => {
      const n = index + 2
      return { n, t: 'message', at, message: { ...message, id: `m${n}` } as Message }
    })
    const entries: Entry[] = [
      { n: 1, t: 'session', at, v: 1, id, meta: change(kept) },
      ...messages,
      ...[
        ...copiedSummaries(folded, messages.length),
        ...copiedSent(folded, messages.length),
        ...copiedStates(folded, providerStates(given), messages.length),
      ].map((entry, index): Entry => ({ ...entry, n: messages.length + 2 + index, at }) as Entry),
    ]
    watch.ignoreOwn(() => writeJournal(files.jsonl(id), entries))
    catalogSync.refresh(id)
    onCopied(original, id)
    return require(id)
  }

  return {
    adopt(own: string | null, meta: NewMeta, messages: readonly NewMessage[]): SessionRow {
      const id = own ?? newId()
      if (files.find(id))
        throw conflict('A session with this id already exists', { code: 'session_exists' })
      const { created_at, updated_at } = meta as Meta
      const created = created_at ?? writer.nextTime(0)
      const updated = updated_at ?? created
      const entries: Entry[] = [
        { n: 1, t: 'session', at: created, v: 1, id, meta },
        ...messages.map((message, index): Entry => {
          const n = index + 2
          // A message time after the session's must not move the session in the list.
          const time = typeof message.timestamp === 'number' ? message.timestamp : updated
          const at = Math.min(time, updated)
          return { n, t: 'message', at, message: { ...message, id: `m${n}` } as Message }
        }),
      ]
      watch.ignoreOwn(() => writeJournal(files.jsonl(id), entries))
      catalogSync.refresh(id)
      return require(id)
    },
    imported: (id: string) => readImported(files, id),
    writeImported(id: string, entries: readonly Entry[]): void {
      writer.closeJournal(id)
      watch.ignoreOwn(() => writeJournal(files.jsonl(id), entries))
      catalogSync.refresh(id)
    },
    duplicate: (id: string): SessionRow =>
      copy(id, Number.POSITIVE_INFINITY, meta => ({
        ...meta,
        title: `${meta.title ?? UNTITLED} (copy)`,
      })),
    branch: (
      id: string,
      { keep_count, title }: { keep_count?: number | undefined; title?: string | undefined } = {},
    ): SessionRow =>
      copy(id, keep_count ?? Number.POSITIVE_INFINITY, meta => ({
        ...meta,
        title: title?.trim() || `${meta.title ?? UNTITLED} (fork)`,
        parent_session_id: require(id).session_id,
      })),
  }
}
