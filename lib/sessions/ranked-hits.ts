/**
 * Full-text search in `search.db`. It blocks for tens of milliseconds, so in the server only the search worker runs it; a
 * command-line process may run it as well.
 */
import type { Database } from '../store/sqlite.ts'
import { excerptOf, type Term, toMatch } from './search-query.ts'
import type { IndexHit } from './search-text.ts'

/** How many of the newest matches are ranked: a common word matches every other message. */
const RANKED = 500

/** Only reads. */
export const prepareSearch = (db: Database) => ({
  ranked: db.prepare<[string, number], { id: number; score: number }>(
    `select rowid as id, bm25(words) as score from words where words match ? order by rowid desc limit ?`,
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
  for (const hit of statements.ranked.all(toMatch(terms), RANKED)) {
    const session = statements.sessionOf.get(hit.id)?.session
    if (session === undefined) continue
    const other = best.get(session)
    // bm25 is negative, smaller is better; of equal scores the newest wins.
    if (!other || hit.score < other.score) best.set(session, hit)
  }
  return [...best.values()]
    .sort((a, b) => a.score - b.score || b.id - a.id)
    .slice(0, limit)
    .flatMap(({ id }) => {
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
