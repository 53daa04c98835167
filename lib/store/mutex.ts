/** Locks inside this process, by key: calls with the same key run one after the other, in order. */

/** Returns a function that runs `work` when all earlier work with the same key has succeeded or failed. */
export const mutex = () => {
  const tails = new Map<string, Promise<unknown>>()
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = tails.get(key)
    const mine = before ? before.then(work, work) : work()
    tails.set(key, mine)
    try {
      return await mine
    } finally {
      // Only the last in the queue may delete the key, or a new caller would overtake a waiting one.
      if (tails.get(key) === mine) tails.delete(key)
    }
  }
}
