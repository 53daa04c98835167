/** The wait to show when model calls of the running turn failed and are about to be repeated. */
import type { PendingRetry } from '../../../lib/schema/retry.ts'
import type { LiveTurn } from '../../../lib/schema/session.ts'

export type ShownRetry = PendingRetry & {
  /** The task of the subagent whose call it is. */
  goal: string | null
  /** Further calls that wait. */
  others: number
}

/** The call that is repeated first; null when none waits. */
export const shownRetryOf = (live: LiveTurn | null): ShownRetry | null => {
  if (!live) return null
  const nested = (live.subagents ?? []).flatMap(({ retry, goal, status }) =>
    retry && status === 'running' ? [{ ...retry, goal }] : [],
  )
  const all = [...(live.retry ? [{ ...live.retry, goal: null }] : []), ...nested]
  const [first] = all.toSorted((a, b) => a.until - b.until)
  return first ? { ...first, others: all.length - 1 } : null
}
