/** The event stream of the proxy check: one event at once, then nothing, so that a proxy that waits for the end is recognized. */
import type { Clock } from '../base/clock.ts'
import { frame } from '../base/sse.ts'
import { tooMany } from '../errors.ts'

/** Anyone may open one. */
const MAX_OPEN = 8
/** Of a client that does not close its stream. Longer than `doctor` waits for the event. */
const OPEN_MS = 10_000

const untilAborted = (clock: Clock, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    const cancel = clock.timer(OPEN_MS, resolve)
    const end = () => {
      cancel()
      resolve()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })

export class ProxyCheck {
  readonly #clock: Clock
  #open = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws when too many are open. */
  stream(signal: AbortSignal): AsyncGenerator<string> {
    if (this.#open >= MAX_OPEN)
      throw tooMany('Too many checks run at the same time.', { code: 'too_many_requests' })
    return this.#firstEvent(signal)
  }

  async *#firstEvent(signal: AbortSignal): AsyncGenerator<string> {
    this.#open += 1
    try {
      yield frame('ready', {})
      await untilAborted(this.#clock, signal)
    } finally {
      this.#open -= 1
    }
  }
}
