/** Waits that end early. */
import type { Clock } from './clock.ts'

export class Wake {
  readonly #clock: Clock
  #over = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Ends the wait that is under way, else the next one. */
  wake(): void {
    this.#over.abort()
  }

  /** Keeps the process alive. */
  async sleep(ms: number): Promise<void> {
    // Rejects only when it was woken.
    await this.#clock.delay(ms, this.#over.signal).catch(() => undefined)
    this.#over = new AbortController()
  }
}
