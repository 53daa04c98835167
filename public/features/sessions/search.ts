/** Search while typing: titles of loaded rows at once, full text of all sessions after a pause. */
import { signal } from '@preact/signals'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'
import { titleOf } from './sessions.ts'

export type SearchHit = SessionRow & {
  match_type?: 'title' | 'content'
  /** The matching line, split at the matches. */
  snippet?: { text: string; mark: boolean }[]
  message_id?: string
}

const PAUSE_MS = 200
const MAX_RESULTS = 50

export const createSearch = (
  { api, clock }: Pick<Platform, 'api' | 'clock'>,
  rows: () => readonly SessionRow[],
  /** Empty until known. */
  profile: () => string = () => '',
) => {
  const query = signal('')
  const hits = signal<readonly SearchHit[]>([])
  const busy = signal(false)
  let cancel = () => {}
  let asking = new AbortController()

  const ask = async (text: string): Promise<void> => {
    asking.abort()
    asking = new AbortController()
    const { signal: wanted } = asking
    try {
      const own = profile()
      const input = { q: text, content: '1', limit: MAX_RESULTS, ...(own ? { profile: own } : {}) }
      const reply = await api('GET /api/sessions/search', input, { signal: wanted })
      if (!wanted.aborted) hits.value = reply.sessions as unknown as SearchHit[]
    } catch {
      // Title matches are already shown, so a failed full-text search is ignored.
    } finally {
      if (!wanted.aborted) busy.value = false
    }
  }

  const set = (text: string): void => {
    query.value = text
    cancel()
    asking.abort()
    const wanted = text.trim().toLowerCase()
    busy.value = wanted !== ''
    hits.value = wanted
      ? rows()
          .filter(row => titleOf(row).toLowerCase().includes(wanted))
          .slice(0, MAX_RESULTS)
      : []
    if (wanted) cancel = clock.timer(PAUSE_MS, () => void ask(text.trim()))
  }

  return { query, hits, busy, set, clear: () => set('') }
}

export type Search = ReturnType<typeof createSearch>
