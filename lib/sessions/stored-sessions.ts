/** Reads the sessions of a state directory without changing anything in it, also while the server runs: lists, searches, messages. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { redact } from '../base/redact/redact.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { Message } from '../schema/message.ts'
import type { SessionRow } from '../schema/session.ts'
import { type Database, openDatabase } from '../store/sqlite.ts'
import { foldText } from './catalog-schema.ts'
import { createFiles, foldFile, idOfName, searchText } from './files.ts'
import { type IndexHit, searchStored } from './ranked-hits.ts'
import { type SnippetPart, type Term, toSnippet, toTerms } from './search-query.ts'
import { toRecord } from './transfer.ts'

export type StoredHit = { row: SessionRow; snippet: SnippetPart[] }
export type StoredSessions = ReturnType<typeof createStoredSessions>

/** Without a catalog the files are read, the newest of them. */
const MAX_SCANNED = 500
/** Sessions that changed since the last search in the server. */
const MAX_PENDING = 200
const MAX_CANDIDATES = 500

export const createStoredSessions = ({
  stateDir,
  addon,
}: {
  stateDir: string
  addon: string | undefined
}) => {
  const files = createFiles(join(stateDir, 'sessions'))

  /** Undefined when the server has not written the file yet. Closed again, because the server may replace the file. */
  const read = <T>(name: string, work: (db: Database) => T): T | undefined => {
    const file = join(stateDir, 'cache', name)
    if (!existsSync(file)) return undefined
    // `query_only` instead of a read-only connection, which leaves empty files behind when the server does not run.
    const db = openDatabase(file, { mustExist: true, addon, pragmas: ['query_only = ON'] })
    try {
      return work(db)
    } finally {
      db.close()
    }
  }

  const fold = (id: string) => {
    const file = SESSION_ID.test(id) ? files.find(id) : undefined
    return file && foldFile(file)?.folded
  }

  const rowOf = (id: string): SessionRow | undefined => {
    const folded = fold(id)
    return folded && (toRecord(folded).row as SessionRow)
  }

  const newestIds = (): string[] => {
    if (!existsSync(files.dir)) return []
    return readdirSync(files.dir)
      .flatMap(name => {
        const id = idOfName(name)
        const time = statSync(files.path(name), { throwIfNoEntry: false })?.mtimeMs
        return id === undefined || time === undefined ? [] : [{ id, time }]
      })
      .sort((a, b) => b.time - a.time)
      .slice(0, MAX_SCANNED)
      .map(({ id }) => id)
  }

  /** Newest activity first. */
  const rows = (profile: string): SessionRow[] => {
    const stored = read('catalog.db', db =>
      db
        .prepare<[string], { row: string }>(
          'select row from session where listed = 1 and profile = ? order by updated_ms desc, id',
        )
        .all(profile)
        .map(({ row }) => JSON.parse(row) as SessionRow),
    )
    return (
      stored ??
      newestIds()
        .flatMap(id => rowOf(id) ?? [])
        .filter(row => row.profile === profile && row.message_count > 0)
        .sort((a, b) => b.updated_at - a.updated_at)
    )
  }

  /** Searches the files of sessions that are not in the index. */
  const scan = async (ids: readonly string[], terms: readonly Term[]): Promise<IndexHit[]> => {
    const words = terms.map(({ text }) => foldText(text))
    const hits: IndexHit[] = []
    for (const id of ids) {
      const folded = fold(id)
      const message = folded?.messages.findLast(each => {
        const text = foldText(searchText(each))
        return words.every(word => text.includes(word))
      })
      if (message)
        hits.push({
          session: id,
          n: 0,
          message_id: message.id,
          excerpt: searchText(message),
        })
      await setImmediate()
    }
    return hits
  }

  const hitsOf = async (terms: readonly Term[]): Promise<IndexHit[]> => {
    const indexed = read('search.db', db => searchStored(db, terms, MAX_CANDIDATES))
    const pending = indexed
      ? read('catalog.db', db =>
          db
            .prepare<[number, number], { id: string }>(
              'select id from session where seq > ? order by seq desc limit ?',
            )
            .all(indexed.seq, MAX_PENDING)
            .map(({ id }) => id),
        )
      : undefined
    const changed = await scan(pending ?? newestIds(), terms)
    const fresh = new Set(pending)
    return [...changed, ...(indexed?.hits ?? []).filter(({ session }) => !fresh.has(session))]
  }

  return {
    rows,

    /** Title matches first, then the best message of each session, best first. Masked. */
    async search(query: string, profile: string, limit: number): Promise<StoredHit[]> {
      const terms = toTerms(query)
      if (terms.length === 0) return []
      const words = terms.map(({ text }) => foldText(text))
      const known = new Map(rows(profile).map(row => [row.session_id, row]))
      const hits: StoredHit[] = [...known.values()]
        .filter(({ title }) => words.every(word => foldText(title).includes(word)))
        .map(row => ({ row, snippet: toSnippet(redact(row.title), terms) }))
      const seen = new Set(hits.map(({ row }) => row.session_id))
      if (hits.length < limit)
        for (const { session, excerpt } of await hitsOf(terms)) {
          const row = known.get(session)
          if (row && !seen.has(session))
            hits.push({ row, snippet: toSnippet(redact(excerpt), terms) })
          seen.add(session)
        }
      return hits.slice(0, limit)
    },

    /** The messages that are shown; undefined for an unknown session, or one of another profile. Not masked. */
    session(
      id: string,
      profile: string,
    ): { row: SessionRow; messages: readonly Message[] } | undefined {
      const folded = fold(id)
      if (!folded) return undefined
      const row = toRecord(folded).row as SessionRow
      return row.profile === profile ? { row, messages: folded.messages } : undefined
    },
  }
}
