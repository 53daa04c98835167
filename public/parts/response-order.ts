/** Drops responses that arrive out of order: a response is stale when a later request was already answered. */

/** Call when a request begins; call the result when its response arrives: true while it is not stale. */
export const createResponseOrder = (): ((key: string) => () => boolean) => {
  let last = 0
  const shown = new Map<string, number>()
  return key => {
    last += 1
    const mine = last
    return () => {
      if (mine < (shown.get(key) ?? 0)) return false
      shown.set(key, mine)
      return true
    }
  }
}
