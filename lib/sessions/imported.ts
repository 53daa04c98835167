/** Sessions that an import wrote: what of them was changed here since then. */
import type { JournalEntry } from './entries.ts'
import { parseLines, type SessionFiles } from './files.ts'

/**
 * `digest`: of the import that wrote it; empty when none did. `updated`: what that export said, in seconds since 1970.
 * `changes`: later changes of title, project and so on; null when it was continued, or when another program has written it.
 */
export type StoredImport = { digest: string; updated: number; changes: JournalEntry[] | null }

/** Null: there is no such session. */
export const readImported = (files: SessionFiles, id: string): StoredImport | null => {
  const file = files.find(id)
  if (!file) return null
  const lines = file.format === 'jsonl' ? parseLines(file.path) : []
  const [header] = lines
  const meta = header && header !== 'unknown' && header.t === 'session' ? header.meta : {}
  const { imported, imported_lines: length, updated_at: updated = 0 } = meta
  if (typeof imported !== 'string' || typeof length !== 'number')
    return { digest: '', updated: 0, changes: null }
  const added = lines.filter(line => line === null || line === 'unknown' || line.n > length)
  const isChangedOnly = (line: (typeof added)[number]): line is JournalEntry =>
    line !== null && line !== 'unknown' && line.t === 'meta'
  return { digest: imported, updated, changes: added.every(isChangedOnly) ? added : null }
}
