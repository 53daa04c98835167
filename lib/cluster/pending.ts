/** What this process wrote and is not committed, and who waits for it. What others wrote is in a `Backlog`. */
type Waiter = { upTo: number; resolve: () => void; reject: (error: Error) => void }

export class Pending {
  #dirty = new Set<string>()
  #writes = 0
  #committed = 0
  #waiters: Waiter[] = []

  mark(key: string): void {
    this.#writes += 1
    this.#dirty.add(key)
  }

  get isEmpty() {
    return this.#dirty.size === 0
  }

  get isCommitted() {
    return this.#committed === this.#writes
  }

  get hasWaiters() {
    return this.#waiters.length > 0
  }

  /** The keys, and the number of the last write; they count as not committed until `commit`. */
  take(): { keys: string[]; upTo: number } {
    const keys = [...this.#dirty]
    this.#dirty = new Set()
    return { keys, upTo: this.#writes }
  }

  /** After a failure. */
  giveBack(keys: Iterable<string>): void {
    for (const key of keys) this.#dirty.add(key)
  }

  commit(upTo: number): void {
    this.#committed = upTo
  }

  /** Resolves when everything that was marked before is committed and `resolveCommitted` is called. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo: this.#writes, resolve, reject })
    })
  }

  resolveCommitted(): void {
    const done = this.#waiters.filter(({ upTo }) => upTo <= this.#committed)
    this.#waiters = this.#waiters.filter(({ upTo }) => upTo > this.#committed)
    for (const { resolve } of done) resolve()
  }

  reject(error: Error): void {
    const all = this.#waiters
    this.#waiters = []
    for (const { reject } of all) reject(error)
  }
}
