/** Closes responses that are still being written when the sign-in of their request ends. */
import type { ServerResponse } from 'node:http'
import { type Clock, every } from '../base/clock.ts'

/** A stream ends at most two sweeps after its sign-in. */
const SWEEP_MS = 300

export class OpenResponses {
  readonly #clock: Clock
  readonly #open = new Map<ServerResponse, { isAuthenticated: () => boolean; isMarked: boolean }>()
  #stopSweeps: (() => void) | undefined
  readonly #sweep = () => {
    for (const [res, entry] of this.#open) {
      // Without a head, the request is still to be decided; cutting it now would make the client retry.
      if (!res.headersSent) continue
      // A check that throws counts as not authenticated.
      if (isTrue(entry.isAuthenticated)) entry.isMarked = false
      // Only at the second sweep: the response that ended its own sign-in (sign-out, password removed) must complete.
      else if (entry.isMarked) res.destroy()
      else entry.isMarked = true
    }
  }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Checks `isAuthenticated` periodically until the response is complete. */
  watch(res: ServerResponse, isAuthenticated: () => boolean): void {
    if (res.destroyed || res.writableFinished) return
    this.#open.set(res, { isAuthenticated, isMarked: false })
    this.#stopSweeps ??= every(this.#clock, SWEEP_MS, this.#sweep)
    res.once('close', () => {
      this.#open.delete(res)
      if (this.#open.size > 0) return
      this.#stopSweeps?.()
      this.#stopSweeps = undefined
    })
  }
}

const isTrue = (check: () => boolean): boolean => {
  try {
    return check()
  } catch {
    return false
  }
}
