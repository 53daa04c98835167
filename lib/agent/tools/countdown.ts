/** A time limit that stands still while someone is asked. */
import type { Clock } from '../../base/clock.ts'

export class Countdown {
  readonly #clock: Clock
  readonly #onEnd: () => void
  #remainingMs: number
  #since = 0
  #pauses = 0
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(clock: Clock, totalMs: number, onEnd: () => void) {
    this.#clock = clock
    this.#remainingMs = totalMs
    this.#onEnd = onEnd
    this.#start()
  }

  /** Each needs its own `go`: several questions may be open. */
  pause(): void {
    this.#pauses++
    this.#halt()
  }

  go(): void {
    this.#pauses--
    if (this.#pauses === 0 && !this.#isStopped) this.#start()
  }

  stop(): void {
    this.#isStopped = true
    this.#halt()
  }

  #start(): void {
    this.#since = this.#clock.monotonic()
    this.#cancel = this.#clock.timer(Math.max(0, this.#remainingMs), this.#onEnd)
  }

  #halt(): void {
    this.#cancel?.()
    if (this.#cancel) this.#remainingMs -= this.#clock.monotonic() - this.#since
    this.#cancel = undefined
  }
}
