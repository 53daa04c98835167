/** What was written and is not committed, and who waits for it. */
type Waiter = { upTo: number; resolve: () => void; reject: (error: Error) => void }

export type Pending = ReturnType<typeof createPending>

export const createPending = () => {
  let dirty = new Set<string>()
  let writes = 0
  let committed = 0
  let waiters: Waiter[] = []
  return {
    mark(key: string): void {
      writes += 1
      dirty.add(key)
    },
    get isEmpty() {
      return dirty.size === 0
    },
    get isCommitted() {
      return committed === writes
    },
    get hasWaiters() {
      return waiters.length > 0
    },
    /** The keys, and the number of the last write; they count as not committed until `commit`. */
    take(): { keys: string[]; upTo: number } {
      const keys = [...dirty]
      dirty = new Set()
      return { keys, upTo: writes }
    },
    /** After a failure. */
    giveBack(keys: Iterable<string>): void {
      for (const key of keys) dirty.add(key)
    },
    commit(upTo: number): void {
      committed = upTo
    },
    /** Resolves when everything that was marked before is committed and `resolveCommitted` is called. */
    wait: (): Promise<void> =>
      new Promise((resolve, reject) => {
        waiters.push({ upTo: writes, resolve, reject })
      }),
    resolveCommitted(): void {
      const done = waiters.filter(({ upTo }) => upTo <= committed)
      waiters = waiters.filter(({ upTo }) => upTo > committed)
      for (const { resolve } of done) resolve()
    },
    reject(error: Error): void {
      const all = waiters
      waiters = []
      for (const { reject } of all) reject(error)
    },
  }
}
