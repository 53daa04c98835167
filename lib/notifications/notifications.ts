/**
 * Notifications: what happened is queued, decided about by the settings when it is due, and sent to devices and services.
 *
 * `report` is called in the tick of the fact and only writes a small file, so a turn never waits for a network.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Dispatcher } from 'undici'
import { type Clock, fromSeconds } from '../base/clock.ts'
import { type Language, languageOf } from '../base/languages.ts'
import { isPageAddress } from '../base/page-address.ts'
import { canonicalZone } from '../base/time-zone.ts'
import { invalid } from '../errors.ts'
import type { Resolve } from '../http/guarded-dispatcher.ts'
import type { Allow } from '../http/public-address.ts'
import type { NotificationSettings } from '../schema/notification.ts'
import type { Approval, Question } from '../schema/question.ts'
import { type Addressed, canReplace } from './channels.ts'
import { type Message, toMessage } from './message.ts'
import {
  type AnswerToken,
  type Fact,
  type Item,
  openOutbox,
  OUTBOX,
  type Settled,
} from './outbox.ts'
import { createPost, type Delivery } from './post.ts'
import { createPresence } from './presence.ts'
import { quietUntil } from './quiet-hours.ts'
import { createReceivers, personOf, type Receiver } from './receivers.ts'
import { createSender, type Decision } from './sender.ts'
import { openNotificationStore, SETTINGS } from './store.ts'
import { type Translate, translatorFor } from './texts/translate.ts'
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
  clock: Clock
  /** Null: there is no such chat. */
  titleOf: (sessionId: string) => string | null
  openQuestion: (id: string) => Question | undefined
  /** How a question that is not open was settled. */
  settledAs: (id: string, kind: Question['kind']) => Settled
  /** The language that a person has set, an empty id being the first owner; undefined: each browser's own. */
  language: (person: string) => Language | undefined
  /** Number of open approvals and questions that a person may know of. */
  waiting: (person: string) => number
  isRunning: (sessionId: string) => boolean
  isRisky: (approval: Approval) => boolean
  /** What a person (empty: the first owner) may know and answer. Default: everything. */
  rights?: {
    mayKnow: (person: string, profile: string) => boolean
    mayAnswer: (person: string, profile: string, question: Question) => boolean
  }
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

/**
 * In milliseconds, rounded down as times of events are. Each fact that is wanted changes the outbox in its tick, and what is
 * wanted changes the settings: what happened later was not reported.
 */
const lastChangeOf = ({ stateDir }: NotificationsOptions): number => {
  const times = [SETTINGS, OUTBOX].map(
    name => statSync(join(stateDir, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  )
  return Math.floor(Math.max(...times))
}

const openParts = (options: NotificationsOptions) => {
  const { stateDir, clock, log } = options
  const store = openNotificationStore(join(stateDir, SETTINGS), { clock })
  const outbox = openOutbox(join(stateDir, OUTBOX), log.warn)
  const vapid = createVapid(stateDir)
  const closing = new AbortController()
  const receivers = createReceivers({
    ...options,
    store,
    vapid,
    post: createPost({ ...options, signal: closing.signal }),
    statuses: outbox,
    onRemoved(id) {
      outbox.remove(item => item.target === id)
      outbox.forget(({ target }) => target === id)
    },
  })
  return { store, outbox, vapid, closing, receivers, presence: createPresence(clock) }
}
type Parts = ReturnType<typeof openParts>

const mayKnow = (
  receiver: Receiver,
  { profile }: Fact,
  { rights }: NotificationsOptions,
): boolean => rights?.mayKnow(personOf(receiver), profile) ?? true

const isWanted = (
  { store }: Parts,
  fact: Fact,
  receiver: Receiver,
  options: NotificationsOptions,
): boolean => mayKnow(receiver, fact, options) && isOn(store, fact, receiver)

const isOn = (store: Parts['store'], { kind, profile }: Fact, receiver: Receiver): boolean =>
  (store.profiles()[profile] ?? store.settings().kinds).includes(kind) &&
  (receiver.kinds?.includes(kind) ?? true)

/** Evaluated when the item is due, because everything may have changed since it was queued. */
const decide = ({ fact, target }: Item, parts: Parts, options: NotificationsOptions): Decision => {
  const { clock, openQuestion, titleOf, isRunning } = options
  const { store, receivers, presence } = parts
  const receiver = receivers.find(target)
  const { session_id: session, question_id: question, kind, settled } = fact
  if (!receiver || !mayKnow(receiver, fact, options)) return 'drop'
  // Without a sound, and what it replaces is shown already.
  if (settled) return 'send'
  if (!isOn(store, fact, receiver)) return 'drop'
  if (question !== undefined && !openQuestion(question)) return 'drop'
  if (session !== null) {
    if (titleOf(session) === null || store.isMuted(session)) return 'drop'
    if (question === undefined && isRunning(session)) return 'drop'
    if (presence.isWatched(session, personOf(receiver)))
      return question === undefined ? 'drop' : { until: clock.now() + WATCHED_MS }
  }
  const { urgent, quiet } = store.settings()
  const until = urgent.includes(kind) ? null : quietUntil(clock.now(), quiet)
  if (until === null) return 'send'
  return question === undefined ? 'drop' : { until }
}

/** In the language that the person has set, else in that of the receiver's browser. */
const translatorOf = (receiver: Receiver, options: NotificationsOptions): Translate => {
  const set = options.language(personOf(receiver))
  return translatorFor(set ?? languageOf(receiver.language ?? '') ?? 'en')
}

/** Adds what only this receiver gets: tokens that answer the question. */
const addressed = (
  { fact, id, at }: Item,
  receiver: Receiver,
  { message, question, t }: { message: Message; question: Question | undefined; t: Translate },
  { outbox, receivers, store }: Parts,
  { clock, waiting, rights, openQuestion }: NotificationsOptions,
): Addressed => {
  const { session_id, question_id = '' } = fact
  const isOffered =
    question && (rights?.mayAnswer(personOf(receiver), fact.profile, question) ?? true)
  const offers = isOffered ? message.offers : []
  const tokens = outbox.issue(
    offers.map(({ answer }) => ({
      session_id: session_id ?? '',
      question_id,
      question: question?.kind ?? 'clarify',
      answer,
      target: receiver.id,
      by: `notification: ${receivers.labelOf(receiver)}`,
      expires_at: Math.min(
        fromSeconds(question?.expires_at ?? Infinity),
        clock.now() + TOKEN_LIFETIME_MS,
      ),
    })),
    clock.now(),
    id => openQuestion(id) !== undefined,
  )
  return {
    ...message,
    id,
    at,
    session_id,
    profile: fact.profile,
    waiting: waiting(personOf(receiver)),
    base: store.settings().base_url,
    t,
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
  if (!receiver) return { how: 'refused', problem: '', code: 'rejected' }
  const asked = fact.settled === undefined ? fact.question_id : undefined
  const question = asked ? options.openQuestion(asked) : undefined
  const t = translatorOf(receiver, options)
  const message = toMessage(fact, {
    ...options,
    t,
    settings: store.settings(),
    chat: (fact.session_id && options.titleOf(fact.session_id)) || undefined,
    question,
  })
  return receivers.send(
    receiver,
    addressed(item, receiver, { message, question, t }, parts, options),
  )
}

const checkSettings = ({ quiet, base_url: base }: Partial<NotificationSettings>): void => {
  if (quiet && canonicalZone(quiet.zone) === undefined)
    throw invalid(`"${quiet.zone}" is not a time zone.`, {
      code: 'invalid_time_zone',
      values: { zone: quiet.zone },
    })
  if (base && !isPageAddress(base))
    throw invalid('The address of the page begins with http:// or https:// and ends with /.', {
      code: 'invalid_address',
    })
}

export type Notifications = ReturnType<typeof createNotifications>

export const createNotifications = (options: NotificationsOptions) => {
  const { clock, redact, log, openQuestion } = options
  const lastChange = lastChangeOf(options)
  const parts = openParts(options)
  const { store, outbox, vapid, closing, receivers, presence } = parts
  const sender = createSender({
    outbox,
    clock,
    decide: item => decide(item, parts, options),
    deliver: item => deliver(item, parts, options),
    onDelivery(item, delivery) {
      const receiver = receivers.find(item.target)
      if (!receiver) return
      receivers.note(receiver, delivery)
      const { fact, target } = item
      const { question_id: question, settled } = fact
      if (delivery.how !== 'sent' || !question || settled || !canReplace(receiver)) return
      outbox.show({ target, fact })
      // It was answered while this message was sent.
      if (!openQuestion(question)) withdraw(question)
    },
    firstDelayMs: options.firstDelayMs ?? FIRST_DELAY_MS,
    log: log.warn,
  })

  /** Replaces what receivers show of a question, except that one in which it was answered: its notification is closed. */
  const withdraw = (questionId: string, answeredIn?: string): void => {
    const at = clock.now()
    const shown = outbox.shown().filter(({ fact }) => fact.question_id === questionId)
    if (shown.length === 0) return
    outbox.forget(({ fact }) => fact.question_id === questionId)
    for (const { target, fact } of shown) {
      if (target === answeredIn) continue
      const key = `settled:${questionId}:${target}`
      const settled = options.settledAs(
        questionId,
        fact.kind === 'question' ? 'clarify' : 'approval',
      )
      outbox.add({ ...fact, key, text: '', settled }, [target], { at, due: at })
    }
    sender.wake([])
  }

  return {
    store,
    receivers,

    /** Begins to send, also what an earlier process left. */
    start(): void {
      for (const { fact } of outbox.shown())
        if (fact.question_id && !openQuestion(fact.question_id)) withdraw(fact.question_id)
      sender.start()
    },

    /** When something that is queued is due, such as after the quiet hours; null: nothing is. */
    nextDue: outbox.nextDue,

    /** Milliseconds since 1970: what happened before was reported, if it was wanted. Null: nothing receives notifications. */
    reportedUntil: receivers.all().length === 0 ? null : lastChange,

    /** Queues a fact for every receiver that wants it; does nothing when it was queued before. Never throws. */
    report(fact: Fact): void {
      const { session_id: session } = fact
      const wanting = receivers.all().filter(receiver => isWanted(parts, fact, receiver, options))
      if (wanting.length === 0 || (session !== null && store.isMuted(session))) return
      const at = clock.now()
      const due = fact.question_id === undefined ? at + SETTLE_MS : at
      const text = redact(fact.text).slice(0, MAX_TEXT)
      const ids = wanting.map(({ id }) => id)
      if (outbox.add({ ...fact, text }, ids, { at, due })) sender.wake(ids)
    },

    /** A question was settled: what was not sent about it is not sent any more, and what was sent is replaced. */
    settled(questionId: string, answeredIn?: string): void {
      outbox.remove(({ fact }) => fact.question_id === questionId && fact.settled === undefined)
      withdraw(questionId, answeredIn)
    },

    /** A visible page shows these sessions. False: nothing is set up, so it need not be repeated. */
    look(page: string, sessions: readonly string[], person = ''): boolean {
      presence.look(page, sessions, person)
      // What waited only because the person looked at the chat is decided about again.
      if (sessions.length === 0) sender.recheck()
      return receivers.all().length > 0
    },

    /** What a token answers; undefined when it is unknown or expired, or its device was signed out or removed. */
    tokenOf(token: string): AnswerToken | undefined {
      const found = outbox.find(token, clock.now())
      return found && receivers.find(found.target) ? found : undefined
    },

    /** The public half of the key pair that subscriptions are made with. */
    publicKey: async (): Promise<string> => (await vapid()).publicKey,

    changeSettings(patch: Partial<NotificationSettings>): void {
      checkSettings(patch)
      store.setSettings(patch)
      sender.recheck()
    },

    test: (id: string): Promise<void> =>
      receivers.test(id, options.waiting(''), of => translatorOf(of, options)),

    /** In the language of the receiver that got a token; without one, or for one that is gone, in `browser`. */
    translator(target: string | undefined, browser: Language): Translate {
      const receiver = receivers.find(target ?? '')
      return receiver
        ? translatorOf(receiver, options)
        : translatorFor(options.language('') ?? browser)
    },

    /** Stops sending; what is queued is sent after the next start. */
    async close(): Promise<void> {
      closing.abort(new Error('The server is shutting down.'))
      await sender.close()
    },
  }
}
