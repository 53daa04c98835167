/** Limits how often an MCP server is started: at most five times a minute, with growing pauses after failures. */
import type { Clock } from '../base/clock.ts'

const MINUTE_MS = 60_000
const STARTS_PER_MINUTE = 5
/** Pause after the n-th failure in a row. None after the first: most servers that crash once work when restarted. */
const BACKOFF_MS = [0, 0, 2_000, 10_000, 30_000, 60_000]

export class StartLimit {
  readonly #now: () => number
  #failures = 0
  #failedAtMs = 0
  #starts: number[] = []

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#now = clock.monotonic
  }

  mayStart(): boolean {
    this.#starts = this.#starts.filter(at => this.#now() - at < MINUTE_MS)
    const pauseMs = BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)] ?? 0
    return (
      this.#starts.length < STARTS_PER_MINUTE &&
      (this.#failures === 0 || this.#now() - this.#failedAtMs >= pauseMs)
    )
  }

  recordStart(): undefined {
    this.#starts.push(this.#now())
  }

  recordFailure(): void {
    this.#failures += 1
    this.#failedAtMs = this.#now()
  }

  recordSuccess(): void {
    this.#failures = 0
  }

  /** The next start is allowed at once. */
  reset(): void {
    this.#failures = 0
    this.#starts = []
  }
}
