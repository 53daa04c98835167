/** The full-text index (`search.db`). Used by the search worker only; derived from the session files and safe to delete. */
import { readLines } from '../store/journal.ts'
import {
  type Database,
  isCorrupt,
  openDatabase,
  removeDatabase,
  SMALL_CACHE,
} from '../store/sqlite.ts'
import { redact } from '../base/redact/redact.ts'
import type { Message } from '../schema/message.ts'
import { messageHead, parseForTranscript } from './entries.ts'
import { SessionFiles, withFile } from './files.ts'
import { isHidden, type Summary } from './fold.ts'
import { prepareSearch, rankedHits } from './ranked-hits.ts'
import type { SearchSources } from './search-client.ts'
import { type Term, toIndexed } from './search-query.ts'
import { type IndexHit, searchText } from './search-text.ts'

/**
 * An external-content table with both kinds of secure delete: with contentless tables, the words of a deleted message
 * stayed in the file. `id` grows with time, so the newest matches can be read without a sort.
 */
const MIGRATIONS = [
  `
  create table about (key text primary key, value text not null) without rowid;
  create table message (id integer primary key autoincrement, session text not null, n integer not null,
    message_id text not null, text text not null);
  create index by_session on message (session, n);
  create table indexed (session text primary key, stamp text not null, epoch integer not null,
    next_offset integer not null) without rowid;
  create virtual table words using fts5(text, content='message', content_rowid='id',
    tokenize='unicode61 remove_diacritics 2', prefix='2 3');
  `,
  // Version 1 indexed the JSON of tool results, and cut them before secrets were masked. Everything is indexed again.
  `
  delete from indexed;
  delete from message;
  delete from about;
  insert into words (words) values ('delete-all');
  insert into about values ('unclean', '1');
  `,
] as const

const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = NORMAL',
  'secure_delete = ON',
  SMALL_CACHE,
  'journal_size_limit = 4194304',
] as const

/** A secure delete takes 2 ms per message. Beyond this number it is cheaper to rewrite the index once. */
const SECURE_DELETES = 200
/** Longer lines are skipped: parsing them could exhaust the worker's memory. */
const MAX_LINE_BYTES = 4_000_000

export type Pending = { id: string; seq: number; stamp: string; epoch: number; summary: string }

const prepareStatements = (db: Database) => ({
  ...prepareSearch(db),
  addText: db.prepare<[string, number, string, string]>(
    'insert into message (session, n, message_id, text) values (?, ?, ?, ?)',
  ),
  addWords: db.prepare<[number | bigint, string]>('insert into words (rowid, text) values (?, ?)'),
  below: db.prepare<[string, number], { id: number; text: string }>(
    'select id, text from message where session = ? and n > ?',
  ),
  dropWords: db.prepare<[number, string]>(
    "insert into words (words, rowid, text) values ('delete', ?, ?)",
  ),
  dropTexts: db.prepare<[string, number]>('delete from message where session = ? and n > ?'),
  known: db.prepare<[string], { stamp: string; epoch: number; next_offset: number }>(
    'select stamp, epoch, next_offset from indexed where session = ?',
  ),
  setKnown: db.prepare<[string, string, number, number]>(
    'insert or replace into indexed values (?, ?, ?, ?)',
  ),
  dropKnown: db.prepare<[string]>('delete from indexed where session = ?'),
  // Not a parameter: better-sqlite3 binds numbers as REAL, which FTS5 rejects here.
  secure: db.prepare<[]>("insert into words (words, rank) values ('secure-delete', 1)"),
  insecure: db.prepare<[]>("insert into words (words, rank) values ('secure-delete', 0)"),
  setAbout: db.prepare<[string, string]>('insert or replace into about values (?, ?)'),
})

const openIndexDb = (file: string, addon: string | undefined): Database => {
  const open = () => openDatabase(file, { migrations: MIGRATIONS, pragmas: PRAGMAS, addon })
  try {
    const db = open()
    db.prepare('select count(*) from indexed').get()
    return db
  } catch {
    // Corrupt, or written by a newer version: rebuild it from the session files.
    removeDatabase(file)
    return open()
  }
}

export class SearchIndex {
  readonly #files: SessionFiles
  readonly #db: Database
  readonly #statements: ReturnType<typeof prepareStatements>
  /** Deleted messages in the current transaction. */
  #deletes = 0

  constructor({ file, dir, addon }: SearchSources) {
    this.#files = new SessionFiles(dir)
    this.#db = openIndexDb(file, addon)
    this.#statements = prepareStatements(this.#db)
  }

  #add(session: string, n: number, message: Message): void {
    const text = redact(searchText(message))
    if (text.trim() === '') return
    const { addText, addWords } = this.#statements
    const { lastInsertRowid } = addText.run(session, n, message.id, text)
    addWords.run(lastInsertRowid, toIndexed(text))
  }

  /** Deletes the messages of a session with a number above `after`. */
  #drop(session: string, after: number): void {
    const { below, insecure, setAbout, dropWords, dropTexts } = this.#statements
    for (const row of below.all(session, after)) {
      this.#deletes += 1
      if (this.#deletes === SECURE_DELETES) {
        insecure.run()
        setAbout.run('unclean', '1')
      }
      dropWords.run(row.id, toIndexed(row.text))
    }
    dropTexts.run(session, after)
  }

  #transaction(work: () => void): void {
    this.#db.transaction(() => {
      this.#deletes = 0
      this.#statements.secure.run()
      work()
    })()
  }

  #addWhole(id: string): void {
    const { messages = [], numbers = [] } = this.#files.fold(id)?.folded ?? {}
    // The number of its line: an id that was reserved earlier may have another one.
    for (const [index, message] of messages.entries())
      this.#add(id, numbers[index] ?? index, message)
  }

  /** Indexes a clean journal from byte `from` to byte `stop`. False when the whole file must be folded to know what is visible. */
  #addLines(id: string, from: number, cuts: Summary['cuts'], stop: number): boolean {
    return withFile(this.#files.jsonl(id), fd => {
      for (const { offset, bytes } of readLines(fd, from)) {
        if (offset >= stop) break
        const head = messageHead(bytes)
        if ((head && isHidden(cuts, head.n)) || bytes.length > MAX_LINE_BYTES) continue
        const entry = parseForTranscript(bytes.toString())
        if (!entry || entry === 'unknown') continue
        if ((entry.t === 'uncut' || entry.t === 'show') && from > 0) return false
        if (entry.t === 'message') this.#add(id, entry.n, entry.message)
        else if (entry.t === 'cut' && from > 0) this.#drop(id, entry.after)
      }
      return true
    })
  }

  #updateOne({ id, stamp, epoch, summary: json }: Pending): void {
    const { known, setKnown } = this.#statements
    const before = known.get(id)
    if (before?.stamp === stamp) return
    const summary = JSON.parse(json) as Summary
    const size = Number(stamp.split(':')[1])
    const isOurs = summary.clean && summary.format === 'jsonl'
    const grew = isOurs && before?.epoch === epoch
    if (!grew || !this.#addLines(id, before.next_offset, summary.cuts, size)) {
      this.#drop(id, 0)
      if (isOurs) this.#addLines(id, 0, summary.cuts, size)
      else this.#addWhole(id)
    }
    setKnown.run(id, stamp, epoch, size)
  }

  forget(ids: readonly string[]): void {
    this.#transaction(() => {
      for (const id of ids) {
        this.#drop(id, 0)
        this.#statements.dropKnown.run(id)
      }
    })
  }

  /** Updates the index of these sessions from their files. */
  update(sessions: readonly Pending[]): void {
    try {
      // One transaction for many sessions: each transaction creates a segment that FTS5 has to merge later.
      this.#transaction(() => {
        for (const session of sessions) this.#updateOne(session)
      })
    } catch (error) {
      if (isCorrupt(error)) throw error
      // A file was deleted or changed while it was read. Index the sessions one by one; a change brings that one back.
      if (sessions.length === 1) this.forget(sessions.map(({ id }) => id))
      else for (const session of sessions) this.update([session])
    }
  }

  about(key: string): string | undefined {
    return this.#statements.about.get(key)?.value
  }

  setAbout(key: string, value: string): void {
    this.#statements.setAbout.run(key, value)
  }

  /** Best first, one hit per session. */
  search(terms: readonly Term[], limit: number): IndexHit[] {
    return rankedHits(this.#statements, terms, limit)
  }

  /** Removes deleted content from the index segments and the write-ahead log. */
  purgeDeleted(): void {
    if (this.about('unclean') === '1') {
      this.#db.exec("insert into words (words) values ('optimize')")
      this.setAbout('unclean', '0')
    }
    this.#db.pragma('wal_checkpoint(TRUNCATE)')
  }

  close(): void {
    this.#db.close()
  }
}
