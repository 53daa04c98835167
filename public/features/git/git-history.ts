/** The commits of the current branch, and the diffs of opened ones. */
import { signal } from '@preact/signals'
import type { ApiCall } from '../../api.ts'
import type { Api } from '../../../router.ts'
import type { ResponseOrder } from '../../parts/response-order.ts'
import type { Toasts } from '../shell/toast.ts'

export type LogEntry = Api['GET /api/git/log']['output']['commits'][number]
export type CommitDiff = Api['GET /api/git/commit']['output']

export type HistoryOptions = {
  api: ApiCall
  toasts: Toasts
  session: { session_id: string }
  newest: ResponseOrder
}

export const createHistory = ({ api, toasts, session, newest }: HistoryOptions) => {
  const list = signal<{ commits: readonly LogEntry[]; more: boolean } | null>(null)
  const diffs = signal<ReadonlyMap<string, CommitDiff | 'loading' | 'failed'>>(new Map())

  const put = (id: string, value: CommitDiff | 'loading' | 'failed' | null): void => {
    const next = new Map(diffs.value)
    if (value) next.set(id, value)
    else next.delete(id)
    diffs.value = next
  }

  return {
    /** Null while it is not shown. */
    list,
    diffs,
    /** The next commits; the newest ones with `isNew`. */
    async load(isNew = false): Promise<void> {
      const isNewest = newest('log')
      const shown = isNew ? [] : (list.value?.commits ?? [])
      try {
        const found = await api('GET /api/git/log', { ...session, skip: shown.length })
        if (isNewest()) list.value = { commits: [...shown, ...found.commits], more: found.more }
      } catch (error) {
        toasts.showError(error)
      }
    },
    reset(): void {
      list.value = null
      diffs.value = new Map()
    },
    async toggle(id: string): Promise<void> {
      if (diffs.value.has(id)) return put(id, null)
      put(id, 'loading')
      try {
        const found = await api('GET /api/git/commit', { ...session, commit: id })
        // It may have been closed.
        if (diffs.value.has(id)) put(id, found)
      } catch {
        // Shown in place of the diff; opening it again retries.
        if (diffs.value.has(id)) put(id, 'failed')
      }
    },
  }
}
