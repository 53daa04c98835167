/** What the session store offers to the rest of the program. */
import type { Worker } from 'node:worker_threads'
import type { Message, NewMessage } from '../schema/message.ts'
import type { Question } from '../schema/question.ts'
import type { SessionRow } from '../schema/session.ts'
import type { JournalOptions } from '../store/journal.ts'
import type { UsageBucket } from './catalog-statements.ts'
import type { Entry, NewEntry } from './entries.ts'
import type { Folded, Head, Turn } from './fold.ts'
import type { LiveState } from './list-row.ts'
import type { SnippetPart } from './search-query.ts'

export type SessionsOptions = {
  /** `<state>/sessions` */
  dir: string
  trashDir: string
  /** Holds `catalog.db` and `search.db`; may be deleted at any time. */
  cacheDir: string
  redact: (text: string) => string
  /** Every change of a row, empty untitled sessions included. Must not throw. */
  onRow: (row: SessionRow) => void
  onDeleted: (id: string) => void
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Seconds since 1970, with fractions. */
  now: () => number
  /** Path of the SQLite addon, in the one-file build. */
  addon?: string | undefined
  startWorker?: (() => Worker) | undefined
  /** Tests only. */
  write?: JournalOptions['write']
  bootId?: string
  catalogPragmas?: readonly string[]
  sweepMs?: number
}

export type NewMeta = {
  workspace: string
  model: string | null
  profile: string
  title?: string
  [key: string]: unknown
}

export type Tail = {
  messages: Message[]
  /** Visible messages before the first returned. */
  offset: number
  truncated: boolean
}

export type ListPage = {
  /** JSON array text of rows. */
  body: Buffer
  /** Pinned rows of the pages after a first one, as JSON array text; null when there are no such pages. */
  pinned: Buffer | null
  next: string | null
  /** Without quotes. */
  etag: string
  /** How many of the foreign rows count: those whose id is not one of ours. */
  foreign: number
}

export type SearchHit = SessionRow & {
  match_type: 'title' | 'content'
  /** Joined, the parts are the text shown. */
  snippet: SnippetPart[]
  message_id: string | null
}

/** A turn that had begun when the process died. */
export type Recovered = Turn & { session_id: string; questions: Question[] }

export type Sessions = {
  create(meta: NewMeta): SessionRow
  /** Undefined for unknown and trashed sessions. Resolves earlier names. */
  row(id: string): SessionRow | undefined
  require(id: string): SessionRow
  resolve(id: string): string | undefined
  /** Not redacted. */
  load(id: string): Folded
  /** Everything but the messages; does not read the file for it. Not redacted. */
  head(id: string): Head
  /** Redacted unless `raw`. Costs what it returns, whatever the length of the session. */
  tail(id: string, options: { limit: number; before?: string | undefined; raw?: boolean }): Tail
  wholeJson(id: string): Promise<Buffer>
  /** A session that began elsewhere, whole and under its own id, which must be free; null gives it a new one. */
  adopt(id: string | null, meta: NewMeta, messages: readonly NewMessage[]): SessionRow
  /** All lines or none, in one write; throws Refusal `full` when the disk is. `quiet` messages do not move the session. */
  append(id: string, entries: readonly NewEntry[], options?: { quiet?: boolean }): Entry[]
  /** Free now and not given to anybody else; `append` of a message with this id keeps it. */
  nextMessageId(id: string): string
  sync(id: string): Promise<void>
  acquire(id: string): void
  release(id: string): void
  /** Known to this process only, never written to the journal. */
  setLive(id: string, patch: Partial<LiveState>): void
  /** Await before `list`, so that what other programs just did is in it; then take list and cursor in one tick. */
  catchUp(): Promise<void>
  list(options?: {
    limit?: number | undefined
    cursor?: string | undefined
    profile?: string | undefined
    /** Rows of another place to merge in by time, newest first; ours win. Another array means another list. */
    foreign?: readonly SessionRow[] | undefined
    /** False: a page without the runs of scheduled tasks, but for those that wait for a person or are pinned. */
    scheduled?: boolean | undefined
  }): ListPage
  /** What the turns that ended since then have used, and in how many sessions. Await `catchUp` before. */
  usage(since: number): { buckets: UsageBucket[]; sessions: number }
  /** Conversations of a project, archived and empty ones too. */
  idsByProject(project: string): string[]
  /** Of one profile when one is given. */
  search(options: {
    q: string
    content: boolean
    limit: number
    profile?: string | undefined
  }): Promise<SearchHit[]>
  /** Undoable for a day. False when there was nothing. */
  trash(id: string): boolean
  restore(id: string): SessionRow
  /** Whether `restore` would find it. */
  inTrash(id: string): boolean
  /** Rewrites the file without what was cut. Nothing of it can be brought back. */
  purge(id: string): Promise<SessionRow>
  /** Deletes for good, from the trash too. False when there was nothing. */
  erase(id: string): Promise<boolean>
  /** Erases what has been in the trash for a day; how many. */
  sweepTrash(): Promise<number>
  /** Deletes sessions without messages (and without a draft); how many. */
  cleanup(options: { anyTitle: boolean }): number
  duplicate(id: string): SessionRow
  branch(
    id: string,
    options?: { keep_count?: number | undefined; title?: string | undefined },
  ): SessionRow
  /** Gives the session another id; the old one stays valid. */
  rotate(id: string, to: string): SessionRow
  recover(): Recovered[]
  close(): Promise<void>
}
