/**
 * What was written while a turn ran: kept in the session's journal, so that no closed browser and no kill loses it, sent when
 * the turn has ended well. After a turn that failed or was stopped it waits for a person.
 *
 * A message meant to steer stands in the same list, in front, until the running turn reads it: it leaves the list in the one
 * write that puts it into the transcript. What the turn did not read any more is sent like the others.
 */
import { randomBytes } from 'node:crypto'
import { conflict, invalid, messageOf, missing } from '../errors.ts'
import type { Hub } from '../hub.ts'
import type { Queued } from '../schema/queue.ts'
import { queuedOf, queuedPatch } from '../sessions/queued.ts'
import type { Sessions } from '../sessions/types.ts'

const MAX_QUEUED = 50

type New = { text: string; attachments: readonly string[] }

export type QueueOptions = {
  sessions: Sessions
  hub: Pick<Hub, 'publish'>
  /** The stream of the session's running turn. */
  streamOf: (sessionId: string) => string | null
  /** Sends the item as the session's next turn; it leaves the list with that. */
  send: (sessionId: string, item: Queued) => Promise<{ streamId: string }>
  now: () => number
  log: (message: string, extra?: Record<string, unknown>) => void
}

export type MessageQueue = ReturnType<typeof createMessageQueue>

export const createMessageQueue = (deps: QueueOptions) => {
  const { sessions, hub } = deps
  const list = (sessionId: string): Queued[] => queuedOf(sessions.head(sessionId).meta)

  const publish = (sessionId: string): void => {
    const data = { session_id: sessionId, queued: list(sessionId) }
    hub.publish(`session:${sessionId}`, { type: 'queue', data })
  }

  const write = async (sessionId: string, next: readonly Queued[]): Promise<Queued[]> => {
    sessions.append(sessionId, [{ t: 'meta', patch: queuedPatch(next) }])
    publish(sessionId)
    // Whoever is told that it is kept may close the browser, and the machine may go down.
    await sessions.sync(sessionId)
    return list(sessionId)
  }

  const found = (sessionId: string, id: string): Queued => {
    const item = list(sessionId).find(one => one.id === id)
    if (!item)
      throw missing('This message is not in the queue.', { code: 'queued_message_not_found' })
    return item
  }

  const toItem = ({ text, attachments }: New, steer: boolean): Queued => ({
    id: randomBytes(8).toString('hex'),
    text,
    attachments: [...attachments],
    at: deps.now(),
    ...(steer && { steer: true }),
  })

  const requireRoom = (items: readonly Queued[]): void => {
    if (items.length >= MAX_QUEUED)
      throw invalid(`At most ${MAX_QUEUED} messages can wait.`, { code: 'queue_full' })
  }

  /** The first one goes out; what cannot be sent stays where it is. */
  const next = async (sessionId: string): Promise<string | null> => {
    const [first] = list(sessionId)
    if (!first) return null
    try {
      return (await deps.send(sessionId, first)).streamId
    } catch (error) {
      deps.log('a waiting message was not sent', {
        session_id: sessionId,
        error: messageOf(error),
      })
      return null
    }
  }

  return {
    list: (sessionId: string) => list(sessions.require(sessionId).session_id),
    publish,

    /** At the end. Nothing runs and nothing went wrong: it goes out at once. */
    async add(given: string, fresh: New) {
      const { session_id: id } = sessions.require(given)
      const before = list(id)
      requireRoom(before)
      const item = toItem(fresh, false)
      const queued = await write(id, [...before, item])
      // Asked only now: a turn may have ended, or been stopped, while the disk was awaited.
      const { last_turn: how } = sessions.require(id)
      const isFree = deps.streamOf(id) === null && (how === 'done' || how === null)
      const streamId = isFree ? await next(id) : null
      return { item, queued: streamId ? list(id) : queued, streamId }
    },

    /** Into the running turn, before its next step. Refused where none runs. */
    async steer(given: string, fresh: New) {
      const { session_id: id } = sessions.require(given)
      const streamId = deps.streamOf(id)
      if (streamId === null)
        throw conflict('There is no running turn to steer.', { code: 'no_running_turn' })
      const before = list(id)
      requireRoom(before)
      const at = before.findLastIndex(item => item.steer) + 1
      const item = toItem(fresh, true)
      await write(id, before.toSpliced(at, 0, item))
      return { item, streamId }
    },

    /** A waiting message into the running turn. */
    async steerQueued(given: string, itemId: string) {
      const { session_id: id } = sessions.require(given)
      const streamId = deps.streamOf(id)
      if (streamId === null)
        throw conflict('There is no running turn to steer.', { code: 'no_running_turn' })
      const item: Queued = { ...found(id, itemId), steer: true }
      const rest = list(id).filter(one => one.id !== itemId)
      await write(id, rest.toSpliced(rest.findLastIndex(one => one.steer) + 1, 0, item))
      return { item, streamId }
    },

    async edit(given: string, itemId: string, change: Partial<New>) {
      const { session_id: id } = sessions.require(given)
      const item = found(id, itemId)
      const changed = {
        ...item,
        ...(change.text !== undefined && { text: change.text }),
        ...(change.attachments && { attachments: [...change.attachments] }),
      }
      return write(
        id,
        list(id).map(one => (one.id === itemId ? changed : one)),
      )
    },

    async remove(given: string, itemId: string) {
      const { session_id: id } = sessions.require(given)
      const removed = found(id, itemId)
      const queued = await write(
        id,
        list(id).filter(one => one.id !== itemId),
      )
      return { removed, queued }
    },

    /** The named ones first, in this order; those nobody named keep theirs behind them. */
    async reorder(given: string, ids: readonly string[]) {
      const { session_id: id } = sessions.require(given)
      const before = list(id)
      const first = [...new Set(ids)].map(itemId => found(id, itemId))
      return write(id, [...first, ...before.filter(item => !ids.includes(item.id))])
    },

    /** By hand: the named one or the first, whatever became of the last turn. */
    async send(given: string, itemId?: string) {
      const { session_id: id } = sessions.require(given)
      const item = itemId === undefined ? list(id)[0] : found(id, itemId)
      if (!item) throw missing('Nothing is waiting.', { code: 'queued_message_not_found' })
      return deps.send(id, item)
    },

    /** After a turn that ended well. */
    next,
  }
}
