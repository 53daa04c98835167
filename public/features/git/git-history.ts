/** The commits of the current branch, and the diffs of opened ones. */
import { signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Shell } from '../shell/shell-state.ts'

export type LogEntry = Api['GET /api/git/log']['output']['commits'][number]
export type CommitDiff = Api['GET /api/git/commit']['output']

export class GitHistory {
  readonly #shell: Shell
  readonly #session: { session_id: string }
  readonly #newest = createResponseOrder()
  /** Null while it is not shown. */
  readonly list = signal<{ commits: readonly LogEntry[]; more: boolean } | null>(null)
  readonly diffs = signal<ReadonlyMap<string, CommitDiff | 'loading' | 'failed'>>(new Map())

  constructor(shell: Shell, session: { session_id: string }) {
    this.#shell = shell
    this.#session = session
  }

  /** The next commits; the newest ones with `isNew`. */
  async load(isNew = false): Promise<void> {
    const { api, toasts } = this.#shell
    const isNewest = this.#newest('')
    const commits = isNew ? [] : (this.list.value?.commits ?? [])
    try {
      const page = await api('GET /api/git/log', { ...this.#session, skip: commits.length })
      if (isNewest()) this.list.value = { commits: [...commits, ...page.commits], more: page.more }
    } catch (error) {
      toasts.showError(error)
    }
  }

  reset(): void {
    this.#newest.dropPending()
    this.list.value = null
    this.diffs.value = new Map()
  }

  async toggle(id: string): Promise<void> {
    if (this.diffs.value.has(id)) return this.#put(id, null)
    this.#put(id, 'loading')
    try {
      const commit = await this.#shell.api('GET /api/git/commit', {
        ...this.#session,
        commit: id,
      })
      // It may have been closed.
      if (this.diffs.value.has(id)) this.#put(id, commit)
    } catch {
      // Shown in place of the diff; opening it again retries.
      if (this.diffs.value.has(id)) this.#put(id, 'failed')
    }
  }

  #put(id: string, value: CommitDiff | 'loading' | 'failed' | null): void {
    const next = new Map(this.diffs.value)
    if (value) next.set(id, value)
    else next.delete(id)
    this.diffs.value = next
  }
}
