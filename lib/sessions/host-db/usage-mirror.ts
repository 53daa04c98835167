/** Writes the usage of our sessions into the host agent's database, so that its usage reports include them. */
import { toSeconds } from '../../base/clock.ts'
import type { SessionRow } from '../../schema/session.ts'
import { columnsOf, type Database, insertRow, raiseColumns, setColumns } from './state-db.ts'

const TITLE_CHARS = 100
/** Titles are unique in the database. After this many numbered variants the title is omitted. */
const MAX_TITLE_ATTEMPTS = 50

/** Normalizes a title as the host agent's CLI does: one line without control or format characters. */
export const cleanTitle = (title: string): string =>
  [
    ...title
      .replace(/[\p{Cc}\p{Cf}]/gu, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  ]
    .slice(0, TITLE_CHARS)
    .join('')
    .trim()

/** The first free title of `Name`, `Name #2`, …; undefined when none is free. */
export const freeTitle = (db: Database, id: string, title: string): string | undefined => {
  const lookup = db.prepare<[string, string]>('select 1 from sessions where title = ? and id <> ?')
  for (let number = 1; number <= MAX_TITLE_ATTEMPTS; number += 1) {
    const suffix = number === 1 ? '' : ` #${number}`
    const tried = `${[...title].slice(0, TITLE_CHARS - suffix.length).join('')}${suffix}`
    if (!lookup.get(tried, id)) return tried
  }
  return undefined
}

/** Updates the title of our own rows; the CLI manages the titles of its sessions. */
const mirrorTitle = (db: Database, row: SessionRow): void => {
  const mirror = db
    .prepare<[string], { title: string | null; source: string }>(
      'select title, source from sessions where id = ?',
    )
    .get(row.session_id)
  const name = cleanTitle(row.title)
  if (!mirror || !name || name === 'Untitled') return
  if (mirror.title !== null && mirror.source !== 'webui') return
  if (mirror.title === name || mirror.title?.startsWith(`${name} #`)) return
  const title = freeTitle(db, row.session_id, name)
  if (title) setColumns(db, row.session_id, { title })
}

/** `now`: milliseconds since 1970. Writes totals, not increments, so repeated calls are idempotent. Call it inside a transaction. */
export const mirrorUsage = (db: Database, row: SessionRow, now: number): void => {
  const columns = columnsOf(db, 'sessions')
  const { session_id: id, model } = row
  if (!columns.has('source') || !columns.has('started_at')) return
  const added = { id, source: 'webui', started_at: toSeconds(now) }
  insertRow(db, 'sessions', added, 'insert or ignore')
  const { cache_read_tokens = 0, cache_write_tokens = 0 } = row
  setColumns(db, id, {
    // The host agent counts cached tokens apart from the input.
    input_tokens: Math.max(0, row.input_tokens - cache_read_tokens - cache_write_tokens),
    output_tokens: row.output_tokens,
    estimated_cost_usd: row.estimated_cost,
    message_count: row.message_count,
  })
  // Sessions that an earlier version imported lack the cached tokens that the database had then.
  raiseColumns(db, id, { cache_read_tokens, cache_write_tokens })
  if (columns.has('model') && model) {
    db.prepare('update sessions set model = coalesce(model, ?) where id = ?').run(model, id)
  }
  if (columns.has('title')) mirrorTitle(db, row)
}
