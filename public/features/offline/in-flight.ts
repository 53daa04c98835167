/** Messages that a page is sending, stored synchronously: a page that is opened after that one was closed takes them over. */
import type { Kept, OutboxOptions } from './outbox.ts'

export type InFlight = {
  /** In the order in which they were written. */
  list: () => Kept[]
  put: (message: Kept) => void
  remove: (id: string) => void
}

/** `prefix`: of this person's keys. Each message has one of its own, because several tabs may write at the same time. */
export const createInFlight = (storage: Storage | null, prefix: string): InFlight => {
  const keyOf = (id: string): string => `${prefix}in-flight:${id}`
  const read = (key: string): Kept[] => {
    try {
      return [JSON.parse(storage?.getItem(key) ?? '') as Kept]
    } catch {
      // Another tab removed it just now.
      return []
    }
  }
  return {
    list: () =>
      Object.keys(storage ?? {})
        .filter(key => key.startsWith(keyOf('')))
        .flatMap(read)
        .sort((a, b) => a.at - b.at),
    put(message) {
      try {
        storage?.setItem(keyOf(message.id), JSON.stringify(message))
      } catch {
        // Full: the message is sent all the same, and kept in the database when its request fails.
      }
    },
    remove: id => storage?.removeItem(keyOf(id)),
  }
}

/** See `Outbox.sending`. */
export const sendStored = async <T>(
  { inFlight, exclusively }: Pick<OutboxOptions, 'inFlight' | 'exclusively'>,
  message: Kept,
  work: (inSession: (id: string) => void) => Promise<T>,
): Promise<T> => {
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
}
