/** Closes responses that are still being written when the sign-in of their request ends. */
import type { ServerResponse } from 'node:http'
import { type Clock, every } from '../base/clock.ts'

export type OpenResponses = {
  /** Checks `isAuthenticated` periodically until the response is complete. */
  watch(res: ServerResponse, isAuthenticated: () => boolean): void
}

/** A stream ends at most two sweeps after its sign-in. */
const SWEEP_MS = 300

export const createOpenResponses = (clock: Pick<Clock, 'timer'>): OpenResponses => {
  const open = new Map<ServerResponse, { isAuthenticated: () => boolean; isMarked: boolean }>()
  let stopSweeps: (() => void) | undefined

  const sweep = () => {
    for (const [res, entry] of open) {
      // Without a head, the request is still to be decided; cutting it now would make the client retry.
      if (!res.headersSent) continue
      // A check that throws counts as not authenticated.
      if (isTrue(entry.isAuthenticated)) entry.isMarked = false
      // Only at the second sweep: the response that ended its own sign-in (sign-out, password removed) must complete.
      else if (entry.isMarked) res.destroy()
      else entry.isMarked = true
    }
  }

  return {
    watch(res, isAuthenticated) {
      if (res.destroyed || res.writableFinished) return
      open.set(res, { isAuthenticated, isMarked: false })
      stopSweeps ??= every(clock, SWEEP_MS, sweep)
      res.once('close', () => {
        open.delete(res)
        if (open.size > 0) return
        stopSweeps?.()
        stopSweeps = undefined
      })
    },
  }
}

const isTrue = (check: () => boolean): boolean => {
  try {
    return check()
  } catch {
    return false
  }
}
