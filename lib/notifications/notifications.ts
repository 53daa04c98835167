/**
 * Notifications: what happened is queued, decided about by the settings when it is due, and sent to devices and services.
 *
 * `report` is called in the tick of the fact and only writes a small file, so a turn never waits for a network.
 */
import { join } from 'node:path'
import type { Dispatcher } from 'undici'
import { canonicalZone } from '../base/time-zone.ts'
import { invalid } from '../errors.ts'
import type { Resolve } from '../http/guarded-dispatcher.ts'
import type { Allow } from '../http/public-address.ts'
import type { NotificationSettings } from '../schema/notification.ts'
import type { Approval, Question } from '../schema/question.ts'
import type { Addressed } from './channels.ts'
import { type Message, toMessage } from './message.ts'
import { type AnswerToken, type Fact, type Item, openOutbox } from './outbox.ts'
import { createPost, type Delivery } from './post.ts'
import { createPresence } from './presence.ts'
import { quietUntil } from './quiet-hours.ts'
import { createReceivers, type Receiver } from './receivers.ts'
import { createSender, type Decision } from './sender.ts'
import { openNotificationStore } from './store.ts'
import { createVapid } from './vapid.ts'

/** A turn that continues with a queued message is not finished yet; it starts within this time. */
const SETTLE_MS = 1_000
/** While the person looks at the chat, a question is checked again after this time. */
const WATCHED_MS = 20_000
const TOKEN_LIFETIME_MS = 7 * 86_400_000
const FIRST_DELAY_MS = 5_000
const MAX_TEXT = 2_000

export type NotificationsOptions = {
  stateDir: string
  /** Milliseconds since 1970. */
  now: () => number
  /** Null: there is no such chat. */
  titleOf: (sessionId: string) => string | null
  openQuestion: (id: string) => Question | undefined
  /** Number of open approvals and questions. */
  waiting: () => number
  isRunning: (sessionId: string) => boolean
  isRisky: (approval: Approval) => boolean
  redact: (text: string) => string
  dispatcher: () => Dispatcher | undefined
  resolve?: Resolve | undefined
  /** Addresses of push services besides those of the public internet: for tests. */
  allowPush: Allow
  firstDelayMs?: number | undefined
  log: {
    info: (message: string, extra?: Record<string, unknown>) => void
    warn: (message: string, extra?: Record<string, unknown>) => void
  }
}

const openParts = (options: NotificationsOptions) => {
  const { stateDir, now, log } = options
  const store = openNotificationStore(join(stateDir, 'notifications.json'), {
    now: () => now() / 1_000,
    warn: log.warn,
  })
  const outbox = openOutbox(join(stateDir, 'notifications-outbox.json'), log.warn)
  const vapid = createVapid(join(stateDir, 'vapid.json'))
  const closing = new AbortController()
  const receivers = createReceivers({
    ...options,
    store,
    vapid,
    post: createPost({ ...options, signal: closing.signal }),
    onRemoved: id => outbox.remove(item => item.target === id),
  })
  return { store, outbox, vapid, closing, receivers, presence: createPresence(now) }
}
type Parts = ReturnType<typeof openParts>

const isWanted = ({ store }: Parts, { kind, profile }: Fact, receiver: Receiver): boolean =>
  (store.profiles()[profile] ?? store.settings().kinds).includes(kind) &&
  (receiver.kinds?.includes(kind) ?? true)

/** Evaluated when the item is due, because everything may have changed since it was queued. */
const decide = (
  { fact, target }: Item,
  parts: Parts,
  { now, openQuestion, titleOf, isRunning }: NotificationsOptions,
): Decision => {
  const { store, receivers, presence } = parts
  const receiver = receivers.find(target)
  const { session_id: session, question_id: question, kind } = fact
  if (!receiver || !isWanted(parts, fact, receiver)) return 'drop'
  if (question !== undefined && !openQuestion(question)) return 'drop'
  if (session !== null) {
    if (titleOf(session) === null || store.isMuted(session)) return 'drop'
    if (question === undefined && isRunning(session)) return 'drop'
    if (presence.isWatched(session))
      return question === undefined ? 'drop' : { until: now() + WATCHED_MS }
  }
  const { urgent, quiet } = store.settings()
  const until = urgent.includes(kind) ? null : quietUntil(now(), quiet)
  if (until === null) return 'send'
  return question === undefined ? 'drop' : { until }
}

/** Adds what only this receiver gets: tokens that answer the question. */
const addressed = (
  { fact, id, at }: Item,
  receiver: Receiver,
  { message, question }: { message: Message; question: Question | undefined },
  { outbox, receivers, store }: Parts,
  { now, waiting }: NotificationsOptions,
): Addressed => {
  const { session_id, question_id = '' } = fact
  const offers = question ? message.offers : []
  const tokens = outbox.issue(
    offers.map(({ answer }) => ({
      session_id: session_id ?? '',
      question_id,
      question: question?.kind ?? 'clarify',
      answer,
      target: receiver.id,
      by: `notification: ${receivers.labelOf(receiver)}`,
      expires_at: Math.min((question?.expires_at ?? Infinity) * 1_000, now() + TOKEN_LIFETIME_MS),
    })),
    now(),
  )
  return {
    ...message,
    id,
    at: Math.floor(at / 1_000),
    session_id,
    profile: fact.profile,
    waiting: waiting(),
    base: store.settings().base_url,
    actions: offers.map(({ action, title }, index) => ({
      action,
      title,
      token: tokens[index] ?? '',
    })),
  }
}

const deliver = async (
  item: Item,
  parts: Parts,
  options: NotificationsOptions,
): Promise<Delivery> => {
  const { store, receivers } = parts
  const { fact, target } = item
  const receiver = receivers.find(target)
  if (!receiver) return { how: 'refused', problem: '' }
  const question = fact.question_id ? options.openQuestion(fact.question_id) : undefined
  const message = toMessage(fact, {
    ...options,
    settings: store.settings(),
    chat: (fact.session_id && options.titleOf(fact.session_id)) || undefined,
    question,
  })
  return receivers.send(receiver, addressed(item, receiver, { message, question }, parts, options))
}

const checkSettings = ({ quiet, base_url: base }: Partial<NotificationSettings>): void => {
  if (quiet && canonicalZone(quiet.zone) === undefined)
    throw invalid(`"${quiet.zone}" is not a time zone.`)
  if (base && !/^https?:\/\/[^/?#]+\/(?:[^?#]*\/)?$/.test(base))
    throw invalid('The address of the page begins with http:// or https:// and ends with /.')
}

export type Notifications = ReturnType<typeof createNotifications>

export const createNotifications = (options: NotificationsOptions) => {
  const { now, redact, log } = options
  const parts = openParts(options)
  const { store, outbox, vapid, closing, receivers, presence } = parts
  const sender = createSender({
    outbox,
    now,
    decide: item => decide(item, parts, options),
    deliver: item => deliver(item, parts, options),
    onDelivery(item, delivery) {
      const receiver = receivers.find(item.target)
      if (receiver) receivers.note(receiver, delivery)
    },
    firstDelayMs: options.firstDelayMs ?? FIRST_DELAY_MS,
    log: log.warn,
  })

  return {
    store,
    receivers,

    /** Begins to send, also what an earlier process left. */
    start: sender.start,

    /** Queues a fact for every receiver that wants it; does nothing when it was queued before. Never throws. */
    report(fact: Fact): void {
      const { session_id: session } = fact
      const wanting = receivers.all().filter(receiver => isWanted(parts, fact, receiver))
      if (wanting.length === 0 || (session !== null && store.isMuted(session))) return
      const at = now()
      const due = fact.question_id === undefined ? at + SETTLE_MS : at
      const text = redact(fact.text).slice(0, MAX_TEXT)
      const ids = wanting.map(({ id }) => id)
      outbox.add({ ...fact, text }, ids, { at, due })
      sender.wake()
    },

    /** A question was answered: what was not sent about it is not sent any more. */
    settled(questionId: string): void {
      outbox.remove(item => item.fact.question_id === questionId)
    },

    /** A visible page shows these sessions. False: nothing is set up, so it need not be repeated. */
    look(page: string, sessions: readonly string[]): boolean {
      presence.look(page, sessions)
      // What waited only because the person looked at the chat is decided about again.
      if (sessions.length === 0) sender.recheck()
      return receivers.all().length > 0
    },

    /** What a token answers; undefined when it is unknown or expired, or its device was signed out or removed. */
    tokenOf(token: string): AnswerToken | undefined {
      const found = outbox.find(token, now())
      return found && receivers.find(found.target) ? found : undefined
    },

    /** The public half of the key pair that subscriptions are made with. */
    publicKey: async (): Promise<string> => (await vapid()).publicKey,

    changeSettings(patch: Partial<NotificationSettings>): void {
      checkSettings(patch)
      store.setSettings(patch)
      sender.recheck()
    },

    test: (id: string): Promise<void> => receivers.test(id, options.waiting()),

    /** Stops sending; what is queued is sent after the next start. */
    async close(): Promise<void> {
      closing.abort(new Error('The server is shutting down.'))
      await sender.close()
    },
  }
}
