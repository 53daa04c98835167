/**
 * The session catalog (`catalog.db`): one row per session, so that lists read no session files. A cache: replaced when it is
 * corrupt or of another version, and kept in memory when the disk accepts no writes.
 */
import { randomBytes } from 'node:crypto'
import { toSeconds } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import type { SessionRow } from '../schema/session.ts'
import type { TurnUsage } from '../schema/usage.ts'
import { bootId } from '../store/boot-id.ts'
import { fileStamp, type Stamp } from '../store/journal.ts'
import {
  type Database,
  isCorrupt,
  isUnwritable,
  openDatabase,
  removeDatabase,
  type Statement,
} from '../store/sqlite.ts'
import {
  ENDED_IN_TROUBLE,
  foldText,
  NOT_ONLY_SCHEDULED,
  PRAGMAS,
  SCHEMA,
  SCHEMA_VERSION,
} from './catalog-schema.ts'
import { isDraft } from './drafts.ts'
import type { Summary } from './fold.ts'
import { isEmptyRow, type LiveState, NO_LIVE_STATE, toRow, UNTITLED } from './list-row.ts'
import { sourceOf, type UsageRow } from './usage.ts'

export type CatalogOptions = {
  file: string
  addon?: string | undefined
  redact: (text: string) => string
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Called when an empty catalog has replaced the old one. Must fill it from the session files. */
  rebuild: () => void
  /** Identifies one boot of the machine; tests pass their own. */
  bootId?: string | undefined
  /** Extra pragmas; tests limit the size of the file with them. */
  pragmas?: readonly string[] | undefined
}

export type CatalogEntry = { summary: Summary; stamp: Stamp }
type FoldRow = { summary: string; stamp: Stamp }

/** Usage within a quarter of an hour, per model, provider, profile and source. `at`: milliseconds since 1970. */
export type UsageBucket = Omit<UsageRow, 'n'> & { profile: string; source: string; turns: number }
/** `ms`: time of the last message. */
export type SessionName = { id: string; ms: number; title: string }
export type ListPosition = { ms: number; id: string }
export type PageRow = ListPosition & { row: string }

type Value = string | number | null

const IN_MEMORY = ':memory:'

/** Numbers of rows are reserved in the database, so many at a time: none is given twice, also after a kill. */
const RESERVED = 1_000
/** Of the changes whose rows are known. */
const MAX_CHANGES = 1_000

/** A turn runs, or a question is open, such as a plan whose turn was ended by a restart. */
const isUnfinished = ({ turn, questions }: Summary): boolean =>
  turn?.how === null || questions.length > 0

export class Catalog {
  readonly file: string
  readonly #options: CatalogOptions
  readonly #boot: string
  #db: Database
  /** Of the database that is open, by their text. */
  #statements = new Map<string, Statement<unknown[], unknown>>()
  #isInMemory = false
  #isGuarded = false
  #version = 0
  /** The times of the rows of the last changes, before and after each, in milliseconds since 1970; older ones are forgotten. */
  #changes: { version: number; ms: number }[] = []
  #forgotten = 0
  /** The number of the last change of any content; that of the last row, and up to which numbers are reserved. */
  #seq = 0
  #rowSeq = 0
  #reserved = 0
  /** What `get` has found or `put` has written last: a step of a turn asks for the same several times. */
  #last: { id: string; version: number; fold: FoldRow | undefined } | null = null
  /** State of sessions that only this process knows. */
  readonly #live = new Map<string, LiveState>()

  constructor(options: CatalogOptions) {
    this.file = options.file
    this.#options = options
    this.#boot = options.bootId ?? bootId()
    this.#db = this.#open()
    this.#guard(() => this.#begin())
  }

  #open(): Database {
    try {
      if (!this.#isInMemory) return this.#openFile(this.file)
    } catch (error) {
      if (!isUnwritable(error)) throw error
      this.#isInMemory = true
      this.#options.log(
        'the session catalog cannot be written to disk; it stays in memory until the next start',
        { file: this.file, error: messageOf(error) },
      )
    }
    return this.#openFile(IN_MEMORY)
  }

  #openFile(file: string): Database {
    const { addon, pragmas = [] } = this.#options
    const open = (): Database =>
      openDatabase(file, { pragmas: [...PRAGMAS, ...(file === IN_MEMORY ? [] : pragmas)], addon })
    const aboutValue = (db: Database, key: string): unknown =>
      db.prepare('select value from about where key = ?').pluck().get(key)
    let db: Database | null = null
    try {
      db = open()
      const isOurs = db.pragma('user_version', { simple: true }) === SCHEMA_VERSION
      // What was written without fsync is trusted only within one boot, or after a clean end.
      if (isOurs && (aboutValue(db, 'boot') === this.#boot || aboutValue(db, 'clean') === '1')) {
        this.#note(db, { boot: this.#boot, clean: '0' })
        return db
      }
    } catch (error) {
      if (!isCorrupt(error)) {
        db?.close()
        throw error
      }
    }
    db?.close()
    if (file !== IN_MEMORY) removeDatabase(file)
    const fresh = open()
    try {
      fresh.transaction(() => {
        fresh.exec(SCHEMA)
        fresh.pragma(`user_version = ${SCHEMA_VERSION}`)
        const instance = randomBytes(8).toString('hex')
        this.#note(fresh, { boot: this.#boot, clean: '0', instance })
      })()
      return fresh
    } catch (error) {
      fresh.close()
      throw error
    }
  }

  #note(db: Database, about: Readonly<Record<string, string>>): void {
    const set = db.prepare('insert or replace into about values (?, ?)')
    for (const [key, value] of Object.entries(about)) set.run(key, value)
  }

  #begin(): void {
    const about = (key: string): number =>
      Number(this.#value('select value from about where key = ?', key) ?? 0)
    // The highest number may belong to a deleted row. It must not be used again.
    this.#seq = Math.max(
      this.#seq,
      Number(this.#value('select max(seq) from session')),
      about('seq'),
    )
    this.#rowSeq = this.#reserved = Math.max(this.#rowSeq, about('row_seq'))
    // A stream does not survive its process.
    for (const id of this.#column('select id from session where live = 1')) this.#writeRow(id)
  }

  /** Replaces the database by an empty one, and fills it from the session files. */
  #rebuild(reason: string): void {
    this.#options.log('rebuilding the session catalog', { reason })
    this.#db.close()
    if (!this.#isInMemory) removeDatabase(this.file)
    this.#statements.clear()
    this.#db = this.#open()
    this.#changedAll()
    this.#reserved = 0
    this.#options.rebuild()
  }

  /** Runs `work`. When the database turns out to be corrupt or unwritable, the outermost call rebuilds it and runs `work` again. */
  #guard<T>(work: () => T): T {
    if (this.#isGuarded) return work()
    this.#isGuarded = true
    try {
      for (let failed: unknown; ; ) {
        try {
          if (failed !== undefined) this.#rebuild(messageOf(failed))
          return work()
        } catch (error) {
          // What was read may have been undone.
          this.#changedAll()
          this.#reserved = 0
          if (this.#isInMemory) throw error
          if (isUnwritable(error) && (failed !== undefined || !isCorrupt(error)))
            this.#isInMemory = true
          else if (failed !== undefined || !isCorrupt(error)) throw error
          failed = error
        }
      }
    } finally {
      this.#isGuarded = false
    }
  }

  #prepare(sql: string): Statement<unknown[], unknown> {
    const earlier = this.#statements.get(sql)
    if (earlier) return earlier
    const statement = this.#db.prepare<unknown[], unknown>(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #all<R>(sql: string, ...values: Value[]): R[] {
    return this.#guard(() => this.#prepare(sql).all(...values)) as R[]
  }

  #get<R>(sql: string, ...values: Value[]): R | undefined {
    return this.#guard(() => this.#prepare(sql).get(...values)) as R | undefined
  }

  /** The only value of a row; the first column of all rows. */
  #value<R extends Value | Buffer>(sql: string, ...values: Value[]): R | undefined {
    const row = this.#get<Record<string, R>>(sql, ...values)
    return row && Object.values(row)[0]
  }

  #column(sql: string, ...values: Value[]): string[] {
    return this.#all<Record<string, string>>(sql, ...values).flatMap(row => Object.values(row))
  }

  #run(sql: string, ...values: (Value | Record<string, Value>)[]): void {
    this.#guard(() => this.#prepare(sql).run(...values))
  }

  /** Runs `work` in one transaction; inside one, as part of it. */
  batch<T>(work: () => T): T {
    try {
      return this.#guard(() => (this.#db.inTransaction ? work() : this.#db.transaction(work)()))
    } catch (error) {
      // What was written last is not there.
      this.#last = null
      throw error
    }
  }

  /** The search worker cannot read it then. */
  get isInMemory(): boolean {
    return this.#isInMemory
  }

  /** Rises with every change of any row; part of the list's ETag. */
  get version(): number {
    return this.#version
  }

  /** The times of the rows that were changed after that version, before and after each change; null when it is not known. */
  changedSince(version: number): Set<number> | null {
    if (version < this.#forgotten) return null
    return new Set(this.#changes.filter(each => each.version > version).map(({ ms }) => ms))
  }

  #changed(...times: (number | undefined)[]): void {
    this.#version += 1
    for (const ms of times) if (ms !== undefined) this.#changes.push({ version: this.#version, ms })
    if (this.#changes.length <= MAX_CHANGES) return
    this.#forgotten = this.#changes[this.#changes.length >> 1]?.version ?? this.#version
    this.#changes = this.#changes.filter(({ version }) => version > this.#forgotten)
  }

  #changedAll(): void {
    this.#version += 1
    this.#forgotten = this.#version
    this.#changes = []
  }

  #timeOf(id: string): number | undefined {
    return this.#value('select updated_ms from session where id = ?', id)
  }

  #nextRowSeq(): number {
    if (this.#rowSeq >= this.#reserved) {
      this.#reserved = this.#rowSeq + RESERVED
      this.#run("insert or replace into about values ('row_seq', ?)", String(this.#reserved))
    }
    this.#rowSeq += 1
    return this.#rowSeq
  }

  #rowOf(summary: Summary): SessionRow {
    const live = this.#live.get(summary.id) ?? NO_LIVE_STATE
    return { ...toRow(summary, live, this.#options.redact), seq: this.#nextRowSeq() }
  }

  /** After a change of the live state. */
  #writeRow(id: string): SessionRow | undefined {
    return this.batch(() => {
      const entry = this.get(id)
      if (!entry) return undefined
      const row = this.#rowOf(entry.summary)
      this.#changed(this.#timeOf(id))
      const isLive = Number(this.#live.has(id))
      this.#run(
        'update session set live = ?, row = ? where id = ?',
        isLive,
        JSON.stringify(row),
        id,
      )
      return row
    })
  }

  /** Undefined for an unknown session, and when nothing changes. */
  setLive(id: string, patch: Partial<LiveState>): SessionRow | undefined {
    const before = this.liveOf(id)
    const now = { ...before, ...patch }
    if (now.active_stream_id === before.active_stream_id && now.waiting === before.waiting)
      return undefined
    if (now.active_stream_id === null && now.waiting === null) this.#live.delete(id)
    else this.#live.set(id, now)
    const row = this.#writeRow(id)
    if (!row) this.#live.delete(id)
    return row
  }

  liveOf(id: string): LiveState {
    return this.#live.get(id) ?? NO_LIVE_STATE
  }

  /**
   * Writes the row of a session. `foreign`: the file changed in another way than by our appending, so aliases and usage of
   * it are dropped. `usage`: of the turns that ended since the last call, or of all when `foreign`.
   */
  put(
    summary: Summary,
    stamp: Stamp,
    foreign: boolean,
    usage: readonly UsageRow[] = [],
  ): SessionRow {
    return this.batch(() => {
      const { id } = summary
      const before = this.#get<{ epoch: number; updated_ms: number }>(
        'select epoch, updated_ms from session where id = ?',
        id,
      )
      const epoch = before?.epoch ?? 0
      const row = this.#rowOf(summary)
      const updated_ms = Math.round(row.updated_at * 1000)
      this.#seq += 1
      this.#changed(before?.updated_ms, updated_ms)
      this.#run(PUT, {
        id,
        updated_ms,
        listed: isEmptyRow(row) ? 0 : 1,
        profile: row.profile,
        count: row.message_count,
        untitled: row.title === UNTITLED ? 1 : 0,
        draft: isDraft(summary.meta.composer_draft) ? 1 : 0,
        open_turn: isUnfinished(summary) ? 1 : 0,
        live: Number(this.#live.has(id)),
        title: foldText(row.title),
        stamp,
        seq: this.#seq,
        // Never a former number: a search index built from a deleted catalog would take the session for indexed.
        epoch: epoch > 0 && !foreign ? epoch : Math.max(this.#seq, epoch + 1),
        row: JSON.stringify(row),
      })
      const fold = { summary: JSON.stringify(summary), stamp }
      this.#run('insert or replace into fold values (?, ?)', id, fold.summary)
      if (!before) this.#run('delete from dead where id = ?', id)
      if (foreign) this.#dropDerived(id)
      const from = { id, profile: row.profile, source: sourceOf(summary.meta) }
      for (const each of usage) this.#run(PUT_USAGE, { ...each, ...from })
      for (const alias of summary.aliases)
        if (alias !== id) this.#run('insert or replace into alias values (?, ?)', alias, id)
      this.#last = { id, version: this.#version, fold }
      return row
    })
  }

  #dropDerived(id: string): void {
    this.#run('delete from usage where id = ?', id)
    this.#run('delete from alias where id = ?', id)
  }

  /** Deletes a row and adds a tombstone: the text must also leave the search index. Returns the number of the deletion. */
  remove(id: string): number {
    return this.batch(() => {
      this.#changed(this.#timeOf(id))
      this.#live.delete(id)
      this.#run('delete from session where id = ?', id)
      this.#run('delete from fold where id = ?', id)
      this.#dropDerived(id)
      this.#run('insert or ignore into dead values (?)', id)
      this.#run("insert or replace into about values ('seq', ?)", String(this.#seq))
      return this.#nextRowSeq()
    })
  }

  get(id: string): CatalogEntry | undefined {
    if (this.#last?.id !== id || this.#last.version !== this.#version) {
      const fold = this.#get<FoldRow>(
        'select summary, stamp from session join fold using (id) where id = ?',
        id,
      )
      this.#last = { id, version: this.#version, fold }
    }
    const { fold } = this.#last
    // Parsed each time: who writes changes it.
    return fold && { summary: JSON.parse(fold.summary) as Summary, stamp: fold.stamp }
  }

  stamp(id: string): Stamp | undefined {
    return this.#value('select stamp from session where id = ?', id)
  }

  row(id: string): SessionRow | undefined {
    const text = this.#value<string>('select row from session where id = ?', id)
    return text === undefined ? undefined : (JSON.parse(text) as SessionRow)
  }

  alias(old: string): string | undefined {
    return this.#value('select id from alias where old = ?', old)
  }

  stamps(): Map<string, Stamp> {
    const rows = this.#all<{ id: string; stamp: string }>('select id, stamp from session')
    return new Map(rows.map(({ id, stamp }) => [id, stamp]))
  }

  /** Usage since this time (milliseconds since 1970), by quarter of an hour: the days of every time zone start on one. */
  usage(
    since: number,
    profiles: readonly string[] | null,
  ): { buckets: UsageBucket[]; sessions: number } {
    const only = profiles && JSON.stringify(profiles)
    const among = '(? is null or profile in (select value from json_each(?)))'
    const values = [toSeconds(since), only, only]
    return {
      buckets: this.#all<UsageBucket>(
        `select cast(at / 900 as integer) * 900000 as at, model, provider, profile, source, sum(n > 0) as turns,
           sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost) as cost,
           sum(cache_read_tokens) as cache_read_tokens, sum(cache_write_tokens) as cache_write_tokens
         from usage where at >= ? and ${among} group by 1, 2, 3, 4, 5 order by 1`,
        ...values,
      ),
      sessions:
        this.#value<number>(
          `select count(distinct id) from usage where at >= ? and ${among}`,
          ...values,
        ) ?? 0,
    }
  }

  /** Usage of a session's turns that ended between two line numbers. Side questions have no model and are no turns of the session. */
  turnUsage(id: string, after: number, before: number): TurnUsage[] {
    return this.#all(
      `select n, input_tokens, output_tokens, cost as estimated_cost, cache_read_tokens, cache_write_tokens
       from usage where id = ? and n > ? and n < ? and model <> '' order by n`,
      ...[id, after, before],
    )
  }

  /** Sessions with a turn that did not end, or with an open question. */
  openTurns(): Summary[] {
    return this.#column('select summary from session join fold using (id) where open_turn = 1').map(
      summary => JSON.parse(summary) as Summary,
    )
  }

  /** Sessions whose last turn failed or was interrupted, newest first. */
  troubled(sinceMs: number, limit: number): SessionRow[] {
    return this.#column(
      `select row from session where listed = 1 and ${ENDED_IN_TROUBLE} and updated_ms >= ?
       order by updated_ms desc, id limit ?`,
      ...[sinceMs, limit],
    ).map(row => JSON.parse(row) as SessionRow)
  }

  /** Ids of sessions without messages, draft or turn: untitled ones, or with any title. */
  emptySessions(anyTitle: boolean): string[] {
    return this.#column(
      'select id from session where count = 0 and draft = 0 and open_turn = 0 and live = 0 and untitled >= ?',
      anyTitle ? 0 : 1,
    )
  }

  /** Without an index: it runs only when a project is deleted. */
  idsByProject(project: string): string[] {
    return this.#column(
      "select id from session where json_extract(row, '$.project_id') = ? order by id",
      project,
    )
  }

  projectsOf(profiles: readonly string[]): string[] {
    return this.#column(
      `select distinct json_extract(row, '$.project_id') from session
       where profile in (select value from json_each(?)) and json_extract(row, '$.project_id') is not null`,
      JSON.stringify(profiles),
    )
  }

  /** Sessions with all the words in their titles, newest first. */
  titles(words: readonly string[], limit: number, profile: string | null): SessionRow[] {
    return this.#column(
      `select row from session where key in (
         select key from session
         where not exists (select 1 from json_each(?) as word where instr(session.title, word.value) = 0)
         and (? is null or profile = ?)
         order by updated_ms desc, id limit ?)
       and listed = 1 order by updated_ms desc, id`,
      ...[JSON.stringify(words), profile, profile, limit],
    ).map(row => JSON.parse(row) as SessionRow)
  }

  /** Titled sessions of a profile, newest first. */
  names(profile: string, limit: number): SessionName[] {
    return this.#all(
      `select id, updated_ms as ms, json_extract(row, '$.title') as title from session
       where listed = 1 and profile = ? and untitled = 0 order by updated_ms desc, id limit ?`,
      ...[profile, limit],
    )
  }

  /** `where`: besides the profile. */
  #rows(
    after: ListPosition | null,
    limit: number,
    profile: string | null,
    where: string,
    from = 'session',
  ): PageRow[] {
    const { ms, id } = after ?? { ms: Number.MAX_SAFE_INTEGER, id: '' }
    return this.#all(
      `select row, updated_ms as ms, id from ${from}
       where listed = 1 ${profile === null ? '' : 'and profile = ?'} ${where}
       and updated_ms <= ? and (updated_ms < ? or id > ?) order by updated_ms desc, id limit ?`,
      ...(profile === null ? [] : [profile]),
      ...[ms, ms, id, limit],
    )
  }

  /** `scheduled` false: without runs of scheduled tasks, except those that are pinned or wait for the user. */
  page(
    after: ListPosition | null,
    limit: number,
    profile: string | null,
    scheduled = true,
  ): PageRow[] {
    return this.#rows(after, limit, profile, scheduled ? '' : `and ${NOT_ONLY_SCHEDULED}`)
  }

  pinnedBelow(place: ListPosition, limit: number, profile: string | null): PageRow[] {
    // Named: SQLite takes the index of all sessions of people for as good, and reads each of their rows.
    const from = 'session indexed by by_pin'
    return this.#rows(place, limit, profile, "and json_extract(row, '$.pinned') = 1", from)
  }

  /**
   * Rows that were changed after one time and up to another (milliseconds since 1970): JSON with commas between them, joined
   * by SQLite, without one JavaScript string per row.
   */
  span(profile: string | null, after: number, upTo: number): Buffer {
    const body = this.#value<Buffer | null>(
      `select cast(group_concat(row, ',') as blob) from (
         select row from session where listed = 1 and updated_ms > ? and updated_ms <= ?
         ${profile === null ? '' : 'and profile = ?'} order by updated_ms desc, id)`,
      ...[after, upTo, ...(profile === null ? [] : [profile])],
    )
    return body ?? Buffer.alloc(0)
  }

  /** The times of every `step`th row, newest first. */
  times(profile: string | null, step: number): number[] {
    return this.#all<{ ms: number }>(
      `select updated_ms as ms from (
         select updated_ms, row_number() over (order by updated_ms desc, id) as at from session
         where listed = 1 ${profile === null ? '' : 'and profile = ?'})
       where at % ? = 0 order by updated_ms desc`,
      ...[...(profile === null ? [] : [profile]), step],
    ).map(({ ms }) => ms)
  }

  /** Deleted sessions whose text may still be in the search index. */
  tombstones(): string[] {
    return this.#column('select id from dead')
  }

  clearTombstones(ids: readonly string[]): void {
    for (const id of ids) this.#run('delete from dead where id = ?', id)
  }

  /** Truncates the write-ahead log, so that deleted content is not left in it. */
  truncateWal(): void {
    this.#guard(() => this.#db.pragma('wal_checkpoint(TRUNCATE)'))
  }

  /** Rebuilds the catalog when its file was deleted while it was open: the search worker opens it by name. */
  verify(): void {
    if (!this.#isInMemory && fileStamp(this.file) === undefined)
      this.#rebuild('the file was deleted')
  }

  close(): void {
    if (!this.#db.open) return
    try {
      this.#note(this.#db, { clean: '1' })
      this.#db.pragma('wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // Not marked clean: the next start decides whether to trust the file.
      this.#options.log('the session catalog was not closed cleanly', { error: messageOf(error) })
    }
    this.#db.close()
  }
}

const COLUMNS =
  'id updated_ms listed profile count untitled draft open_turn live title stamp seq epoch row'.split(
    ' ',
  )
const PUT = `
  insert into session (${COLUMNS.join(', ')}) values (${COLUMNS.map(name => `@${name}`).join(', ')})
  on conflict (id) do update set ${COLUMNS.slice(1)
    .map(name => `${name} = @${name}`)
    .join(', ')}`

const PUT_USAGE = `
  insert or replace into usage (id, n, at, model, provider, profile, source, input_tokens, output_tokens, cost,
    cache_read_tokens, cache_write_tokens)
  values (@id, @n, @at, @model, @provider, @profile, @source, @input_tokens, @output_tokens, @cost,
    @cache_read_tokens, @cache_write_tokens)`
