/** A named lock inside this process: callers with the same key wait for each other, in order. */

/** `mutex()` gives a function that runs `work` when all earlier work of the same key has ended, however it ended. */
export const mutex = () => {
  const tails = new Map<string, Promise<unknown>>()
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = tails.get(key)
    const mine = before ? before.then(work, work) : work()
    tails.set(key, mine)
    try {
      return await mine
    } finally {
      // Only the last in line may clear the name, or a waiting caller would be overtaken.
      if (tails.get(key) === mine) tails.delete(key)
    }
  }
}
