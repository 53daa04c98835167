/** Search as a person sees it: title hits first, then the best message of each session. */
import { messageOf, UserError } from '../errors.ts'
import { redact } from '../redact/redact.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Catalog } from './catalog.ts'
import { foldText } from './catalog-schema.ts'
import type { Files } from './files.ts'
import { isHidden } from './fold.ts'
import type { SearchClient } from './search-client.ts'
import { type Term, toSnippet, toTerms } from './search-query.ts'
import type { IndexHit } from './search-index.ts'
import { createScan } from './unindexed-search.ts'
import type { SearchHit, Sessions, SessionsOptions } from './types.ts'

type SessionSearchOptions = {
  files: Files
  log: SessionsOptions['log']
  catalog: Catalog
  search: SearchClient
  row: (id: string) => SessionRow | undefined
}

const MAX_QUERY_CHARS = 500
const MAX_HITS = 200
const MAX_CANDIDATES = 500

/** A title is short and looked through as it is typed: any part of it counts, and every character of the query. */
const toWords = (query: string): string[] =>
  foldText(query.replaceAll('"', ' ')).split(/\s+/).filter(Boolean).slice(0, 12)

export const createSessionSearch = ({ files, catalog, search, row, log }: SessionSearchOptions) => {
  const scan = createScan({ files, catalog })

  const titles = (
    query: string,
    terms: Term[],
    { limit, profile }: { limit: number; profile: string | null },
  ): SearchHit[] => {
    const words = toWords(query)
    if (words.length === 0) return []
    return catalog.titles(words, limit, profile).map(text => {
      const found = JSON.parse(text) as SessionRow
      const snippet = toSnippet(
        found.title,
        terms.map(({ text }) => ({ text, prefix: true })),
      )
      return { ...found, match_type: 'title', snippet, message_id: null }
    })
  }

  /** The index is a cache: without it the files are read. */
  const ask = async (terms: Term[], most: number): Promise<{ hits: IndexHit[]; done: boolean }> => {
    try {
      if (!catalog.isInMemory) return await search.search(terms, most)
    } catch (error) {
      if (!(error instanceof UserError) || error.kind !== 'unavailable') throw error
      log('messages are searched without their index', { error: messageOf(error) })
    }
    return { hits: await scan(terms, most), done: false }
  }

  return async (options: Parameters<Sessions['search']>[0]): Promise<SearchHit[]> => {
    const query = options.q
      .slice(0, MAX_QUERY_CHARS)
      .replace(/\p{Cc}/gu, ' ')
      .trim()
    const limit = Math.min(Math.max(Math.trunc(options.limit), 1), MAX_HITS)
    const profile = options.profile || null
    const terms = toTerms(query)
    const hits = titles(query, terms, { limit, profile })
    if (!options.content || terms.length === 0 || hits.length >= limit) return hits
    catalog.verify()
    const dead = catalog.tombstones()
    // Sessions of the trash and of title hits may be among the found ones.
    // The index knows no profiles: theirs are left out here.
    const most = profile ? MAX_CANDIDATES : limit + hits.length + dead.length
    const answer = await ask(terms, Math.min(most, MAX_CANDIDATES))
    if (answer.done) catalog.clearTombstones(dead)
    const seen = new Set(hits.map(({ session_id }) => session_id))
    for (const hit of answer.hits) {
      const found = seen.has(hit.session) ? undefined : row(hit.session)
      const stored = found && catalog.get(found.session_id)
      // The index may lag behind: what was cut meanwhile is not shown.
      if (!found || (profile && found.profile !== profile)) continue
      if (!stored || isHidden(stored.summary.cuts, hit.n)) continue
      seen.add(found.session_id)
      const snippet = hit.snippet.map(part => ({ ...part, text: redact(part.text) }))
      hits.push({ ...found, match_type: 'content', snippet, message_id: hit.message_id })
    }
    return hits.slice(0, limit)
  }
}
