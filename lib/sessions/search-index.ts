/** `search.db`: the words of all sessions, ranked. Runs in the search worker only; derived, deletable at any time. */
import { readLines } from '../store/journal.ts'
import { type Database, isCorrupt, openDatabase, removeDatabase } from '../store/sqlite.ts'
import { redact } from '../redact/redact.ts'
import type { Message } from '../schema/message.ts'
import { messageHead, parseEntry } from './entries.ts'
import { createFiles, foldFile, searchText, withFile } from './files.ts'
import { isHidden, type Summary } from './fold.ts'
import { type SnippetPart, type Term, toIndexed, toMatch, toSnippet } from './search-query.ts'

/**
 * External content and both kinds of secure delete: with contentless tables the words of a deleted message were
 * still found in the file. `id` grows with time, so that the newest matches can be had without a sort.
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
] as const

const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = NORMAL',
  'secure_delete = ON',
  'cache_size = -8000',
  'journal_size_limit = 4194304',
] as const

/** Ranking looks at the newest so many matches: an ordinary word is in every other message. */
const RANKED = 500
/** Deleting so that no byte stays takes 2 ms a message; beyond so many it is cheaper to rewrite the index once. */
const SECURE_DELETES = 200
/** A line longer than this is not for reading; parsing it could exhaust the worker. */
const MAX_LINE_BYTES = 4_000_000

export type IndexHit = { session: string; n: number; message_id: string; snippet: SnippetPart[] }
export type Pending = { id: string; seq: number; stamp: string; epoch: number; summary: string }

export type IndexOptions = { file: string; dir: string; addon?: string | undefined }

export const createSearchIndex = ({ file, dir, addon }: IndexOptions) => {
  const files = createFiles(dir)
  const open = (): Database =>
    openDatabase(file, { migrations: MIGRATIONS, pragmas: PRAGMAS, addon })
  let db: Database
  try {
    db = open()
    db.prepare('select count(*) from indexed').get()
  } catch {
    // Ruined or of a newer version: the session files have it all.
    removeDatabase(file)
    db = open()
  }
  const addText = db.prepare<[string, number, string, string]>(
    'insert into message (session, n, message_id, text) values (?, ?, ?, ?)',
  )
  const addWords = db.prepare<[number | bigint, string]>(
    'insert into words (rowid, text) values (?, ?)',
  )
  const below = db.prepare<[string, number], { id: number; text: string }>(
    'select id, text from message where session = ? and n > ?',
  )
  const dropWords = db.prepare<[number, string]>(
    "insert into words (words, rowid, text) values ('delete', ?, ?)",
  )
  const dropTexts = db.prepare<[string, number]>('delete from message where session = ? and n > ?')
  const known = db.prepare<[string], { stamp: string; epoch: number; next_offset: number }>(
    'select stamp, epoch, next_offset from indexed where session = ?',
  )
  const setKnown = db.prepare<[string, string, number, number]>(
    'insert or replace into indexed values (?, ?, ?, ?)',
  )
  const dropKnown = db.prepare<[string]>('delete from indexed where session = ?')
  const ranked = db.prepare<[string, number], { id: number; score: number }>(
    `select rowid as id, bm25(words) as score from words where words match ? order by rowid desc limit ?`,
  )
  const text = db.prepare<
    [number],
    { session: string; n: number; message_id: string; text: string }
  >('select session, n, message_id, text from message where id = ?')
  const sessionOf = db.prepare<[number], { session: string }>(
    'select session from message where id = ?',
  )
  // A bound number would arrive as a fraction, which FTS5 refuses here.
  const secure = db.prepare<[]>("insert into words (words, rank) values ('secure-delete', 1)")
  const insecure = db.prepare<[]>("insert into words (words, rank) values ('secure-delete', 0)")
  const about = db.prepare<[string], { value: string }>('select value from about where key = ?')
  const setAbout = db.prepare<[string, string]>('insert or replace into about values (?, ?)')

  const add = (session: string, n: number, message: Message): void => {
    const shown = redact(searchText(message))
    if (shown.trim() === '') return
    addWords.run(addText.run(session, n, message.id, shown).lastInsertRowid, toIndexed(shown))
  }

  /** Of the transaction under way. */
  let deletes = 0

  /** Takes away every message of the session with a number above `after`. */
  const drop = (session: string, after: number): void => {
    for (const row of below.all(session, after)) {
      deletes += 1
      if (deletes === SECURE_DELETES) {
        insecure.run()
        setAbout.run('unclean', '1')
      }
      dropWords.run(row.id, toIndexed(row.text))
    }
    dropTexts.run(session, after)
  }

  const inOneGo = <T>(work: (given: T) => void): ((given: T) => void) =>
    db.transaction((given: T): void => {
      deletes = 0
      secure.run()
      work(given)
    })

  const addWhole = (id: string, format: Summary['format']): void => {
    const path = format === 'json' ? files.json(id) : files.jsonl(id)
    const result = foldFile({ id, path, format })
    result?.folded.messages.forEach((message, index) => {
      add(id, Number(/^m(\d+)$/.exec(message.id)?.[1] ?? index), message)
    })
  }

  /** Reads a clean journal from `from` on. False when only the whole fold can tell what is visible now. */
  const addLines = (id: string, from: number, cuts: Summary['cuts'], stop: number): boolean =>
    withFile(files.jsonl(id), fd => {
      for (const { offset, bytes } of readLines(fd, from)) {
        if (offset >= stop) break
        const head = messageHead(bytes)
        if ((head && isHidden(cuts, head.n)) || bytes.length > MAX_LINE_BYTES) continue
        const entry = parseEntry(bytes.toString())
        if (!entry || entry === 'unknown') continue
        if (entry.t === 'uncut' && from > 0) return false
        if (entry.t === 'message') add(id, entry.n, entry.message)
        else if (entry.t === 'cut' && from > 0) drop(id, entry.after)
      }
      return true
    })

  /** Brings one session up to its file. */
  const updateOne = ({ id, stamp, epoch, summary: json }: Pending): void => {
    if (known.get(id)?.stamp === stamp) return
    const summary = JSON.parse(json) as Summary
    const before = known.get(id)
    const size = Number(stamp.split(':')[1])
    const grew = before?.epoch === epoch && summary.clean && summary.format === 'jsonl'
    if (!grew || !addLines(id, before.next_offset, summary.cuts, size)) {
      drop(id, 0)
      if (summary.clean && summary.format === 'jsonl') addLines(id, 0, summary.cuts, size)
      else addWhole(id, summary.format)
    }
    setKnown.run(id, stamp, epoch, size)
  }

  const forget = inOneGo((ids: readonly string[]): void => {
    for (const id of ids) {
      drop(id, 0)
      dropKnown.run(id)
    }
  })

  // One transaction for many sessions: each one leaves a segment behind that FTS5 has to merge later.
  const updateAll = inOneGo((sessions: readonly Pending[]): void => {
    for (const session of sessions) updateOne(session)
  })

  const update = (sessions: readonly Pending[]): void => {
    try {
      updateAll(sessions)
    } catch (error) {
      if (isCorrupt(error)) throw error
      // One of the files went away or changed while we read. The others go in alone; its next row brings it here again.
      if (sessions.length === 1) forget([(sessions[0] as Pending).id])
      else for (const session of sessions) update([session])
    }
  }

  return {
    update,
    forget,
    known: (id: string) => known.get(id),
    knownIds: (): string[] =>
      db
        .prepare<[], { session: string }>('select session from indexed')
        .all()
        .map(({ session }) => session),
    /** The file is the one we know, under a new number of the catalogue's. */
    adopt(id: string, stamp: string, epoch: number) {
      const before = known.get(id)
      if (before) setKnown.run(id, stamp, epoch, before.next_offset)
    },
    about: (key: string): string | undefined => about.get(key)?.value,
    setAbout: (key: string, value: string) => setAbout.run(key, value),
    /** Best first, one hit a session. */
    search(terms: readonly Term[], limit: number): IndexHit[] {
      const best = new Map<string, { id: number; score: number }>()
      for (const hit of ranked.all(toMatch(terms), RANKED)) {
        const session = sessionOf.get(hit.id)?.session
        if (session === undefined) continue
        const other = best.get(session)
        // bm25 is negative: smaller is better; of equals the newest stays.
        if (!other || hit.score < other.score) best.set(session, hit)
      }
      return [...best.values()]
        .sort((a, b) => a.score - b.score || b.id - a.id)
        .slice(0, limit)
        .flatMap(({ id }) => {
          const row = text.get(id)
          if (!row) return []
          const { session, n, message_id } = row
          return [{ session, n, message_id, snippet: toSnippet(row.text, terms) }]
        })
    },
    /** Moves every byte out of the write-ahead log, so that what was forgotten is gone from it too. */
    purgeDeleted() {
      if (about.get('unclean')?.value === '1') {
        db.exec("insert into words (words) values ('optimize')")
        setAbout.run('unclean', '0')
      }
      db.pragma('wal_checkpoint(TRUNCATE)')
    },
    isCorrupt: isCorrupt,
    close: () => db.close(),
  }
}
export type SearchIndex = ReturnType<typeof createSearchIndex>
