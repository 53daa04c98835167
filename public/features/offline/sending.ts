/**
 * Stores a message in this browser while it is sent. In the first load, unlike the outbox, so that a message that is sent at
 * once is as safe as a later one.
 */
import { type Signal, signal } from '@preact/signals'
import type { Clock } from '../../../lib/base/clock.ts'
import type { InFlight } from './in-flight.ts'
import type { Kept, Place, Unsent } from './outbox.ts'

export type SendingOptions = {
  /** Whose page this is. */
  account: string
  inFlight: InFlight
  clock: Clock
  newId: () => string
  place: () => Place
  /** Runs the work of one name one at a time in all tabs of the browser. */
  exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>
}

export type Sending = SendingOptions & {
  /** What `Kept.chat` is for the new chat that the page shows; empty until something is written in one. */
  chat: Signal<string>
  /** The page begins another new chat. */
  leaveChat: () => void
  /** As stored, later than `lastAt`. It keeps its place in the order when its request has failed. */
  toKept: (message: Unsent, lastAt?: number) => Kept
  /**
   * Stores a message and runs the work that sends it, both at once: if the page is closed before the work is done, another one sends it.
   * `inSession` is for the session that was created for the message; without it, the other page would create one more.
   */
  sending: <T>(
    message: Unsent,
    work: (inSession: (id: string) => void) => Promise<T>,
    lastAt?: number,
  ) => Promise<T>
}

export const createSending = (options: SendingOptions): Sending => {
  const { account, inFlight, clock, newId, place, exclusively } = options
  const chat = signal('')

  const toKept: Sending['toKept'] = (message, lastAt = 0) => {
    const before = inFlight.list()
    const own = before.find(({ id }) => id === message.id)
    const last = Math.max(lastAt, before.at(-1)?.at ?? 0)
    if (!message.session_id) chat.value ||= newId()
    return {
      ...message,
      ...{ at: own?.at ?? Math.max(clock.now(), last + 1), account, chat: own?.chat ?? chat.value },
      ...(!message.session_id && { place: own?.place ?? place() }),
    }
  }

  return {
    ...options,
    chat,
    leaveChat() {
      chat.value = newId()
    },
    toKept,
    async sending(given, work, lastAt) {
      const message = toKept(given, lastAt)
      let release = () => {}
      const done = new Promise<void>(resolve => {
        release = resolve
      })
      // Requested before other tabs can see the message. Without the lock it may be sent twice, with the same id.
      void exclusively(message.id, () => done).catch(() => undefined)
      inFlight.put(message)
      try {
        const result = await work(session_id => inFlight.put({ ...message, session_id }))
        // Not after an exception: then nothing else has the text.
        inFlight.remove(message.id)
        return result
      } finally {
        release()
      }
    },
  }
}
