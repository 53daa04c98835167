/** Locks inside this process, by key: calls with the same key run one after the other, in order. */
export class Mutex {
  readonly #tails = new Map<string, Promise<unknown>>()

  /** Runs `work` when all earlier work with the same key has succeeded or failed. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key)
    const mine = before ? before.then(work, work) : work()
    this.#tails.set(key, mine)
    try {
      return await mine
    } finally {
      // Only the last in the queue may delete the key, or a new caller would overtake a waiting one.
      if (this.#tails.get(key) === mine) this.#tails.delete(key)
    }
  }
}
