/** Sends what the outbox holds: in order for each receiver and chat, again after a failure, and never while a turn waits for it. */
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import type { Item, Outbox } from './outbox.ts'
import type { Delivery } from './post.ts'

/** A notification of yesterday helps no one. */
const MAX_AGE_MS = 86_400_000
const MAX_DELAY_MS = 3_600_000
/** Timers of Node fire at once for longer waits. */
const MAX_TIMER_MS = 2_147_483_647

/** `until`: decided again then, in milliseconds since 1970. */
export type Decision = 'send' | 'drop' | { until: number }

export class Sender {
  readonly #options
  /** Receivers with a request under way. */
  readonly #busy = new Set<string>()
  /** Until when receivers want no requests (Retry-After). */
  readonly #notBefore = new Map<string, number>()
  readonly #running = new Set<Promise<unknown>>()
  #cancelTimer: (() => void) | undefined
  #isStarted = false
  #isClosed = false
  readonly #dueOf = ({ target, due }: Item): number =>
    Math.max(due, this.#notBefore.get(target) ?? 0)
  /** Starts what is due; the first of each receiver first. */
  readonly #pump = (): void => {
    if (this.#isClosed) return
    for (const item of this.#heads()) {
      if (this.#busy.has(item.target) || this.#dueOf(item) > this.#options.clock.now()) continue
      const decision =
        this.#options.clock.now() - item.at > MAX_AGE_MS ? 'drop' : this.#options.decide(item)
      if (decision === 'drop') this.#options.outbox.remove(each => each.id === item.id)
      else if (decision !== 'send')
        this.#options.outbox.delay(item.id, decision.until, item.attempts)
      else {
        this.#busy.add(item.target)
        const work = this.#send(item)
        this.#running.add(work)
        void work.finally(() => this.#running.delete(work))
      }
    }
    this.#schedule()
  }

  constructor(options: {
    outbox: Outbox
    clock: Clock
    decide: (item: Item) => Decision
    /** Must not reject for failures of the network. */
    deliver: (item: Item) => Promise<Delivery>
    onDelivery: (item: Item, delivery: Delivery) => void
    /** The delay after the first failure; each further one takes four times as long. */
    firstDelayMs: number
    log: (message: string, extra?: Record<string, unknown>) => void
  }) {
    this.#options = options
  }

  /** Nothing is decided before: the parts that decide are made later than this one. */
  start(): void {
    this.#isStarted = true
    this.#schedule()
  }

  /** Something was added for these receivers. */
  wake(targets: readonly string[]): void {
    for (const target of targets)
      if ((this.#notBefore.get(target) ?? 0) <= this.#options.clock.now()) this.#hasten(target)
    this.#schedule()
  }

  /** Decides now about what waits for a time, instead of then. */
  recheck(): void {
    for (const { id, attempts, due } of this.#options.outbox.items())
      if (attempts === 0 && due > this.#options.clock.now())
        this.#options.outbox.delay(id, this.#options.clock.now(), attempts)
    this.#schedule()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer?.()
    await Promise.allSettled([...this.#running])
  }

  /** Of each receiver and chat the first item, and those that no failed one precedes: a later one must not arrive before it. */
  #heads(): Item[] {
    const failedLines = new Set<string>()
    return this.#options.outbox.items().filter(({ target, fact, attempts }) => {
      const line = `${target} ${fact.session_id}`
      if (this.#busy.has(target) || failedLines.has(line)) return false
      if (attempts > 0) failedLines.add(line)
      return true
    })
  }

  /** A receiver that answered, or for which there is news, is tried again now instead of when its delay is over. */
  #hasten(target: string): void {
    for (const { id, attempts, due } of this.#options.outbox
      .items()
      .filter(item => item.target === target))
      if (attempts > 0 && due > this.#options.clock.now())
        this.#options.outbox.delay(id, this.#options.clock.now(), attempts)
  }

  #settle(item: Item, delivery: Delivery): void {
    const { id, target, attempts } = item
    if (delivery.how !== 'later') this.#options.outbox.remove(each => each.id === id)
    else {
      const own = Math.min(this.#options.firstDelayMs * 4 ** attempts, MAX_DELAY_MS)
      const requestedMs = Math.min(delivery.afterMs ?? 0, MAX_DELAY_MS)
      if (requestedMs > 0) this.#notBefore.set(target, this.#options.clock.now() + requestedMs)
      this.#options.outbox.delay(
        id,
        this.#options.clock.now() + Math.max(own, requestedMs),
        attempts + 1,
      )
    }
    if (delivery.how === 'sent') {
      this.#notBefore.delete(target)
      this.#hasten(target)
    }
    this.#options.onDelivery(item, delivery)
  }

  async #send(item: Item): Promise<void> {
    const delivery = await this.#options.deliver(item).catch((error: unknown): Delivery => {
      this.#options.log('a notification could not be sent', { error: messageOf(error) })
      return { how: 'refused', problem: messageOf(error), code: 'rejected' }
    })
    this.#busy.delete(item.target)
    // Cut off by the end of the service: it is sent at the next start. What has arrived is not sent again.
    if (this.#isClosed && delivery.how === 'later') return
    this.#settle(item, delivery)
    this.#pump()
  }

  #schedule(): void {
    this.#cancelTimer?.()
    const due = this.#heads().map(this.#dueOf)
    if (!this.#isStarted || this.#isClosed || due.length === 0) return
    const wait = Math.max(0, Math.min(...due) - this.#options.clock.now())
    this.#cancelTimer = this.#options.clock.timer(Math.min(wait, MAX_TIMER_MS), this.#pump)
  }
}
