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
import { isPlanApproval, KEEP_PLANNING } from '../base/plan-answers.ts'
import { rolePatch, turnRole } from './context/role-guards.ts'
import type { Log } from './context/services.ts'
import type { TurnStarter } from './start-turn.ts'
import type { Turns } from './turns.ts'

const MAX_QUEUED = 50

const APPROVED = 'I approve the plan. Carry it out.'

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

export class MessageQueue {
  readonly #sessions: Sessions
  readonly #hub: Hub
  readonly #turns: Turns
  readonly #starter: TurnStarter
  readonly #clock: Clock
  readonly #log: Log['warn']

  constructor(
    { sessions, hub, clock }: { sessions: Sessions; hub: Hub; clock: Clock },
    turns: Turns,
    starter: TurnStarter,
    log: Log['warn'],
  ) {
    this.#sessions = sessions
    this.#hub = hub
    this.#turns = turns
    this.#starter = starter
    this.#clock = clock
    this.#log = log
  }

  list(session: string): Queued[] {
    return this.#list(this.#idOf(session))
  }

  /** Appends a message. Sent at once when the session is idle after a successful turn. */
  async add(session: string, input: New) {
    const id = this.#idOf(session)
    const before = this.#list(id)
    const item = this.#toItem(input, false)
    const repeatOf = this.#streamOfSent(id, input)
    if (repeatOf) return { item, queued: before, streamId: repeatOf }
    // The process may have died before it could send the message.
    if (repeatOf !== undefined) return this.#sendIfFree(id, item, before)
    requireCapacity(before)
    const { meta } = this.#sessions.head(id)
    const queued = await this.#write(id, [...before, item], storedPatch(meta, input))
    // Checked after the sync: a turn may have ended or been stopped during it.
    return this.#sendIfFree(id, item, queued)
  }

  /** Adds a message to the running turn, before its next step. Rejects when no turn is running. */
  async steer(session: string, input: New) {
    const id = this.#idOf(session)
    const streamId = this.#requireStream(id)
    const item = this.#toItem(input, true)
    if (this.#streamOfSent(id, input) !== undefined) return { item, streamId }
    const before = this.#list(id)
    requireCapacity(before)
    await this.#writeSteering(id, before, item, storedPatch(this.#sessions.head(id).meta, input))
    return { item, streamId }
  }

  /** Turns a queued message into a steering message. */
  async steerQueued(session: string, itemId: string) {
    const id = this.#idOf(session)
    const streamId = this.#requireStream(id)
    const item: Queued = { ...this.#find(id, itemId), steer: true }
    const rest = this.#list(id).filter(one => one.id !== itemId)
    await this.#writeSteering(id, rest, item, {})
    return { item, streamId }
  }

  async edit(session: string, itemId: string, change: Partial<New> & Pick<New, 'role'>) {
    const id = this.#idOf(session)
    const changed = {
      ...this.#find(id, itemId),
      ...(change.text !== undefined && { text: change.text }),
      ...(change.attachments && { attachments: [...change.attachments] }),
      ...(change.role !== 'owner' && { by_member: true as const }),
    }
    // A message that steers may be read at any moment.
    const isRead = changed.steer && this.#turns.streamOf(id) !== null
    const more = isRead ? steeredBy(this.#sessions.head(id).meta, changed) : {}
    const next = this.#list(id).map(one => (one.id === itemId ? changed : one))
    return this.#write(id, next, more)
  }

  async remove(session: string, itemId: string) {
    const id = this.#idOf(session)
    const removed = this.#find(id, itemId)
    const rest = this.#list(id).filter(one => one.id !== itemId)
    return { removed, queued: await this.#write(id, rest) }
  }

  /** The given ids first, in this order; the others keep their order behind them. */
  async reorder(session: string, ids: readonly string[]) {
    const id = this.#idOf(session)
    const first = [...new Set(ids)].map(itemId => this.#find(id, itemId))
    return this.#write(id, [...first, ...this.#list(id).filter(item => !ids.includes(item.id))])
  }

  /** Sends the given message or the first one, regardless of how the last turn ended. */
  async send(session: string, itemId?: string) {
    const id = this.#idOf(session)
    const item = itemId === undefined ? this.#list(id)[0] : this.#find(id, itemId)
    if (!item) throw missing('The queue is empty.', { code: 'queued_message_not_found' })
    return this.#send(id, item)
  }

  /** Sends the first message, after a successful turn; it stays queued when that fails. */
  async next(sessionId: string): Promise<string | null> {
    const [first] = this.#list(sessionId)
    if (!first) return null
    try {
      return (await this.#send(sessionId, first)).streamId
    } catch (error) {
      const about = { session_id: sessionId, error: messageOf(error) }
      this.#log('could not send a queued message', about)
      return null
    }
  }

  /** Continues a session whose plan was answered after its turn had ended, for example because the service was restarted. */
  async answerPlan(sessionId: string, answer: string): Promise<void> {
    if (answer === KEEP_PLANNING) return
    const text = isPlanApproval(answer) ? APPROVED : answer
    const role = turnRole(this.#sessions.head(sessionId).meta)
    try {
      // Queued first: where no turn can start, the message stays there.
      const { item, streamId } = await this.add(sessionId, { text, attachments: [], role })
      const isWaiting = this.list(sessionId).some(({ id }) => id === item.id)
      if (streamId === null && isWaiting) await this.send(sessionId, item.id)
    } catch (error) {
      const about = { session_id: sessionId, error: messageOf(error) }
      this.#log('could not continue after a plan was answered', about)
    }
  }

  publish(sessionId: string): void {
    const data = { session_id: sessionId, queued: this.#list(sessionId) }
    this.#hub.publish(`session:${sessionId}`, { type: 'queue', data })
  }

  #idOf(session: string): string {
    return this.#sessions.require(session).session_id
  }

  #list(sessionId: string): Queued[] {
    return queuedOf(this.#sessions.head(sessionId).meta)
  }

  #find(sessionId: string, id: string): Queued {
    const item = this.#list(sessionId).find(one => one.id === id)
    if (!item)
      throw missing('This message is not in the queue.', { code: 'queued_message_not_found' })
    return item
  }

  #requireStream(sessionId: string): string {
    const streamId = this.#turns.streamOf(sessionId)
    if (streamId === null)
      throw conflict('Nothing is running to steer.', { code: 'no_running_turn' })
    return streamId
  }

  /** The stream that a message with the same id has started, empty when it was queued; undefined for a new one. */
  #streamOfSent(sessionId: string, { clientMessageId }: New): string | undefined {
    if (clientMessageId === undefined) return undefined
    return streamOfSent(this.#sessions.head(sessionId).meta, clientMessageId)
  }

  #toItem({ text, attachments, clientMessageId, role }: New, steer: boolean): Queued {
    return {
      id: randomBytes(8).toString('hex'),
      text,
      attachments: [...attachments],
      ...(clientMessageId !== undefined && { client_message_id: clientMessageId }),
      at: toSeconds(this.#clock.now()),
      ...(steer && { steer: true }),
      ...(role !== 'owner' && { by_member: true }),
    }
  }

  async #write(id: string, next: readonly Queued[], more: MetaPatch = {}): Promise<Queued[]> {
    this.#sessions.append(id, [{ t: 'meta', patch: { ...queuedPatch(next), ...more } }])
    this.publish(id)
    // Synced before the response: the user may close the browser, and the machine may lose power.
    await this.#sessions.sync(id)
    return this.#list(id)
  }

  /** Behind those that steer, before the others. */
  #writeSteering(id: string, others: readonly Queued[], item: Queued, more: MetaPatch) {
    const at = others.findLastIndex(one => one.steer) + 1
    const patch = { ...more, ...steeredBy(this.#sessions.head(id).meta, item) }
    return this.#write(id, others.toSpliced(at, 0, item), patch)
  }

  /** As the session's next turn, which removes it from the queue. */
  async #send(sessionId: string, item: Queued) {
    const { turn } = await this.#starter.turn({
      sessionId,
      role: item.by_member ? 'member' : 'owner',
      text: item.text,
      attachments: item.attachments,
      queued: item.id,
      clientMessageId: item.client_message_id,
    })
    this.publish(sessionId)
    return turn
  }

  /** Sends the first message when the session is idle after a successful turn. */
  async #sendIfFree(id: string, item: Queued, queued: Queued[]) {
    const { last_turn: how } = this.#sessions.require(id)
    const isFree = this.#turns.streamOf(id) === null && (how === 'done' || how === null)
    const streamId = isFree ? await this.next(id) : null
    return { item, queued: streamId ? this.#list(id) : queued, streamId }
  }
}

const requireCapacity = (items: readonly Queued[]): void => {
  if (items.length >= MAX_QUEUED)
    throw invalid(`At most ${MAX_QUEUED} messages can be queued.`, {
      code: 'queue_full',
      values: { max: MAX_QUEUED },
    })
}
