/** Which sessions each person is looking at now: each visible page says so and repeats it before its lease ends. */
import type { Clock } from '../base/clock.ts'

/** A page repeats it every 60 s; one that disappeared without a word counts this long. */
const LEASE_MS = 90_000
const MAX_PAGES = 200

export class Presence {
  readonly #clock: Clock
  readonly #pages = new Map<
    string,
    { person: string; sessions: readonly string[]; until: number }
  >()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `id` is a random id of the page; no sessions: it is hidden, or shows no chat. */
  look(id: string, sessions: readonly string[], person = ''): void {
    const page = `${person} ${id}`
    this.#pages.delete(page)
    if (sessions.length === 0) return
    this.#pages.set(page, { person, sessions, until: this.#clock.monotonic() + LEASE_MS })
    const [oldest] = this.#pages.keys()
    if (this.#pages.size > MAX_PAGES && oldest !== undefined) this.#pages.delete(oldest)
  }

  isWatched(sessionId: string, person = ''): boolean {
    for (const [page, { until }] of this.#pages)
      if (until <= this.#clock.monotonic()) this.#pages.delete(page)
    return [...this.#pages.values()].some(
      each => each.person === person && each.sessions.includes(sessionId),
    )
  }
}
