/** Session search: title matches first, then the best message of each session. */
import { messageOf, UserError } from '../errors.ts'
import { redact } from '../base/redact/redact.ts'
import type { SessionRow } from '../schema/session.ts'
import { foldText } from './catalog-schema.ts'
import { isHidden } from './fold.ts'
import { type ProfileFilter, toProfiles } from './listing.ts'
import type { SearchClient } from './search-client.ts'
import { type SnippetPart, type Term, toSnippet, toTerms } from './search-query.ts'
import { type IndexHit, scanSessions } from './search-text.ts'
import type { SessionParts } from './writer.ts'

export type SearchOptions = { q: string; content: boolean; limit: number; profile?: ProfileFilter }

export type SearchHit = SessionRow & {
  match_type: 'title' | 'content'
  /** Joined, the parts are the text shown. */
  snippet: SnippetPart[]
  message_id: string | null
}

const MAX_QUERY_CHARS = 500
/** More than one scrolls through; the reply says when there are more. */
export const MAX_HITS = 5_000
/** Of all profiles: those of one may be few among them. */
const MIN_CANDIDATES = 500
const MAX_CANDIDATES = 40_000

/** How many sessions a search without an index reads, newest first, and for how long. */
const MAX_SCANNED = 2_000
const SCAN_MS = 4_000

/** Words for the title search, which matches any part of a title, so that results appear while the user types. */
const toWords = (query: string): string[] =>
  foldText(query.replaceAll('"', ' ')).split(/\s+/).filter(Boolean).slice(0, 12)

export class SessionSearch {
  readonly #parts: SessionParts
  readonly #index: SearchClient
  readonly #row: (id: string) => SessionRow | undefined

  constructor(
    parts: SessionParts,
    index: SearchClient,
    row: (id: string) => SessionRow | undefined,
  ) {
    this.#parts = parts
    this.#index = index
    this.#row = row
  }

  #titles(
    query: string,
    terms: readonly Term[],
    limit: number,
    profiles: readonly (string | null)[],
  ): SearchHit[] {
    const words = toWords(query)
    if (words.length === 0) return []
    const prefixes = terms.map(({ text }) => ({ text, prefix: true }))
    return (
      profiles
        .flatMap(each => this.#parts.catalog.titles(words, limit, each))
        // The catalog returns each profile newest first.
        .toSorted((a, b) => b.updated_at - a.updated_at)
        .slice(0, limit)
        .map(row => {
          const snippet = toSnippet(redact(row.title), prefixes)
          return { ...row, match_type: 'title', snippet, message_id: null }
        })
    )
  }

  /** Queries the index; without it, the session files. `done` is false when some sessions were not searched. */
  async #hits(terms: Term[], most: number): Promise<{ hits: IndexHit[]; done: boolean }> {
    const { catalog, files, options } = this.#parts
    try {
      if (!catalog.isInMemory) return await this.#index.search(terms, most)
    } catch (error) {
      if (!(error instanceof UserError) || error.kind !== 'unavailable') throw error
      options.log('searching messages without the index', { error: messageOf(error) })
    }
    const ids = catalog.page(null, MAX_SCANNED, null).map(({ id }) => id)
    const deadline = options.clock.monotonic() + SCAN_MS
    const isOver = (count: number): boolean => count >= most || options.clock.monotonic() > deadline
    return { hits: await scanSessions(files, ids, terms, isOver), done: false }
  }

  async search({ q, content, limit: most, profile }: SearchOptions): Promise<SearchHit[]> {
    const { catalog } = this.#parts
    const query = q
      .slice(0, MAX_QUERY_CHARS)
      .replace(/\p{Cc}/gu, ' ')
      .trim()
    const limit = Math.min(Math.max(Math.trunc(most), 1), MAX_HITS + 1)
    const profiles = toProfiles(profile)
    const isAll = profiles.includes(null)
    const terms = toTerms(query)
    const hits = this.#titles(query, terms, limit, profiles)
    if (!content || terms.length === 0 || hits.length >= limit) return hits
    catalog.verify()
    const tombstones = catalog.tombstones()
    const seen = new Set(hits.map(({ session_id }) => session_id))
    // The index has trashed sessions, those found by title, and those of other profiles as well.
    const expected = limit + hits.length + tombstones.length
    let candidates = isAll ? expected : Math.max(MIN_CANDIDATES, expected)
    let from = 0
    for (;;) {
      const answer = await this.#hits(terms, candidates)
      if (answer.done) catalog.clearTombstones(tombstones)
      for (const hit of answer.hits.slice(from)) {
        if (hits.length >= limit) break
        const row = seen.has(hit.session) ? undefined : this.#row(hit.session)
        if (!row || !(isAll || profiles.includes(row.profile))) continue
        const entry = catalog.get(row.session_id)
        // The index may lag behind: skip messages that were cut since.
        if (!entry || isHidden(entry.summary.cuts, hit.n)) continue
        seen.add(row.session_id)
        const snippet = toSnippet(redact(hit.excerpt), terms)
        hits.push({ ...row, match_type: 'content', snippet, message_id: hit.message_id })
      }
      from = answer.hits.length
      if (hits.length >= limit || from < candidates || candidates >= MAX_CANDIDATES) break
      candidates *= 4
    }
    return hits.slice(0, limit)
  }
}
