/** Does failed work again: after a while, and after twice as long each further time. */
import type { Clock } from '../../lib/base/clock.ts'

const FIRST_MS = 3_000
const MAX_MS = 60_000

export class TryAgain {
  readonly #clock: Clock
  #ms = FIRST_MS
  #cancel = () => {}
  #work: (() => void) | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** It is being done. */
  stop(): void {
    this.#cancel()
    this.#work = null
  }

  /** Not later; nothing when nothing is to be done again. */
  now(): void {
    const next = this.#work
    this.stop()
    next?.()
  }

  /** It has not failed since it last succeeded. */
  isFirst(): boolean {
    return this.#ms === FIRST_MS
  }

  later(next: () => void): void {
    this.stop()
    this.#work = next
    this.#cancel = this.#clock.timer(this.#ms, () => this.now())
    this.#ms = Math.min(this.#ms * 2, MAX_MS)
  }

  /** It succeeded, or need not be done any more. */
  end(): void {
    this.stop()
    this.#ms = FIRST_MS
  }
}
