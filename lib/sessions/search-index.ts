/** The full-text index (`search.db`). Used by the search worker only; derived from the session files and safe to delete. */
import { readLines } from '../store/journal.ts'
import { type Database, isCorrupt, openDatabase, removeDatabase } from '../store/sqlite.ts'
import { redact } from '../base/redact/redact.ts'
import type { Message } from '../schema/message.ts'
import { messageHead, parseForTranscript } from './entries.ts'
import { createFiles, foldFile, searchText, withFile } from './files.ts'
import { isHidden, type Summary } from './fold.ts'
import { type IndexHit, prepareSearch, rankedHits } from './ranked-hits.ts'
import { type Term, toIndexed } from './search-query.ts'

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
  'cache_size = -2000',
  'journal_size_limit = 4194304',
] as const

/** A secure delete takes 2 ms per message. Beyond this number it is cheaper to rewrite the index once. */
const SECURE_DELETES = 200
/** Longer lines are skipped: parsing them could exhaust the worker's memory. */
const MAX_LINE_BYTES = 4_000_000

export type Pending = { id: string; seq: number; stamp: string; epoch: number; summary: string }

export type IndexOptions = { file: string; dir: string; addon?: string | undefined }

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

export const createSearchIndex = ({ file, dir, addon }: IndexOptions) => {
  const files = createFiles(dir)
  const db = openIndexDb(file, addon)
  const statements = prepareStatements(db)

  const add = (session: string, n: number, message: Message): void => {
    const shown = redact(searchText(message))
    if (shown.trim() === '') return
    statements.addWords.run(
      statements.addText.run(session, n, message.id, shown).lastInsertRowid,
      toIndexed(shown),
    )
  }

  /** Deleted messages in the current transaction. */
  let deletes = 0

  /** Deletes the messages of a session with a number above `after`. */
  const drop = (session: string, after: number): void => {
    for (const row of statements.below.all(session, after)) {
      deletes += 1
      if (deletes === SECURE_DELETES) {
        statements.insecure.run()
        statements.setAbout.run('unclean', '1')
      }
      statements.dropWords.run(row.id, toIndexed(row.text))
    }
    statements.dropTexts.run(session, after)
  }

  const inTransaction = <T>(work: (given: T) => void): ((given: T) => void) =>
    db.transaction((given: T): void => {
      deletes = 0
      statements.secure.run()
      work(given)
    })

  const addWhole = (id: string, format: Summary['format']): void => {
    const path = format === 'json' ? files.json(id) : files.jsonl(id)
    const result = foldFile({ id, path, format })
    // The number of its line: an id that was reserved earlier may have another one.
    result?.folded.messages.forEach((message, index) => {
      add(id, result.folded.numbers[index] ?? index, message)
    })
  }

  /** Indexes a clean journal from byte `from` to byte `stop`. False when the whole file must be folded to know what is visible. */
  const addLines = (id: string, from: number, cuts: Summary['cuts'], stop: number): boolean =>
    withFile(files.jsonl(id), fd => {
      for (const { offset, bytes } of readLines(fd, from)) {
        if (offset >= stop) break
        const head = messageHead(bytes)
        if ((head && isHidden(cuts, head.n)) || bytes.length > MAX_LINE_BYTES) continue
        const entry = parseForTranscript(bytes.toString())
        if (!entry || entry === 'unknown') continue
        if ((entry.t === 'uncut' || entry.t === 'show') && from > 0) return false
        if (entry.t === 'message') add(id, entry.n, entry.message)
        else if (entry.t === 'cut' && from > 0) drop(id, entry.after)
      }
      return true
    })

  /** Updates the index of one session from its file. */
  const updateOne = ({ id, stamp, epoch, summary: json }: Pending): void => {
    if (statements.known.get(id)?.stamp === stamp) return
    const summary = JSON.parse(json) as Summary
    const before = statements.known.get(id)
    const size = Number(stamp.split(':')[1])
    const grew = before?.epoch === epoch && summary.clean && summary.format === 'jsonl'
    if (!grew || !addLines(id, before.next_offset, summary.cuts, size)) {
      drop(id, 0)
      if (summary.clean && summary.format === 'jsonl') addLines(id, 0, summary.cuts, size)
      else addWhole(id, summary.format)
    }
    statements.setKnown.run(id, stamp, epoch, size)
  }

  const forget = inTransaction((ids: readonly string[]): void => {
    for (const id of ids) {
      drop(id, 0)
      statements.dropKnown.run(id)
    }
  })

  // One transaction for many sessions: each transaction creates a segment that FTS5 has to merge later.
  const updateAll = inTransaction((sessions: readonly Pending[]): void => {
    for (const session of sessions) updateOne(session)
  })

  const update = (sessions: readonly Pending[]): void => {
    try {
      updateAll(sessions)
    } catch (error) {
      if (isCorrupt(error)) throw error
      // A file was deleted or changed while it was read. Index the sessions one by one; a change brings that one back.
      if (sessions.length === 1) forget([(sessions[0] as Pending).id])
      else for (const session of sessions) update([session])
    }
  }

  return {
    update,
    forget,
    known: (id: string) => statements.known.get(id),
    knownIds: (): string[] =>
      db
        .prepare<[], { session: string }>('select session from indexed')
        .all()
        .map(({ session }) => session),
    /** Records that an indexed file has a new stamp or epoch in the catalog. */
    adopt(id: string, stamp: string, epoch: number) {
      const before = statements.known.get(id)
      if (before) statements.setKnown.run(id, stamp, epoch, before.next_offset)
    },
    about: (key: string): string | undefined => statements.about.get(key)?.value,
    setAbout: (key: string, value: string) => statements.setAbout.run(key, value),
    /** Best first, one hit per session. */
    search: (terms: readonly Term[], limit: number): IndexHit[] =>
      rankedHits(statements, terms, limit),
    /** Removes deleted content from the index segments and the write-ahead log. */
    purgeDeleted() {
      if (statements.about.get('unclean')?.value === '1') {
        db.exec("insert into words (words) values ('optimize')")
        statements.setAbout.run('unclean', '0')
      }
      db.pragma('wal_checkpoint(TRUNCATE)')
    },
    isCorrupt,
    close: () => db.close(),
  }
}
export type SearchIndex = ReturnType<typeof createSearchIndex>
