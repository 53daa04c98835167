/** Rate-limits a program's log lines (token bucket), and logs how many were dropped. */
import type { Clock } from '../../base/clock.ts'

const BURST = 60
const REFILL_MS = 2_000
const LINE_CHARS = 500

export class LogLimiter {
  readonly #write: (line: string) => void
  readonly #clock: Clock
  #tokens = BURST
  #filledAt: number
  #omitted = 0

  constructor(write: (line: string) => void, clock: Clock) {
    this.#write = write
    this.#clock = clock
    this.#filledAt = clock.monotonic()
  }

  write(line: string): void {
    const more = Math.floor((this.#clock.monotonic() - this.#filledAt) / REFILL_MS)
    if (more > 0) {
      this.#tokens = Math.min(BURST, this.#tokens + more)
      this.#filledAt += more * REFILL_MS
    }
    if (this.#tokens <= 0) {
      if (this.#omitted === 0) this.#write('prints more than is kept; what follows is left out')
      this.#omitted++
      return
    }
    if (this.#omitted > 0) {
      // Only after a quiet period; otherwise every second line would be this notice.
      if (this.#tokens < BURST / 2) {
        this.#omitted++
        return
      }
      this.#write(`${this.#omitted} lines were left out`)
      this.#omitted = 0
    }
    this.#tokens--
    this.#write(line.slice(0, LINE_CHARS))
  }
}
