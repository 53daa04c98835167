/** Searching without an index, where the disk takes none: the newest conversations are read, one after the other, for a few seconds. */
import { setImmediate } from 'node:timers/promises'
import type { Catalog } from './catalog.ts'
import { foldText } from './catalog-schema.ts'
import { type Files, foldFile, searchText } from './files.ts'
import { type Term, toSnippet } from './search-query.ts'
import type { IndexHit } from './search-index.ts'

const LOOKED_THROUGH = 2_000
const PATIENCE_MS = 4_000

export const createScan =
  ({ files, catalog }: { files: Files; catalog: Catalog }) =>
  async (terms: readonly Term[], most: number): Promise<IndexHit[]> => {
    const words = terms.map(({ text }) => foldText(text))
    const deadline = Date.now() + PATIENCE_MS
    const hits: IndexHit[] = []
    for (const { id } of catalog.page(null, LOOKED_THROUGH, null)) {
      if (hits.length >= most || Date.now() > deadline) break
      const file = files.find(id)
      const folded = file && foldFile(file)?.folded
      const at = folded?.messages.findLastIndex(message => {
        const text = foldText(searchText(message))
        return words.every(word => text.includes(word))
      })
      const message = at === undefined ? undefined : folded?.messages[at]
      if (folded && message && at !== undefined) {
        const snippet = toSnippet(searchText(message), terms)
        hits.push({ session: id, n: folded.numbers[at] ?? 0, message_id: message.id, snippet })
      }
      await setImmediate()
    }
    return hits
  }
