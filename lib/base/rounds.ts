/** Work for many receivers, done for all of them in rounds instead of at each event. */

/** So long a receiver may wait for others: the time of one frame of a screen. */
const MAX_PAUSE_MS = 16

/**
 * Does `work` of an item in the next round, once however often it is asked for. A round begins in the same iteration of the event
 * loop while there is little to do; otherwise after a pause as long as the last one took, at most 16 ms, so that rounds take half of
 * the time at most. `work` must not throw.
 */
export class Rounds<T> {
  readonly #work: (item: T) => void
  readonly #nowMs: () => number
  readonly #later: (run: () => void, ms: number) => void
  #waiting = new Set<T>()
  #restUntilMs = 0

  /** `nowMs` and `later` for tests. */
  constructor(
    work: (item: T) => void,
    nowMs = () => performance.now(),
    later: (run: () => void, ms: number) => void = setTimeout,
  ) {
    this.#work = work
    this.#nowMs = nowMs
    this.#later = later
  }

  ask(item: T): void {
    this.#waiting.add(item)
    if (this.#waiting.size > 1) return
    const restMs = this.#restUntilMs - this.#nowMs()
    if (restMs < 1) setImmediate(this.#run)
    else this.#later(this.#run, restMs)
  }

  readonly #run = (): void => {
    const startedMs = this.#nowMs()
    const items = this.#waiting
    this.#waiting = new Set()
    // Promises that are settled by the work are followed by the next immediate, so it counts what they lead to.
    setImmediate(() => {
      const endedMs = this.#nowMs()
      this.#restUntilMs = endedMs + Math.min(endedMs - startedMs, MAX_PAUSE_MS)
    })
    for (const item of items) this.#work(item)
  }
}
