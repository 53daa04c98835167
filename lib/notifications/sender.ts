/** Sends what the outbox holds: in order for each receiver, again after a failure, and never while a turn waits for it. */
import { messageOf } from '../errors.ts'
import type { Item, Outbox } from './outbox.ts'
import type { Delivery } from './post.ts'

/** A notification of yesterday helps no one. */
const MAX_AGE_MS = 86_400_000
const MAX_ATTEMPTS = 12
const MAX_DELAY_MS = 3_600_000
/** `setTimeout` fires at once for longer waits. */
const MAX_TIMER_MS = 2_147_483_647

/** `until`: decided again then, in milliseconds since 1970. */
export type Decision = 'send' | 'drop' | { until: number }

export type SenderOptions = {
  outbox: Outbox
  /** Milliseconds since 1970. */
  now: () => number
  decide: (item: Item) => Decision
  /** Must not reject for failures of the network. */
  deliver: (item: Item) => Promise<Delivery>
  onDelivery: (item: Item, delivery: Delivery) => void
  /** The delay after the first failure; each further one takes four times as long. */
  firstDelayMs: number
  log: (message: string, extra?: Record<string, unknown>) => void
}

export type Sender = ReturnType<typeof createSender>

export const createSender = (options: SenderOptions) => {
  const { outbox, now, decide, deliver, onDelivery, firstDelayMs, log } = options
  /** Receivers with a request under way. */
  const busy = new Set<string>()
  const running = new Set<Promise<unknown>>()
  let timer: NodeJS.Timeout | undefined
  let isStarted = false
  let closed = false

  const settle = (item: Item, delivery: Delivery): void => {
    onDelivery(item, delivery)
    const attempts = item.attempts + 1
    if (delivery.how !== 'later' || attempts >= MAX_ATTEMPTS) {
      outbox.remove(each => each.id === item.id)
      return
    }
    const own = firstDelayMs * 4 ** item.attempts
    const delay = Math.min(Math.max(own, delivery.afterMs ?? 0), MAX_DELAY_MS)
    outbox.delay(item.id, now() + delay, attempts)
  }

  const send = async (item: Item): Promise<void> => {
    const delivery = await deliver(item).catch((error: unknown): Delivery => {
      log('a notification could not be sent', { error: messageOf(error) })
      return { how: 'refused', problem: messageOf(error) }
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
    for (const item of outbox.items()) {
      if (busy.has(item.target) || item.due > now()) continue
      const decision = now() - item.at > MAX_AGE_MS ? 'drop' : decide(item)
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
    clearTimeout(timer)
    const due = outbox
      .items()
      .filter(item => !busy.has(item.target))
      .map(item => item.due)
    if (!isStarted || closed || due.length === 0) return
    const wait = Math.max(0, Math.min(...due) - now())
    timer = setTimeout(pump, Math.min(wait, MAX_TIMER_MS)).unref()
  }

  return {
    /** Nothing is decided before: the parts that decide are made later than this one. */
    start(): void {
      isStarted = true
      schedule()
    },
    /** Something was added, or a reason to wait has ended. */
    wake: schedule,
    /** Decides now about what waits for a time, instead of then. */
    recheck(): void {
      for (const { id, attempts, due } of outbox.items())
        if (attempts === 0 && due > now()) outbox.delay(id, now(), attempts)
      schedule()
    },
    async close(): Promise<void> {
      closed = true
      clearTimeout(timer)
      await Promise.allSettled([...running])
    },
  }
}
