/** The session store: transcripts in journals, with the catalog and the search index that follow them. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import { conflict } from '../errors.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { NewMessage } from '../schema/message.ts'
import type { Question } from '../schema/question.ts'
import type { SessionRow } from '../schema/session.ts'
import type { TurnUsage } from '../schema/usage.ts'
import type { JournalOptions } from '../store/journal.ts'
import { Catalog, type SessionName, type UsageBucket } from './catalog.ts'
import { CatalogSync } from './catalog-sync.ts'
import { copyOf } from './duplicate.ts'
import {
  type JournalEntry,
  type Meta,
  messageEntries,
  type NewEntry,
  type StoredState,
} from './entries.ts'
import { readEntries, SessionFiles, sessionMissing, writeJournal } from './files.ts'
import type { Folded, Summary, Turn } from './fold.ts'
import { readImported, type StoredImport } from './imported.ts'
import { type LiveState, UNTITLED } from './list-row.ts'
import { type ListOptions, type ListPage, listSessions } from './listing.ts'
import { WholeList } from './whole-list.ts'
import {
  type ForModel,
  readForModel,
  readStates,
  type Tail,
  tailFrom,
  type TailOptions,
  WholeReader,
} from './reader.ts'
import { SearchClient } from './search-client.ts'
import { type SearchHit, type SearchOptions, SessionSearch } from './session-search.ts'
import { Trash } from './trash.ts'
import { lineToShow } from './versions.ts'
import { Watch } from './watch.ts'
import { type SessionParts, SessionWriter } from './writer.ts'

export type SessionsOptions = {
  /** `<state>/sessions` */
  dir: string
  trashDir: string
  /** Holds `catalog.db` and `search.db`; may be deleted at any time. */
  cacheDir: string
  redact: (text: string) => string
  /** Every change of a row, empty untitled sessions included. Must not throw. */
  onRow: (row: SessionRow) => void
  /**
   * `profile`: of the deleted session, when it was known. `seq`: that of its last row is lower, and that of the next one,
   * after a restore, is higher.
   */
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
}

export type NewMeta = {
  workspace: string
  model: string | null
  profile: string
  title?: string
  [key: string]: unknown
}

/** A turn that was running when the process died. */
export type Recovered = Turn & { session_id: string; questions: Question[] }

/** Some file systems report nothing of what was changed elsewhere. */
const COMPARE_AGAIN_MS = 1_000

/** Ids may be earlier names of sessions. */
export class Sessions {
  readonly #parts: SessionParts
  readonly #writer: SessionWriter
  readonly #search: SearchClient
  readonly #find: SessionSearch
  readonly #trash: Trash
  readonly #whole: WholeList
  readonly #wholes: WholeReader
  readonly #boot = randomBytes(4).toString('hex')
  /** Sessions that were compared with their files a moment ago: a request asks several times. */
  readonly #compared = new Map<string, string | undefined>()
  #comparedVersion = -1
  #comparedUntil = 0

  constructor(options: SessionsOptions) {
    const { dir, cacheDir, redact, log, clock, addon, startWorker } = options
    for (const each of [dir, cacheDir]) mkdirSync(each, { recursive: true, mode: 0o700 })
    const files = new SessionFiles(dir)
    const opened: { sync?: CatalogSync } = {}
    const catalog = new Catalog({
      file: join(cacheDir, 'catalog.db'),
      addon,
      redact,
      log,
      // Before the first sweep there is nothing to repeat.
      rebuild: () => opened.sync?.sweepQuietly(),
      pragmas: options.catalogPragmas,
      bootId: options.bootId,
    })
    const sync = new CatalogSync(options, files, catalog)
    opened.sync = sync
    const watch = new Watch({
      dir,
      clock,
      log,
      changed: () => this.#compared.clear(),
      sweep: async () => {
        catalog.verify()
        await sync.sweep()
      },
    })
    sync.sweepQuietly()
    this.#parts = { options, files, catalog, sync, watch }
    this.#search = new SearchClient({
      clock,
      file: join(cacheDir, 'search.db'),
      catalog: catalog.file,
      dir,
      addon,
      log,
      startWorker,
    })
    this.#whole = new WholeList(catalog, clock)
    this.#wholes = new WholeReader(files, clock)
    this.#writer = new SessionWriter(this.#parts)
    this.#trash = new Trash(this.#parts, this.#writer, this.#search)
    this.#find = new SessionSearch(this.#parts, this.#search, id => this.row(id))
  }

  /** The current id of a session, after its file was compared with its row. */
  #compare(id: string): string | undefined {
    if (!SESSION_ID.test(id)) return undefined
    const { catalog, sync } = this.#parts
    // A file takes precedence over an alias.
    if (sync.refresh(id)) return id
    const now = catalog.alias(id)
    return now !== undefined && sync.refresh(now) ? now : undefined
  }

  /** Before a write, the file is always compared: another program may have replaced it. */
  #idForWrite(id: string): string {
    const real = this.#compare(id)
    if (real === undefined) throw sessionMissing()
    return real
  }

  /**
   * The current id. For reading: a file is compared only when a change was reported, when a row has changed, and after a second.
   * Where nothing is reported, once for each iteration of the event loop.
   */
  resolve(id: string): string | undefined {
    const { options, catalog, watch } = this.#parts
    const now = options.clock.monotonic()
    if (this.#comparedVersion !== catalog.version || now > this.#comparedUntil)
      this.#compared.clear()
    if (this.#compared.has(id)) return this.#compared.get(id)
    const real = this.#compare(id)
    if (this.#compared.size === 0) {
      this.#comparedUntil = now + COMPARE_AGAIN_MS
      if (watch.isPolling) setImmediate(() => this.#compared.clear())
    }
    this.#compared.set(id, real)
    this.#comparedVersion = catalog.version
    return real
  }

  #real(id: string): string {
    const real = this.resolve(id)
    if (real === undefined) throw sessionMissing()
    return real
  }

  #summary(id: string): Summary {
    const entry = this.#parts.catalog.get(this.#real(id))
    if (!entry) throw sessionMissing()
    return entry.summary
  }

  #newId(): string {
    const { files, catalog } = this.#parts
    while (true) {
      const id = randomBytes(6).toString('hex')
      if (!files.find(id) && catalog.alias(id) === undefined) return id
    }
  }

  /** Undefined for unknown and trashed sessions. */
  row(id: string): SessionRow | undefined {
    const real = this.resolve(id)
    return real === undefined ? undefined : this.#parts.catalog.row(real)
  }

  require(id: string): SessionRow {
    const row = this.row(id)
    if (!row) throw sessionMissing()
    return row
  }

  /** Another number after every change of any session. Call `resolve` first, which notices changes by other programs. */
  get version(): number {
    return this.#parts.catalog.version
  }

  /** Another text after every change of the session's file. */
  stamp(id: string): string | undefined {
    const real = this.resolve(id)
    return real === undefined ? undefined : this.#parts.catalog.stamp(real)
  }

  /** Not redacted. */
  load(id: string): Folded {
    const real = this.#real(id)
    this.#parts.sync.requireReadable(real)
    const folded = this.#parts.files.fold(real)?.folded
    if (!folded) throw sessionMissing()
    return folded
  }

  /** What a model is sent of it. Other work runs while a long session is read. Not redacted. */
  async loadForModel(id: string): Promise<ForModel> {
    const real = this.#real(id)
    this.#parts.sync.requireReadable(real)
    const file = this.#parts.files.find(real)
    if (!file) throw sessionMissing()
    return readForModel(file)
  }

  /** Everything except the messages, without reading the file. Not redacted. */
  head(id: string): Summary {
    return this.#summary(id)
  }

  /** Redacted unless `raw`. The cost does not depend on the length of the session. */
  tail(id: string, options: TailOptions): Tail {
    this.#parts.sync.requireReadable(this.#real(id))
    return tailFrom(this.#parts.files, this.#summary(id), options, () => this.load(id))
  }

  /** All messages as a JSON array, redacted. */
  async wholeJson(id: string): Promise<Buffer> {
    this.#parts.sync.requireReadable(this.#real(id))
    const summary = this.#summary(id)
    return this.#wholes.read(summary, this.stamp(id), () => this.load(id))
  }

  /**
   * What providers get back with messages of finished turns, by message id. Only for requests to them: read apart from the
   * transcript, so that no other reader of a session can pass it on.
   */
  providerStates(id: string): ReadonlyMap<string, StoredState> {
    const file = this.#parts.files.find(this.#real(id))
    return file?.format === 'jsonl' ? readStates(file.path) : new Map()
  }

  /** What to append to show another version of a message; null: it is shown. Throws a 404 when none of its versions is. */
  lineToShow(id: string, message: string): NewEntry | null {
    const { id: real, versions } = this.#summary(id)
    const path = this.#parts.files.jsonl(real)
    return lineToShow(versions.length > 0 ? readEntries(path) : [], versions, message)
  }

  create(meta: NewMeta): SessionRow {
    const id = this.#newId()
    const row = this.#writer.create(id, { t: 'session', v: 1, id, meta })
    this.#parts.options.onRow(row)
    return row
  }

  /** Appends all lines or none, in one write. Throws UserError `full` when the disk is full. `quiet` messages do not move the session in the list. */
  append(id: string, entries: readonly NewEntry[], { quiet = false } = {}): JournalEntry[] {
    return entries.length === 0 ? [] : this.#writer.append(this.#idForWrite(id), entries, quiet)
  }

  /** Reserves a message id; a message appended with this id keeps it. */
  nextMessageId(id: string): string {
    return this.#writer.nextMessageId(this.#idForWrite(id))
  }

  /** Resolves when all appended lines are on the disk. */
  async sync(id: string): Promise<void> {
    return this.#writer.sync(this.#idForWrite(id))
  }

  /** Keeps the journal open until `release` was called as often. */
  acquire(id: string): void {
    this.#writer.acquire(this.#idForWrite(id))
  }

  release(id: string): void {
    this.#writer.release(this.#writer.isOpen(id) ? id : (this.#parts.catalog.alias(id) ?? id))
  }

  /** Gives the session another id; the old one stays valid as an alias. */
  rotate(id: string, to: string): SessionRow {
    return this.#writer.rotate(this.#idForWrite(id), to)
  }

  /** Known to this process only, never written to the journal. */
  setLive(id: string, patch: Partial<LiveState>): void {
    const real = this.resolve(id)
    const row = real === undefined ? undefined : this.#parts.catalog.setLive(real, patch)
    if (row) this.#parts.options.onRow(row)
  }

  /** Writes a whole journal, and reads it. */
  #write(id: string, entries: readonly JournalEntry[]): SessionRow {
    const { files, sync, watch } = this.#parts
    watch.ignoreOwn(() => writeJournal(files.jsonl(id), entries))
    sync.refresh(id)
    return this.require(id)
  }

  /** Creates a session from another program's. Its id must be free; null assigns a new one. */
  adopt(own: string | null, meta: NewMeta, messages: readonly NewMessage[]): SessionRow {
    const id = own ?? this.#newId()
    if (this.#parts.files.find(id))
      throw conflict('A session with this id already exists', { code: 'session_exists' })
    const { created_at, updated_at } = meta as Meta
    const at = created_at ?? this.#writer.nextTime(0)
    const header: JournalEntry = { n: 1, t: 'session', at, v: 1, id, meta }
    return this.#write(id, [header, ...messageEntries(messages, updated_at ?? at)])
  }

  /** What an earlier import wrote under this id; null: there is no such session. */
  imported(id: string): StoredImport | null {
    return readImported(this.#parts.files, id)
  }

  /** Writes a session as an import read it, or replaces one that was imported. */
  writeImported(id: string, entries: readonly JournalEntry[]): void {
    this.#writer.closeJournal(id)
    this.#write(id, entries)
  }

  #copy(id: string, keep: number, changes: (meta: Meta) => Meta): SessionRow {
    const original = this.require(id).session_id
    const folded = this.load(original)
    const copy = this.#newId()
    const about = { id: copy, at: this.#writer.nextTime(0), keep, meta: changes(folded.meta) }
    const row = this.#write(copy, copyOf(folded, this.providerStates(original), about))
    this.#parts.options.onCopied(original, copy)
    return row
  }

  duplicate(id: string): SessionRow {
    return this.#copy(id, Number.POSITIVE_INFINITY, ({ title = UNTITLED }) => ({
      title: `${title} (copy)`,
    }))
  }

  branch(
    id: string,
    { keep_count, title }: { keep_count?: number | undefined; title?: string | undefined } = {},
  ): SessionRow {
    return this.#copy(id, keep_count ?? Number.POSITIVE_INFINITY, meta => ({
      title: title?.trim() || `${meta.title ?? UNTITLED} (branch)`,
      parent_session_id: this.#real(id),
    }))
  }

  /** Applies pending changes by other programs. Await it before `list`, then read list and cursor in the same tick. */
  async catchUp(): Promise<void> {
    // Lets pending file system events arrive. Twice: when called from an I/O callback, the first setImmediate runs before
    // the event loop polls again.
    await nextIteration()
    await nextIteration()
    this.#parts.sync.catchUp(this.#parts.watch)
  }

  list(options: ListOptions = {}): ListPage {
    return listSessions(this.#parts.catalog, this.#whole, this.#boot, options)
  }

  async search(options: SearchOptions): Promise<SearchHit[]> {
    await this.catchUp()
    return this.#find.search(options)
  }

  /** Usage of the turns that ended since then (milliseconds since 1970), and the number of sessions. Await `catchUp` first. */
  usage(
    since: number,
    profiles: readonly string[] | null = null,
  ): { buckets: UsageBucket[]; sessions: number } {
    return this.#parts.catalog.usage(since, profiles)
  }

  /** Usage of a session's turns that ended between two line numbers, in order. */
  turnUsage(id: string, after: number, before: number): TurnUsage[] {
    return this.#parts.catalog.turnUsage(this.resolve(id) ?? id, after, before)
  }

  /** Sessions of a project, including archived and empty ones. */
  idsByProject(project: string): string[] {
    return this.#parts.catalog.idsByProject(project)
  }

  /** Projects that sessions of these profiles are in. */
  projectsOf(profiles: readonly string[]): string[] {
    return this.#parts.catalog.projectsOf(profiles)
  }

  /** Titled sessions of a profile, newest first, redacted. Await `catchUp` first. */
  names(profile: string, limit: number): SessionName[] {
    return this.#parts.catalog.names(profile, limit)
  }

  recover(): Recovered[] {
    return this.#parts.catalog
      .openTurns()
      .flatMap(({ id, turn, questions }) =>
        turn?.how === null ? [{ ...turn, session_id: id, questions }] : [],
      )
  }

  /** Sessions whose last turn failed or was interrupted, newest first. Time in milliseconds since 1970. */
  troubled(since: number, limit: number): SessionRow[] {
    return this.#parts.catalog.troubled(since, limit)
  }

  /** Questions of all sessions that are not answered. */
  openQuestions(): Question[] {
    return this.#parts.catalog.openTurns().flatMap(({ questions }) => questions)
  }

  /** Moves to the trash for a day. False when there is no such session. */
  trash(id: string): boolean {
    const row = this.row(id)
    if (row) this.#trash.trash(row)
    return row !== undefined
  }

  restore(id: string): SessionRow {
    this.#trash.restore(id)
    return this.require(id)
  }

  /** True when `restore` would find it. */
  inTrash(id: string): boolean {
    return this.#trash.has(id)
  }

  /** The profile of a session that `restore` would find; undefined when it was deleted by an earlier version. */
  trashedProfile(id: string): string | undefined {
    return this.#trash.profileOf(id)
  }

  /** Rewrites the file without cut content, which cannot be restored. */
  async purge(id: string): Promise<SessionRow> {
    await this.#trash.purge(this.require(id))
    return this.require(id)
  }

  /** Deletes permanently, also from the trash. False when there is no such session. */
  async erase(id: string): Promise<boolean> {
    const real = this.resolve(id) ?? id
    return SESSION_ID.test(real) && this.#trash.erase(real, this.row(real))
  }

  /** Deletes sessions that have been in the trash for a day; returns how many. */
  async sweepTrash(): Promise<number> {
    return this.#trash.sweep()
  }

  /** Deletes sessions without messages and without a draft; returns how many. */
  cleanup({ anyTitle }: { anyTitle: boolean }): number {
    return this.#trash.cleanup(anyTitle)
  }

  async close(): Promise<void> {
    this.#parts.watch.close()
    this.#writer.close()
    await this.#search.close()
    this.#parts.catalog.close()
  }
}
