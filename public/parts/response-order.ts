/** Drops responses that arrive out of order: a response is stale when a later request was already answered. */

export type ResponseOrder = {
  /** Call when a request begins; call the result when its response arrives: true while it is not stale. */
  (key: string): () => boolean
  /** Every request that has begun is stale: what it asked about was replaced. */
  dropPending: () => void
}

export const createResponseOrder = (): ResponseOrder => {
  let last = 0
  let dropped = 0
  const latest = new Map<string, number>()
  const begin = (key: string) => {
    last += 1
    const mine = last
    return () => {
      if (mine <= dropped || mine < (latest.get(key) ?? 0)) return false
      latest.set(key, mine)
      return true
    }
  }
  const dropPending = () => {
    dropped = last
  }
  return Object.assign(begin, { dropPending })
}
