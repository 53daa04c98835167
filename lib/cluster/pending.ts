/** What this process wrote and is not committed, and who waits for it. What others wrote is in a `Backlog`. */
import { Waiters } from './waiters.ts'

export class Pending {
  #dirty = new Set<string>()
  #writes = 0
  #committed = 0
  readonly #waiters = new Waiters()

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
    return !this.#waiters.isEmpty
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
    return this.#waiters.wait(this.#writes)
  }

  resolveCommitted(): void {
    this.#waiters.resolve(this.#committed)
  }

  reject(error: Error): void {
    this.#waiters.reject(error)
  }
}
