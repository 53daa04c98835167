/** The interface of the session store. */
import type { Worker } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import type { Question } from '../schema/question.ts'
import type { SessionRow } from '../schema/session.ts'
import type { TurnUsage } from '../schema/usage.ts'
import type { JournalOptions } from '../store/journal.ts'
import type { SessionName, UsageBucket } from './catalog-statements.ts'
import type { Entry, NewEntry, StoredState } from './entries.ts'
import type { Folded, Head, Turn } from './fold.ts'
import type { StoredImport } from './imported.ts'
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
  /** `profile`: of the deleted session, when it was known. */
  /** `seq`: that of its last row is lower, and that of the next one, after a restore, is higher. */
  onDeleted: (id: string, profile: string | undefined, seq: number) => void
  /** For what is stored beside a session and named by its messages. Must not throw. */
  onCopied: (from: string, to: string) => void
  log: (line: string, extra?: Record<string, unknown>) => void
  clock: Clock
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
  /** JSON array text of rows, in pieces. */
  body: readonly Buffer[]
  /** Pinned rows of the pages after a first one, as JSON array text; null when there are no such pages. */
  pinned: Buffer | null
  next: string | null
  /** Without quotes. */
  etag: string
  /** How many of the foreign rows are in the list: those whose id is not one of ours. */
  foreign: number
}

/** One profile, several, or all (undefined, or an empty text). No session is in an empty list. */
export type ProfileFilter = string | readonly string[] | undefined

export type SearchHit = SessionRow & {
  match_type: 'title' | 'content'
  /** Joined, the parts are the text shown. */
  snippet: SnippetPart[]
  message_id: string | null
}

/** A turn that was running when the process died. */
export type Recovered = Turn & { session_id: string; questions: Question[] }

export type Sessions = {
  create(meta: NewMeta): SessionRow
  /** Undefined for unknown and trashed sessions. Resolves earlier names. */
  row(id: string): SessionRow | undefined
  require(id: string): SessionRow
  resolve(id: string): string | undefined
  /** Another number after every change of any session. Call `resolve` first, which notices changes by other programs. */
  readonly version: number
  /** Another text after every change of the session's file. */
  stamp(id: string): string | undefined
  /** Not redacted. */
  load(id: string): Folded
  /** What providers get back with messages of finished turns, by message id. Only for requests to them. */
  providerStates(id: string): ReadonlyMap<string, StoredState>
  /** What to append to show another version of a message; null: it is shown. Throws a 404 when none of its versions is. */
  lineToShow(id: string, message: string): NewEntry | null
  /** Everything except the messages, without reading the file. Not redacted. */
  head(id: string): Head
  /** Redacted unless `raw`. The cost does not depend on the length of the session. */
  tail(id: string, options: { limit: number; before?: string | undefined; raw?: boolean }): Tail
  wholeJson(id: string): Promise<Buffer>
  /** Creates a session from another program's. Its id must be free; null assigns a new one. */
  adopt(id: string | null, meta: NewMeta, messages: readonly NewMessage[]): SessionRow
  /** What an earlier import wrote under this id; null: there is no such session. */
  imported(id: string): StoredImport | null
  /** Writes a session as an import read it, or replaces one that was imported. */
  writeImported(id: string, entries: readonly Entry[]): void
  /** Appends all lines or none, in one write. Throws UserError `full` when the disk is full. `quiet` messages do not move the session in the list. */
  append(id: string, entries: readonly NewEntry[], options?: { quiet?: boolean }): Entry[]
  /** Reserves a message id; a message appended with this id keeps it. */
  nextMessageId(id: string): string
  /** Resolves when all appended lines are on the disk. */
  sync(id: string): Promise<void>
  /** Keeps the journal open until `release` was called as often. */
  acquire(id: string): void
  release(id: string): void
  /** Known to this process only, never written to the journal. */
  setLive(id: string, patch: Partial<LiveState>): void
  /** Applies pending changes by other programs. Await it before `list`, then read list and cursor in the same tick. */
  catchUp(): Promise<void>
  list(options?: {
    limit?: number | undefined
    cursor?: string | undefined
    profile?: ProfileFilter
    /** Rows of the host agent to merge in by time, newest first; ours win. Compared by identity. */
    foreign?: readonly SessionRow[] | undefined
    /** False: without runs of scheduled tasks, except those that are pinned or wait for the user. */
    scheduled?: boolean | undefined
  }): ListPage
  /** Usage of the turns that ended since then (milliseconds since 1970), and the number of sessions. Await `catchUp` first. */
  usage(
    since: number,
    profiles?: readonly string[] | null,
  ): { buckets: UsageBucket[]; sessions: number }
  /** Usage of a session's turns that ended between two line numbers, in order. */
  turnUsage(id: string, after: number, before: number): TurnUsage[]
  /** Sessions of a project, including archived and empty ones. */
  idsByProject(project: string): string[]
  /** Projects that sessions of these profiles are in. */
  projectsOf(profiles: readonly string[]): string[]
  /** Titled sessions of a profile, newest first, redacted. Await `catchUp` first. */
  names(profile: string, limit: number): SessionName[]
  search(options: {
    q: string
    content: boolean
    limit: number
    profile?: ProfileFilter
  }): Promise<SearchHit[]>
  /** Moves to the trash for a day. False when there is no such session. */
  trash(id: string): boolean
  restore(id: string): SessionRow
  /** True when `restore` would find it. */
  inTrash(id: string): boolean
  /** The profile of a session that `restore` would find; undefined when it was deleted by an earlier version. */
  trashedProfile(id: string): string | undefined
  /** Rewrites the file without cut content, which cannot be restored. */
  purge(id: string): Promise<SessionRow>
  /** Deletes permanently, also from the trash. False when there is no such session. */
  erase(id: string): Promise<boolean>
  /** Deletes sessions that have been in the trash for a day; returns how many. */
  sweepTrash(): Promise<number>
  /** Deletes sessions without messages and without a draft; returns how many. */
  cleanup(options: { anyTitle: boolean }): number
  duplicate(id: string): SessionRow
  branch(
    id: string,
    options?: { keep_count?: number | undefined; title?: string | undefined },
  ): SessionRow
  /** Gives the session another id; the old one stays valid as an alias. */
  rotate(id: string, to: string): SessionRow
  recover(): Recovered[]
  /** Sessions whose last turn failed or was interrupted, newest first. Time in milliseconds since 1970. */
  troubled(since: number, limit: number): SessionRow[]
  /** Questions of all sessions that are not answered. */
  openQuestions(): Question[]
  close(): Promise<void>
}
