/** Answers to the same question may arrive out of order: one that was asked for before what is shown is too old to be shown. */

/** Ask when a request begins; the result says, when its answer is there, whether it is still worth showing. */
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
