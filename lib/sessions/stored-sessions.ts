/** Reads the sessions of a state directory without changing anything in it, also while the server runs: lists, searches, messages. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { redact } from '../base/redact/redact.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { Message } from '../schema/message.ts'
import type { SessionRow } from '../schema/session.ts'
import { type Database, openDatabase } from '../store/sqlite.ts'
import { foldText } from './catalog-schema.ts'
import { idOfName, SessionFiles } from './files.ts'
import { searchStored } from './ranked-hits.ts'
import { type SnippetPart, type Term, toSnippet, toTerms } from './search-query.ts'
import { type IndexHit, scanSessions } from './search-text.ts'
import { toRecord } from './transfer.ts'

export type StoredHit = { row: SessionRow; snippet: SnippetPart[] }
/** Without a catalog the files are read, the newest of them. */
const MAX_SCANNED = 500
/** Sessions that changed since the last search in the server. */
const MAX_PENDING = 200
const MAX_CANDIDATES = 500

export class StoredSessions {
  readonly #stateDir: string
  readonly #addon: string | undefined
  readonly #files: SessionFiles

  constructor(stateDir: string, addon: string | undefined) {
    this.#stateDir = stateDir
    this.#addon = addon
    this.#files = new SessionFiles(join(stateDir, 'sessions'))
  }

  /** Undefined when the server has not written the file yet. Closed again, because the server may replace the file. */
  #read<T>(name: string, work: (db: Database) => T): T | undefined {
    const file = join(this.#stateDir, 'cache', name)
    if (!existsSync(file)) return undefined
    // `query_only` instead of a read-only connection, which leaves empty files behind when the server does not run.
    const pragmas = ['query_only = ON']
    const db = openDatabase(file, { mustExist: true, addon: this.#addon, pragmas })
    try {
      return work(db)
    } finally {
      db.close()
    }
  }

  #newestIds(): string[] {
    const { dir } = this.#files
    if (!existsSync(dir)) return []
    return readdirSync(dir)
      .flatMap(name => {
        const id = idOfName(name)
        const time = statSync(this.#files.path(name), { throwIfNoEntry: false })?.mtimeMs
        return id === undefined || time === undefined ? [] : [{ id, time }]
      })
      .sort((a, b) => b.time - a.time)
      .slice(0, MAX_SCANNED)
      .map(({ id }) => id)
  }

  /** Newest activity first. */
  rows(profile: string): SessionRow[] {
    const catalogRows = this.#read('catalog.db', db =>
      db
        .prepare<[string], { row: string }>(
          'select row from session where listed = 1 and profile = ? order by updated_ms desc, id',
        )
        .all(profile)
        .map(({ row }) => JSON.parse(row) as SessionRow),
    )
    return (
      catalogRows ??
      this.#newestIds()
        .flatMap(id => {
          const folded = this.#files.fold(id)?.folded
          return folded ? [toRecord(folded).row] : []
        })
        .filter(row => row.profile === profile && row.message_count > 0)
        .sort((a, b) => b.updated_at - a.updated_at)
    )
  }

  async #hits(terms: readonly Term[]): Promise<IndexHit[]> {
    const indexed = this.#read('search.db', db => searchStored(db, terms, MAX_CANDIDATES))
    const pending =
      indexed &&
      this.#read('catalog.db', db =>
        db
          .prepare<[number, number], { id: string }>(
            'select id from session where seq > ? order by seq desc limit ?',
          )
          .all(indexed.seq, MAX_PENDING)
          .map(({ id }) => id),
      )
    const changed = await scanSessions(this.#files, pending ?? this.#newestIds(), terms)
    const fresh = new Set(pending)
    return [...changed, ...(indexed?.hits ?? []).filter(({ session }) => !fresh.has(session))]
  }

  /** Title matches first, then the best message of each session, best first. Masked. */
  async search(query: string, profile: string, limit: number): Promise<StoredHit[]> {
    const terms = toTerms(query)
    if (terms.length === 0) return []
    const words = terms.map(({ text }) => foldText(text))
    const rows = new Map(this.rows(profile).map(row => [row.session_id, row]))
    const hits: StoredHit[] = [...rows.values()]
      .filter(({ title }) => words.every(word => foldText(title).includes(word)))
      .map(row => ({ row, snippet: toSnippet(redact(row.title), terms) }))
    const seen = new Set(hits.map(({ row }) => row.session_id))
    if (hits.length < limit)
      for (const { session, excerpt } of await this.#hits(terms)) {
        const row = rows.get(session)
        if (row && !seen.has(session))
          hits.push({ row, snippet: toSnippet(redact(excerpt), terms) })
        seen.add(session)
      }
    return hits.slice(0, limit)
  }

  /** The messages that are shown; undefined for an unknown session, or one of another profile. Not masked. */
  session(
    id: string,
    profile: string,
  ): { row: SessionRow; messages: readonly Message[] } | undefined {
    const folded = SESSION_ID.test(id) ? this.#files.fold(id)?.folded : undefined
    if (!folded) return undefined
    const { row } = toRecord(folded)
    return row.profile === profile ? { row, messages: folded.messages } : undefined
  }
}
