/**
 * The message queue: messages written while a turn runs. Stored in the session's journal, so that they survive a closed browser and a kill. Sent when
 * the turn finishes successfully. After a failed or stopped turn they wait for the user.
 *
 * Steering messages are at the front of the same list until the running turn reads them: the append that adds one to the
 * transcript removes it from the queue. Those that the turn did not read are sent like the others.
 */
import { randomBytes } from 'node:crypto'
import { type Clock, toSeconds } from '../base/clock.ts'
import { conflict, invalid, messageOf, missing } from '../errors.ts'
import type { Hub } from '../http/hub.ts'
import type { Role } from '../schema/person.ts'
import type { Queued } from '../schema/queue.ts'
import { queuedOf, queuedPatch } from '../sessions/queued.ts'
import { sentPatch, streamOfSent } from '../sessions/sent-messages.ts'
import { sentDraftPatch } from '../sessions/drafts.ts'
import type { Meta, MetaPatch } from '../sessions/entries.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { rolePatch } from './context/role-guards.ts'

const MAX_QUEUED = 50

type New = {
  text: string
  attachments: readonly string[]
  /** The client's id of the message: it is added once. */
  clientMessageId?: string | undefined
  /** The id of the stored draft that it was written from, besides its own. */
  draft?: string | undefined
  /** Of who wrote it. */
  role: Role
}

/** What a stored message changes in the record besides the queue: its id is known, and its draft is sent. */
const storedPatch = (meta: Meta, input: New): MetaPatch => ({
  ...(input.clientMessageId !== undefined && sentPatch(meta, input.clientMessageId, '')),
  ...sentDraftPatch(meta, { ...input, ids: [input.clientMessageId, input.draft] }),
})

/** The turn that reads a member's message has a member's rights from then on. */
const steeredBy = (meta: Meta, item: Queued): MetaPatch =>
  item.by_member ? rolePatch(meta, 'member') : {}

export type QueueOptions = {
  sessions: Sessions
  hub: Pick<Hub, 'publish'>
  /** The stream of the session's running turn. */
  streamOf: (sessionId: string) => string | null
  /** Sends the item as the session's next turn, which removes it from the queue. */
  send: (sessionId: string, item: Queued) => Promise<{ streamId: string }>
  clock: Pick<Clock, 'now'>
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

  const write = async (
    sessionId: string,
    next: readonly Queued[],
    more: MetaPatch = {},
  ): Promise<Queued[]> => {
    sessions.append(sessionId, [{ t: 'meta', patch: { ...queuedPatch(next), ...more } }])
    publish(sessionId)
    // Synced before the response: the user may close the browser, and the machine may lose power.
    await sessions.sync(sessionId)
    return list(sessionId)
  }

  const found = (sessionId: string, id: string): Queued => {
    const item = list(sessionId).find(one => one.id === id)
    if (!item)
      throw missing('This message is not in the queue.', { code: 'queued_message_not_found' })
    return item
  }

  const toItem = ({ text, attachments, clientMessageId, role }: New, steer: boolean): Queued => ({
    id: randomBytes(8).toString('hex'),
    text,
    attachments: [...attachments],
    ...(clientMessageId !== undefined && { client_message_id: clientMessageId }),
    at: toSeconds(deps.clock.now()),
    ...(steer && { steer: true }),
    ...(role !== 'owner' && { by_member: true }),
  })

  const requireCapacity = (items: readonly Queued[]): void => {
    if (items.length >= MAX_QUEUED)
      throw invalid(`At most ${MAX_QUEUED} messages can be queued.`, {
        code: 'queue_full',
        values: { max: MAX_QUEUED },
      })
  }

  /** Sends the first message; it stays queued when that fails. */
  const next = async (sessionId: string): Promise<string | null> => {
    const [first] = list(sessionId)
    if (!first) return null
    try {
      return (await deps.send(sessionId, first)).streamId
    } catch (error) {
      deps.log('could not send a queued message', {
        session_id: sessionId,
        error: messageOf(error),
      })
      return null
    }
  }

  /** Sends the first message when the session is idle after a successful turn. */
  const sendIfFree = async (id: string, item: Queued, queued: Queued[]) => {
    const { last_turn: how } = sessions.require(id)
    const isFree = deps.streamOf(id) === null && (how === 'done' || how === null)
    const streamId = isFree ? await next(id) : null
    return { item, queued: streamId ? list(id) : queued, streamId }
  }

  return {
    list: (sessionId: string) => list(sessions.require(sessionId).session_id),
    publish,

    /** Appends a message. Sent at once when the session is idle after a successful turn. */
    async add(given: string, input: New) {
      const { session_id: id } = sessions.require(given)
      const before = list(id)
      const { meta } = sessions.head(id)
      const { clientMessageId } = input
      const item = toItem(input, false)
      if (clientMessageId !== undefined) {
        const repeatOf = streamOfSent(meta, clientMessageId)
        if (repeatOf) return { item, queued: before, streamId: repeatOf }
        // The process may have died before it could send the message.
        if (repeatOf !== undefined) return sendIfFree(id, item, before)
      }
      requireCapacity(before)
      const queued = await write(id, [...before, item], storedPatch(meta, input))
      // Checked after the sync: a turn may have ended or been stopped during it.
      return sendIfFree(id, item, queued)
    },

    /** Adds a message to the running turn, before its next step. Rejects when no turn is running. */
    async steer(given: string, input: New) {
      const { session_id: id } = sessions.require(given)
      const streamId = deps.streamOf(id)
      if (streamId === null)
        throw conflict('Nothing is running to steer.', { code: 'no_running_turn' })
      const before = list(id)
      const { meta } = sessions.head(id)
      const { clientMessageId } = input
      if (clientMessageId !== undefined && streamOfSent(meta, clientMessageId) !== undefined)
        return { item: toItem(input, true), streamId }
      requireCapacity(before)
      const at = before.findLastIndex(item => item.steer) + 1
      const item = toItem(input, true)
      await write(id, before.toSpliced(at, 0, item), {
        ...storedPatch(meta, input),
        ...steeredBy(meta, item),
      })
      return { item, streamId }
    },

    /** Turns a queued message into a steering message. */
    async steerQueued(given: string, itemId: string) {
      const { session_id: id } = sessions.require(given)
      const streamId = deps.streamOf(id)
      if (streamId === null)
        throw conflict('Nothing is running to steer.', { code: 'no_running_turn' })
      const item: Queued = { ...found(id, itemId), steer: true }
      const rest = list(id).filter(one => one.id !== itemId)
      const next = rest.toSpliced(rest.findLastIndex(one => one.steer) + 1, 0, item)
      await write(id, next, steeredBy(sessions.head(id).meta, item))
      return { item, streamId }
    },

    async edit(given: string, itemId: string, change: Partial<New> & Pick<New, 'role'>) {
      const { session_id: id } = sessions.require(given)
      const item = found(id, itemId)
      const changed = {
        ...item,
        ...(change.text !== undefined && { text: change.text }),
        ...(change.attachments && { attachments: [...change.attachments] }),
        ...(change.role !== 'owner' && { by_member: true as const }),
      }
      // A message that steers may be read at any moment.
      if (changed.steer && deps.streamOf(id) !== null)
        sessions.append(id, [{ t: 'meta', patch: steeredBy(sessions.head(id).meta, changed) }])
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

    /** The given ids first, in this order; the others keep their order behind them. */
    async reorder(given: string, ids: readonly string[]) {
      const { session_id: id } = sessions.require(given)
      const before = list(id)
      const first = [...new Set(ids)].map(itemId => found(id, itemId))
      return write(id, [...first, ...before.filter(item => !ids.includes(item.id))])
    },

    /** Sends the given message or the first one, regardless of how the last turn ended. */
    async send(given: string, itemId?: string) {
      const { session_id: id } = sessions.require(given)
      const item = itemId === undefined ? list(id)[0] : found(id, itemId)
      if (!item) throw missing('The queue is empty.', { code: 'queued_message_not_found' })
      return deps.send(id, item)
    },

    /** Called after a successful turn (`onDone` in lib/app/app.ts). */
    next,
  }
}
