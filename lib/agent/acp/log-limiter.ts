/** Limits how many lines of a program are logged, and says how many were left out. */
import type { Clock } from '../../base/clock.ts'

const MAX_LINES = 60
const WINDOW_MS = 120_000
const LINE_CHARS = 500

export class LogLimiter {
  readonly #write: (line: string) => void
  readonly #clock: Clock
  #since: number
  #lines = 0

  constructor(write: (line: string) => void, clock: Clock) {
    this.#write = write
    this.#clock = clock
    this.#since = clock.monotonic()
  }

  write(line: string): void {
    const now = this.#clock.monotonic()
    if (now - this.#since >= WINDOW_MS) {
      if (this.#lines > MAX_LINES) this.#write(`${this.#lines - MAX_LINES} lines were left out`)
      this.#since = now
      this.#lines = 0
    }
    this.#lines++
    if (this.#lines <= MAX_LINES) this.#write(line.slice(0, LINE_CHARS))
    else if (this.#lines === MAX_LINES + 1)
      this.#write('prints more than is kept; what follows is left out')
  }
}
