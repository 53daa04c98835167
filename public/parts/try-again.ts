/** Does failed work again: after a while, and after twice as long each further time. */
import type { Clock } from '../../lib/base/clock.ts'

const FIRST_MS = 3_000
const MAX_MS = 60_000

export class TryAgain {
  readonly #clock: Pick<Clock, 'timer'>
  #ms = FIRST_MS
  #cancel = () => {}
  #work: (() => void) | null = null

  constructor(clock: Pick<Clock, 'timer'>) {
    this.#clock = clock
  }

  /** It has not failed since it last succeeded. */
  isFirst = (): boolean => this.#ms === FIRST_MS

  later(work: () => void): void {
    this.stop()
    this.#work = work
    this.#cancel = this.#clock.timer(this.#ms, () => this.now())
    this.#ms = Math.min(this.#ms * 2, MAX_MS)
  }

  /** Not later; nothing when nothing is to be done again. */
  now(): void {
    const work = this.#work
    this.stop()
    work?.()
  }

  /** It is being done. */
  stop(): void {
    this.#cancel()
    this.#work = null
  }

  /** It succeeded, or need not be done any more. */
  end(): void {
    this.stop()
    this.#ms = FIRST_MS
  }
}
