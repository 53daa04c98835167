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

export type SenderOptions = {
  outbox: Pick<Outbox, 'items' | 'remove' | 'delay'>
  clock: Clock
  decide: (item: Item) => Decision
  /** Must not reject for failures of the network. */
  deliver: (item: Item) => Promise<Delivery>
  onDelivery: (item: Item, delivery: Delivery) => void
  /** The delay after the first failure; each further one takes four times as long. */
  firstDelayMs: number
  log: (message: string, extra?: Record<string, unknown>) => void
}

export const createSender = (options: SenderOptions) => {
  const { outbox, clock, decide, deliver, onDelivery, firstDelayMs, log } = options
  /** Receivers with a request under way. */
  const busy = new Set<string>()
  /** Until when receivers want no requests (Retry-After). */
  const held = new Map<string, number>()
  const running = new Set<Promise<unknown>>()
  let cancelTimer: (() => void) | undefined
  let isStarted = false
  let closed = false

  /** Of each receiver and chat the first item, and those that no failed one precedes: a later one must not arrive before it. */
  const heads = (): Item[] => {
    const failed = new Set<string>()
    return outbox.items().filter(({ target, fact, attempts }) => {
      const line = `${target} ${fact.session_id}`
      if (busy.has(target) || failed.has(line)) return false
      if (attempts > 0) failed.add(line)
      return true
    })
  }

  const dueOf = ({ target, due }: Item): number => Math.max(due, held.get(target) ?? 0)

  /** A receiver that answered, or for which there is news, is tried again now instead of when its delay is over. */
  const hasten = (target: string): void => {
    for (const { id, attempts, due } of outbox.items().filter(item => item.target === target))
      if (attempts > 0 && due > clock.now()) outbox.delay(id, clock.now(), attempts)
  }

  const settle = (item: Item, delivery: Delivery): void => {
    const { id, target, attempts } = item
    if (delivery.how !== 'later') outbox.remove(each => each.id === id)
    else {
      const own = Math.min(firstDelayMs * 4 ** attempts, MAX_DELAY_MS)
      const wanted = Math.min(delivery.afterMs ?? 0, MAX_DELAY_MS)
      if (wanted > 0) held.set(target, clock.now() + wanted)
      outbox.delay(id, clock.now() + Math.max(own, wanted), attempts + 1)
    }
    if (delivery.how === 'sent') {
      held.delete(target)
      hasten(target)
    }
    onDelivery(item, delivery)
  }

  const send = async (item: Item): Promise<void> => {
    const delivery = await deliver(item).catch((error: unknown): Delivery => {
      log('a notification could not be sent', { error: messageOf(error) })
      return { how: 'refused', problem: messageOf(error), code: 'rejected' }
    })
    busy.delete(item.target)
    // Cut off by the end of the service: it is sent at the next start. What has arrived is not sent again.
    if (closed && delivery.how === 'later') return
    settle(item, delivery)
    pump()
  }

  /** Starts what is due; the first of each receiver first. */
  const pump = (): void => {
    if (closed) return
    for (const item of heads()) {
      if (busy.has(item.target) || dueOf(item) > clock.now()) continue
      const decision = clock.now() - item.at > MAX_AGE_MS ? 'drop' : decide(item)
      if (decision === 'drop') outbox.remove(each => each.id === item.id)
      else if (decision !== 'send') outbox.delay(item.id, decision.until, item.attempts)
      else {
        busy.add(item.target)
        const work = send(item)
        running.add(work)
        void work.finally(() => running.delete(work))
      }
    }
    schedule()
  }

  const schedule = (): void => {
    cancelTimer?.()
    const due = heads().map(dueOf)
    if (!isStarted || closed || due.length === 0) return
    const wait = Math.max(0, Math.min(...due) - clock.now())
    cancelTimer = clock.timer(Math.min(wait, MAX_TIMER_MS), pump)
  }

  return {
    /** Nothing is decided before: the parts that decide are made later than this one. */
    start(): void {
      isStarted = true
      schedule()
    },
    /** Something was added for these receivers. */
    wake(targets: readonly string[]): void {
      for (const target of targets) if ((held.get(target) ?? 0) <= clock.now()) hasten(target)
      schedule()
    },
    /** Decides now about what waits for a time, instead of then. */
    recheck(): void {
      for (const { id, attempts, due } of outbox.items())
        if (attempts === 0 && due > clock.now()) outbox.delay(id, clock.now(), attempts)
      schedule()
    },
    async close(): Promise<void> {
      closed = true
      cancelTimer?.()
      await Promise.allSettled([...running])
    },
  }
}
