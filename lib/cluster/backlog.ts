/** Files that are to be sent, in their order, and who waits for them: those of one flush, or what other programs changed. */

import { Waiters } from './waiters.ts'

/** Of a repository, what names the rest is sent when the rest is there; what was deleted comes last, as it may have been renamed. */
export type Rank = 'content' | 'names' | 'gone'

const RANKS: readonly Rank[] = ['content', 'names', 'gone']

type BacklogEntry = { key: string; rank: Rank }

export class Backlog {
  #added = 0
  /** By the number of their addition. */
  readonly #waiting: Readonly<Record<Rank, Map<string, number>>> = {
    content: new Map(),
    names: new Map(),
    gone: new Map(),
  }
  /** Read, and not committed as a whole. */
  readonly #begun = new Map<string, { rank: Rank; number: number }>()
  readonly #waiters = new Waiters()

  get isEmpty() {
    return this.#begun.size === 0 && RANKS.every(rank => this.#waiting[rank].size === 0)
  }

  get hasWaiters() {
    return !this.#waiters.isEmpty
  }

  /** One that is being sent is sent again afterward: it may have changed since it was read. */
  add(key: string, rank: Rank = 'content'): void {
    if (RANKS.some(each => this.#waiting[each].has(key))) return
    this.#added += 1
    this.#waiting[rank].set(key, this.#added)
  }

  /** What was begun continues first. Entries may begin and end meanwhile. */
  *entries(): Generator<BacklogEntry> {
    for (const [key, { rank }] of [...this.#begun]) yield { key, rank }
    for (const rank of RANKS) for (const key of this.#waiting[rank].keys()) yield { key, rank }
  }

  begin({ key, rank }: BacklogEntry): void {
    const number = this.#waiting[rank].get(key)
    this.#waiting[rank].delete(key)
    if (number !== undefined && !this.#begun.has(key)) this.#begun.set(key, { rank, number })
  }

  /** The database has what was read of it. */
  end(key: string): void {
    this.#begun.delete(key)
  }

  /** One that was begun has vanished: it comes last, and who waits for it still does. */
  moveToGone(key: string): void {
    const number = this.#begun.get(key)?.number
    this.#begun.delete(key)
    if (number === undefined || RANKS.some(each => this.#waiting[each].has(key))) return
    this.#waiting.gone.set(key, number)
  }

  /** Resolves when all that was added before is committed and `resolveCommitted` is called. */
  wait(): Promise<void> {
    if (this.isEmpty) return Promise.resolve()
    return this.#waiters.wait(this.#added)
  }

  resolveCommitted(): void {
    if (this.hasWaiters) this.#waiters.resolve(this.#first() - 1)
  }

  reject(error: Error): void {
    this.#waiters.reject(error)
  }

  /** The lowest number that is not committed. */
  #first(): number {
    let first = Number.POSITIVE_INFINITY
    for (const { number } of this.#begun.values()) first = Math.min(first, number)
    for (const rank of RANKS)
      for (const number of this.#waiting[rank].values()) first = Math.min(first, number)
    return first
  }
}
