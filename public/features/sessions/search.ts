/** Search while typing: titles of loaded rows at once, full text of all sessions after a pause. */
import { signal } from '@preact/signals'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'
import { sessionTitle } from './sessions.ts'

export type SearchHit = SessionRow & {
  match_type?: 'title' | 'content'
  /** The matching line, split at the matches. */
  snippet?: { text: string; mark: boolean }[]
  message_id?: string
}

const PAUSE_MS = 200
const PAGE = 50
/** The server's. */
const MAX = 5_000

export class Search {
  readonly #platform: Platform
  readonly #rows: () => readonly SessionRow[]
  readonly #profile: () => string
  readonly query = signal('')
  readonly hits = signal<readonly SearchHit[]>([])
  readonly busy = signal(false)
  /** There are others than `hits`. */
  readonly hasMore = signal(false)
  #limit = PAGE
  #cancel = () => {}
  #asking = new AbortController()

  constructor(
    platform: Platform,
    rows: () => readonly SessionRow[],
    /** Empty until known. */
    profile: () => string = () => '',
  ) {
    this.#platform = platform
    this.#rows = rows
    this.#profile = profile
  }

  set(text: string): void {
    const { clock } = this.#platform
    this.query.value = text
    this.#cancel()
    this.#asking.abort()
    const needle = text.trim().toLowerCase()
    this.busy.value = needle !== ''
    this.hasMore.value = false
    this.#limit = PAGE
    this.hits.value = needle
      ? this.#rows()
          .filter(row => sessionTitle(row).toLowerCase().includes(needle))
          .slice(0, PAGE)
      : []
    if (needle) this.#cancel = clock.timer(PAUSE_MS, () => void this.#ask(text.trim()))
  }

  clear(): void {
    this.set('')
  }

  /** The best ones are those that are shown: the others follow them. */
  more(): void {
    if (this.busy.value || !this.hasMore.value || this.#limit >= MAX) return
    this.#limit = Math.min(MAX, this.#limit * 2)
    this.busy.value = true
    void this.#ask(this.query.value.trim())
  }

  async #ask(text: string): Promise<void> {
    const { api } = this.#platform
    this.#asking.abort()
    this.#asking = new AbortController()
    const { signal } = this.#asking
    try {
      const own = this.#profile()
      const input = { q: text, content: '1', limit: this.#limit, ...(own ? { profile: own } : {}) }
      const reply = await api('GET /api/sessions/search', input, { signal })
      if (signal.aborted) return
      this.hits.value = reply.sessions as unknown as SearchHit[]
      this.hasMore.value = reply.more === true
    } catch {
      // Title matches are already shown, so a failed full-text search is ignored.
    } finally {
      if (!signal.aborted) this.busy.value = false
    }
  }
}
