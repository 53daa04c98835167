/** Messages that a page is sending, stored synchronously: a page that is opened after that one was closed takes them over. */
import type { JsonStorage } from '../../platform.ts'
import type { Kept } from './outbox.ts'

export type InFlight = {
  /** In the order in which they were written. */
  list: () => Kept[]
  put: (message: Kept) => void
  remove: (id: string) => void
}

const PREFIX = 'in-flight:'

/** `drafts`: of this person. Each message has a key of its own, because several tabs may write at the same time. */
export const createInFlight = (drafts: JsonStorage): InFlight => ({
  list: () =>
    drafts
      .keys()
      .filter(key => key.startsWith(PREFIX))
      // Another tab may have removed it just now.
      .flatMap(key => drafts.read<Kept | null>(key, null) ?? [])
      .sort((a, b) => a.at - b.at),
  // Where storage is full, the message is sent all the same, and kept in the database when its request fails.
  put: message => drafts.write(PREFIX + message.id, message),
  remove: id => drafts.remove(PREFIX + id),
})
