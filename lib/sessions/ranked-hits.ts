/**
 * Full-text search in `search.db`. It blocks for tens of milliseconds, so in the server only the search worker runs it; a
 * command-line process may run it as well.
 */
import type { Database } from '../store/sqlite.ts'
import { excerptOf, type Term, toMatch } from './search-query.ts'
import type { IndexHit } from './search-text.ts'

/** How many of the newest matches are ranked: a common word matches every other message. Older ones follow them, newest first. */
const RANKED = 500

/** Only reads. */
export const prepareSearch = (db: Database) => ({
  ranked: db.prepare<[string, number], { id: number; score: number }>(
    `select rowid as id, bm25(words) as score from words where words match ? order by rowid desc limit ?`,
  ),
  older: db.prepare<[string, number, number], { id: number }>(
    'select rowid as id from words where words match ? and rowid < ? order by rowid desc limit ?',
  ),
  text: db.prepare<[number], { session: string; n: number; message_id: string; text: string }>(
    'select session, n, message_id, text from message where id = ?',
  ),
  sessionOf: db.prepare<[number], { session: string }>('select session from message where id = ?'),
  about: db.prepare<[string], { value: string }>('select value from about where key = ?'),
})

type SearchStatements = ReturnType<typeof prepareSearch>

/** The best message of each session, best first. */
export const rankedHits = (
  statements: SearchStatements,
  terms: readonly Term[],
  limit: number,
): IndexHit[] => {
  const best = new Map<string, { id: number; score: number }>()
  const match = toMatch(terms)
  const ranked = statements.ranked.all(match, RANKED)
  for (const hit of ranked) {
    const session = statements.sessionOf.get(hit.id)?.session
    if (session === undefined) continue
    const other = best.get(session)
    // bm25 is negative, smaller is better; of equal scores the newest wins.
    if (!other || hit.score < other.score) best.set(session, hit)
  }
  const ids = [...best.values()]
    .sort((a, b) => a.score - b.score || b.id - a.id)
    .map(({ id }) => id)
  const sessions = new Set(best.keys())
  let last = ranked.at(-1)?.id
  let isFull = ranked.length === RANKED
  while (isFull && last !== undefined && ids.length < limit) {
    const batch = statements.older.all(match, last, RANKED)
    for (const { id } of batch) {
      const session = statements.sessionOf.get(id)?.session
      if (session === undefined || sessions.has(session)) continue
      sessions.add(session)
      ids.push(id)
    }
    last = batch.at(-1)?.id
    isFull = batch.length === RANKED
  }
  return ids.slice(0, limit).flatMap(id => {
    const row = statements.text.get(id)
    if (!row) return []
    const { session, n, message_id } = row
    return [{ session, n, message_id, excerpt: excerptOf(row.text, terms) }]
  })
}

/** Searches an index that another process keeps up to date. `seq`: up to which change of the catalog it is complete. */
export const searchStored = (
  db: Database,
  terms: readonly Term[],
  limit: number,
): { hits: IndexHit[]; seq: number } => {
  const statements = prepareSearch(db)
  return {
    hits: rankedHits(statements, terms, limit),
    seq: Number(statements.about.get('seq')?.value ?? 0),
  }
}
