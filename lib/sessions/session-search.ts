/** Session search: title matches first, then the best message of each session. */
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import { messageOf, UserError } from '../errors.ts'
import { redact } from '../base/redact/redact.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Catalog } from './catalog.ts'
import { foldText } from './catalog-schema.ts'
import { type Files, foldFile, searchText } from './files.ts'
import { isHidden } from './fold.ts'
import type { SearchClient } from './search-client.ts'
import { excerptOf, type Term, toSnippet, toTerms } from './search-query.ts'
import type { IndexHit } from './ranked-hits.ts'
import { toProfiles } from './listing.ts'
import type { SearchHit, Sessions, SessionsOptions } from './types.ts'

type SessionSearchOptions = {
  clock: Pick<Clock, 'monotonic'>
  files: Files
  log: SessionsOptions['log']
  catalog: Catalog
  search: SearchClient
  row: (id: string) => SessionRow | undefined
}

const MAX_QUERY_CHARS = 500
const MAX_HITS = 200
const MAX_CANDIDATES = 500

/** How many sessions a search without an index reads, newest first, and for how long. */
const MAX_SCANNED = 2_000
const SCAN_MS = 4_000

/** Searches without an index, for when the catalog is in memory or the worker fails: reads the newest sessions one by one. */
const createScan =
  ({ clock, files, catalog }: Pick<SessionSearchOptions, 'clock' | 'files' | 'catalog'>) =>
  async (terms: readonly Term[], limit: number): Promise<IndexHit[]> => {
    const words = terms.map(({ text }) => foldText(text))
    const deadline = clock.monotonic() + SCAN_MS
    const hits: IndexHit[] = []
    for (const { id } of catalog.page(null, MAX_SCANNED, null)) {
      if (hits.length >= limit || clock.monotonic() > deadline) break
      const file = files.find(id)
      const folded = file && foldFile(file)?.folded
      const at = folded?.messages.findLastIndex(message => {
        const text = foldText(searchText(message))
        return words.every(word => text.includes(word))
      })
      const message = at === undefined ? undefined : folded?.messages[at]
      if (folded && message && at !== undefined) {
        const excerpt = excerptOf(searchText(message), terms)
        hits.push({ session: id, n: folded.numbers[at] ?? 0, message_id: message.id, excerpt })
      }
      await setImmediate()
    }
    return hits
  }

/** Words for the title search, which matches any part of a title, so that results appear while the user types. */
const toWords = (query: string): string[] =>
  foldText(query.replaceAll('"', ' ')).split(/\s+/).filter(Boolean).slice(0, 12)

export const createSessionSearch = (options: SessionSearchOptions) => {
  const { catalog, search, row, log } = options
  const scan = createScan(options)

  const titles = (
    query: string,
    terms: Term[],
    { limit, profiles }: { limit: number; profiles: readonly (string | null)[] },
  ): SearchHit[] => {
    const words = toWords(query)
    if (words.length === 0) return []
    const rows = profiles
      .flatMap(each => catalog.titles(words, limit, each))
      .map(text => JSON.parse(text) as SessionRow)
    // The catalog returns each profile newest first.
    if (profiles.length > 1) rows.sort((a, b) => b.updated_at - a.updated_at)
    return rows.slice(0, limit).map(found => {
      const snippet = toSnippet(
        redact(found.title),
        terms.map(({ text }) => ({ text, prefix: true })),
      )
      return { ...found, match_type: 'title', snippet, message_id: null }
    })
  }

  /** Queries the index; without it, the session files. `done` is false when some sessions were not searched. */
  const findHits = async (
    terms: Term[],
    most: number,
  ): Promise<{ hits: IndexHit[]; done: boolean }> => {
    try {
      if (!catalog.isInMemory) return await search.search(terms, most)
    } catch (error) {
      if (!(error instanceof UserError) || error.kind !== 'unavailable') throw error
      log('searching messages without the index', { error: messageOf(error) })
    }
    return { hits: await scan(terms, most), done: false }
  }

  return async (options: Parameters<Sessions['search']>[0]): Promise<SearchHit[]> => {
    const query = options.q
      .slice(0, MAX_QUERY_CHARS)
      .replace(/\p{Cc}/gu, ' ')
      .trim()
    const limit = Math.min(Math.max(Math.trunc(options.limit), 1), MAX_HITS)
    const profiles = toProfiles(options.profile)
    const isAll = profiles.includes(null)
    const terms = toTerms(query)
    const hits = titles(query, terms, { limit, profiles })
    if (!options.content || terms.length === 0 || hits.length >= limit) return hits
    catalog.verify()
    const tombstones = catalog.tombstones()
    // Hits may include trashed sessions and sessions found by title.
    // The index has no profiles, so other profiles are filtered out here.
    const most = isAll ? limit + hits.length + tombstones.length : MAX_CANDIDATES
    const answer = await findHits(terms, Math.min(most, MAX_CANDIDATES))
    if (answer.done) catalog.clearTombstones(tombstones)
    const seen = new Set(hits.map(({ session_id }) => session_id))
    for (const hit of answer.hits) {
      const found = seen.has(hit.session) ? undefined : row(hit.session)
      const stored = found && catalog.get(found.session_id)
      // The index may lag behind: skip messages that were cut since.
      if (!found || !(isAll || profiles.includes(found.profile))) continue
      if (!stored || isHidden(stored.summary.cuts, hit.n)) continue
      seen.add(found.session_id)
      const snippet = toSnippet(redact(hit.excerpt), terms)
      hits.push({ ...found, match_type: 'content', snippet, message_id: hit.message_id })
    }
    return hits.slice(0, limit)
  }
}
