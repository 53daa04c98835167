/** Sessions that an import wrote: what of them was changed here since then. */
import { readLines } from '../store/journal.ts'
import { type Entry, parseEntry } from './entries.ts'
import { type Files, withFile } from './files.ts'

/**
 * `digest`: of the import that wrote it; empty when none did. `updated`: what that export said, in seconds since 1970.
 * `changes`: later changes of title, project and so on; null when it was continued, or when another program has written it.
 */
export type StoredImport = { digest: string; updated: number; changes: Entry[] | null }

/** Null: there is no such session. */
export const readImported = (files: Files, id: string): StoredImport | null => {
  const file = files.find(id)
  if (!file) return null
  if (file.format !== 'jsonl') return { digest: '', updated: 0, changes: null }
  return withFile(file.path, fd => {
    let digest = ''
    let length = 0
    let updated = 0
    const changes: Entry[] = []
    for (const { bytes } of readLines(fd)) {
      const entry = parseEntry(bytes.toString())
      if (entry === null || entry === 'unknown') return { digest, updated, changes: null }
      const {
        imported,
        imported_lines: lines,
        updated_at,
      } = entry.t === 'session' ? entry.meta : {}
      if (typeof imported === 'string' && typeof lines === 'number')
        [digest, length, updated] = [imported, lines, updated_at ?? 0]
      if (entry.n <= length) continue
      if (entry.t !== 'meta') return { digest, updated, changes: null }
      changes.push(entry)
    }
    return { digest, updated, changes: digest === '' ? null : changes }
  })
}
