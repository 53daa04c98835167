/** Who waits until what was added before is committed, by the number of the last addition. */
type Waiter = { upTo: number; resolve: () => void; reject: (error: Error) => void }

export class Waiters {
  #all: Waiter[] = []

  get isEmpty() {
    return this.#all.length === 0
  }

  wait(upTo: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#all.push({ upTo, resolve, reject })
    })
  }

  /** Those who wait for no more than this. */
  resolve(committed: number): void {
    const ready = this.#all.filter(({ upTo }) => upTo <= committed)
    this.#all = this.#all.filter(({ upTo }) => upTo > committed)
    for (const { resolve } of ready) resolve()
  }

  reject(error: Error): void {
    const all = this.#all
    this.#all = []
    for (const { reject } of all) reject(error)
  }
}
