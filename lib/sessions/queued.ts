/** The queued messages in a session's record: read tolerantly, written as a patch of the record. Pure. */
import { conflict } from '../errors.ts'
import { Queued } from '../schema/queue.ts'
import type { Meta, MetaPatch } from './entries.ts'

/** Entries that do not parse are left out. */
export const queuedOf = (meta: Meta): Queued[] => {
  if (!Array.isArray(meta.queued)) return []
  return meta.queued.flatMap((item: unknown) => Queued.safeParse(item).data ?? [])
}

export const queuedPatch = (list: readonly Queued[]): MetaPatch => ({
  queued: list.length > 0 ? list : null,
})

/** The patch that removes one message. Throws a conflict when it is no longer queued. */
export const withoutQueued = (meta: Meta, id: string): MetaPatch => {
  const list = queuedOf(meta)
  if (!list.some(item => item.id === id))
    throw conflict('This message was already sent or removed.', { code: 'queued_message_gone' })
  return queuedPatch(list.filter(item => item.id !== id))
}
