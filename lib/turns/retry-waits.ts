/** The waits before repeated model calls of one turn, which the user can end early. */

export type RetryWaits = ReturnType<typeof createRetryWaits>

/** `position` is the position of the last event in the turn's log. */
export const createRetryWaits = (position: () => number) => {
  const waits = new Map<() => void, number>()
  return {
    /** Adds a wait; the returned function removes it. */
    add(retryNow: () => void): () => void {
      waits.set(retryNow, position())
      return () => void waits.delete(retryNow)
    },
    /** Whether a call is waiting. */
    isWaiting: (): boolean => waits.size > 0,
    /** Ends the waits that were announced up to position `seen`, so that a late request does not end a later wait. */
    end(seen: number = Number.POSITIVE_INFINITY): boolean {
      const ended = [...waits].filter(([, announced]) => announced <= seen)
      for (const [retryNow] of ended) {
        waits.delete(retryNow)
        retryNow()
      }
      return ended.length > 0
    },
  }
}
