/** Answers that are still being written: each ends when the sign-in it was admitted by has ended. */
import type { ServerResponse } from 'node:http'

export type OpenResponses = {
  /** `isAdmitted` is asked again and again until the answer has been written. */
  watch(res: ServerResponse, isAuthenticated: () => boolean): void
}

/** Twice this is the longest that a stream outlives its sign-in. */
const SWEEP_MS = 300

export const createOpenResponses = (): OpenResponses => {
  const open = new Map<ServerResponse, { isAuthenticated: () => boolean; isMarked: boolean }>()
  let timer: NodeJS.Timeout | undefined

  const sweep = () => {
    for (const [res, entry] of open) {
      // What has not begun is still to be decided: a caller without a word of an answer would try again.
      if (!res.headersSent) continue
      // Whatever is in the way of judging is no reason to go on sending.
      if (isTrue(entry.isAuthenticated)) entry.isMarked = false
      // Only at the second look: the answer that ends its own sign-in (sign out, password removed) is on its way.
      else if (entry.isMarked) res.destroy()
      else entry.isMarked = true
    }
  }

  return {
    watch(res, isAuthenticated) {
      if (res.destroyed || res.writableFinished) return
      open.set(res, { isAuthenticated, isMarked: false })
      timer ??= setInterval(sweep, SWEEP_MS).unref()
      res.once('close', () => {
        open.delete(res)
        if (open.size > 0) return
        clearInterval(timer)
        timer = undefined
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
