/**
 * Notifications: what happened is queued, decided about by the settings when it is due, and sent to devices and services.
 *
 * `report` is called in the tick of the fact and only writes a small file, so a turn never waits for a network.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Dispatcher } from 'undici'
import { redact } from '../base/redact/redact.ts'
import { type Clock, fromSeconds } from '../base/clock.ts'
import { type Language, languageOf } from '../base/languages.ts'
import { isPageAddress } from '../base/page-address.ts'
import { canonicalZone } from '../base/time-zone.ts'
import { invalid } from '../errors.ts'
import type { Allow } from '../http/public-address.ts'
import type { NotificationSettings } from '../schema/notification.ts'
import type { Approval, Question } from '../schema/question.ts'
import { type Addressed, canReplace } from './channels.ts'
import { type Message, toMessage } from './message.ts'
import { type AnswerToken, type Fact, type Item, Outbox, OUTBOX, type Settled } from './outbox.ts'
import { type Delivery, Poster } from './post.ts'
import { Presence } from './presence.ts'
import { quietUntil } from './quiet-hours.ts'
import { Receivers, personOf, type Receiver } from './receivers.ts'
import { Sender, type Decision } from './sender.ts'
import { NotificationStore, SETTINGS } from './store.ts'
import { type Translate, translatorFor } from './texts/translate.ts'
import { vapidKeys } from './vapid.ts'

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
  dispatcher: () => Dispatcher | undefined
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

/** In the language that the person has set, else in that of the receiver's browser. */
const translatorOf = (receiver: Receiver, options: NotificationsOptions): Translate => {
  const set = options.language(personOf(receiver))
  return translatorFor(set ?? languageOf(receiver.language ?? '') ?? 'en')
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

export class Notifications {
  readonly store: NotificationStore
  readonly receivers: Receivers
  /** Milliseconds since 1970: what happened before was reported, if it was wanted. Null: nothing receives notifications. */
  readonly reportedUntil: number | null
  readonly #options: NotificationsOptions
  readonly #outbox: Outbox
  readonly #presence: Presence
  readonly #sender: Sender
  readonly #closing = new AbortController()

  constructor(options: NotificationsOptions) {
    const { stateDir, clock, log } = options
    this.#options = options
    const lastChange = lastChangeOf(options)
    this.store = new NotificationStore(join(stateDir, SETTINGS), { clock })
    this.#outbox = new Outbox(join(stateDir, OUTBOX), log.warn)
    this.#presence = new Presence(clock)
    this.receivers = new Receivers({
      ...options,
      store: this.store,
      vapid: () => vapidKeys(stateDir),
      poster: new Poster(clock, options.dispatcher, this.#closing.signal),
      statuses: this.#outbox,
      onRemoved: id => {
        this.#outbox.remove(item => item.target === id)
        this.#outbox.forget(({ target }) => target === id)
      },
    })
    this.#sender = new Sender({
      outbox: this.#outbox,
      clock,
      decide: item => this.#decide(item),
      deliver: item => this.#deliver(item),
      onDelivery: (item, delivery) => this.#noteDelivery(item, delivery),
      firstDelayMs: options.firstDelayMs ?? FIRST_DELAY_MS,
      log: log.warn,
    })
    this.reportedUntil = this.receivers.all().length === 0 ? null : lastChange
  }

  /** When something that is queued is due, such as after the quiet hours; null: nothing is. */
  nextDue(): number | null {
    return this.#outbox.nextDue()
  }

  /** Begins to send, also what an earlier process left. */
  start(): void {
    for (const { fact } of this.#outbox.notifications())
      if (fact.question_id && !this.#options.openQuestion(fact.question_id))
        this.#withdraw(fact.question_id)
    this.#sender.start()
  }

  /** Queues a fact for every receiver that wants it; does nothing when it was queued before. Never throws. */
  report(fact: Fact): void {
    const { session_id: session } = fact
    const wanting = this.receivers
      .all()
      .filter(receiver => this.#mayKnow(receiver, fact) && this.#isOn(receiver, fact))
    if (wanting.length === 0 || (session !== null && this.store.isMuted(session))) return
    const at = this.#options.clock.now()
    const due = fact.question_id === undefined ? at + SETTLE_MS : at
    const text = redact(fact.text).slice(0, MAX_TEXT)
    const ids = wanting.map(({ id }) => id)
    if (this.#outbox.add({ ...fact, text }, ids, { at, due })) this.#sender.wake(ids)
  }

  /** A question was settled: what was not sent about it is not sent any more, and what was sent is replaced. */
  onSettled(questionId: string, answeredIn?: string): void {
    this.#outbox.remove(({ fact }) => fact.question_id === questionId && fact.settled === undefined)
    this.#withdraw(questionId, answeredIn)
  }

  /** A visible page shows these sessions. False: nothing is set up, so it need not be repeated. */
  look(page: string, sessions: readonly string[], person = ''): boolean {
    this.#presence.look(page, sessions, person)
    // What waited only because the person looked at the chat is decided about again.
    if (sessions.length === 0) this.#sender.recheck()
    return this.receivers.all().length > 0
  }

  /** What a token answers; undefined when it is unknown or expired, or its device was signed out or removed. */
  tokenOf(token: string): AnswerToken | undefined {
    const answerToken = this.#outbox.find(token, this.#options.clock.now())
    return answerToken && this.receivers.find(answerToken.target) ? answerToken : undefined
  }

  /** The public half of the key pair that subscriptions are made with. */
  async publicKey(): Promise<string> {
    return (await vapidKeys(this.#options.stateDir)).publicKey
  }

  changeSettings(patch: Partial<NotificationSettings>): void {
    checkSettings(patch)
    this.store.setSettings(patch)
    this.#sender.recheck()
  }

  test(id: string): Promise<void> {
    return this.receivers.test(id, this.#options.waiting(''), of => translatorOf(of, this.#options))
  }

  /** In the language of the receiver that got a token; without one, or for one that is gone, in `browser`. */
  translator(target: string | undefined, browser: Language): Translate {
    const receiver = this.receivers.find(target ?? '')
    return receiver
      ? translatorOf(receiver, this.#options)
      : translatorFor(this.#options.language('') ?? browser)
  }

  /** Stops sending; what is queued is sent after the next start. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The server is shutting down.'))
    await this.#sender.close()
  }

  /** Replaces what receivers show of a question, except that one in which it was answered: its notification is closed. */
  #withdraw(questionId: string, answeredIn?: string): void {
    const at = this.#options.clock.now()
    const notifications = this.#outbox
      .notifications()
      .filter(({ fact }) => fact.question_id === questionId)
    if (notifications.length === 0) return
    this.#outbox.forget(({ fact }) => fact.question_id === questionId)
    for (const { target, fact } of notifications) {
      if (target === answeredIn) continue
      const key = `settled:${questionId}:${target}`
      const settled = this.#options.settledAs(
        questionId,
        fact.kind === 'question' ? 'clarify' : 'approval',
      )
      this.#outbox.add({ ...fact, key, text: '', settled }, [target], { at, due: at })
    }
    this.#sender.wake([])
  }

  /** Evaluated when the item is due, because everything may have changed since it was queued. */
  #decide({ fact, target }: Item): Decision {
    const { clock, openQuestion, titleOf, isRunning } = this.#options
    const { store, receivers } = this
    const receiver = receivers.find(target)
    const { session_id: session, question_id: question, kind, settled } = fact
    if (!receiver || !this.#mayKnow(receiver, fact)) return 'drop'
    // Without a sound, and what it replaces is shown already.
    if (settled) return 'send'
    if (!this.#isOn(receiver, fact)) return 'drop'
    if (question !== undefined && !openQuestion(question)) return 'drop'
    if (session !== null) {
      if (titleOf(session) === null || store.isMuted(session)) return 'drop'
      if (question === undefined && isRunning(session)) return 'drop'
      if (this.#presence.isWatched(session, personOf(receiver)))
        return question === undefined ? 'drop' : { until: clock.now() + WATCHED_MS }
    }
    const { urgent, quiet } = store.settings()
    const until = urgent.includes(kind) ? null : quietUntil(clock.now(), quiet)
    if (until === null) return 'send'
    return question === undefined ? 'drop' : { until }
  }

  /** Adds what only this receiver gets: tokens that answer the question. */
  #addressed(
    { fact, id, at }: Item,
    receiver: Receiver,
    { message, question, t }: { message: Message; question: Question | undefined; t: Translate },
  ): Addressed {
    const { clock, waiting, rights, openQuestion } = this.#options
    const { session_id, question_id = '' } = fact
    const isOffered =
      question && (rights?.mayAnswer(personOf(receiver), fact.profile, question) ?? true)
    const offers = isOffered ? message.offers : []
    const tokens = this.#outbox.issue(
      offers.map(({ answer }) => ({
        session_id: session_id ?? '',
        question_id,
        question: question?.kind ?? 'clarify',
        answer,
        target: receiver.id,
        by: `notification: ${this.receivers.labelOf(receiver)}`,
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
      base: this.store.settings().base_url,
      t,
      actions: offers.map(({ action, title }, index) => ({
        action,
        title,
        token: tokens[index] ?? '',
      })),
    }
  }

  async #deliver(item: Item): Promise<Delivery> {
    const { store, receivers } = this
    const options = this.#options
    const { fact, target } = item
    const receiver = receivers.find(target)
    if (!receiver) return { how: 'refused', problem: '', code: 'rejected' }
    const questionId = fact.settled === undefined ? fact.question_id : undefined
    const question = questionId ? options.openQuestion(questionId) : undefined
    const t = translatorOf(receiver, options)
    const message = toMessage(fact, {
      ...options,
      t,
      settings: store.settings(),
      chat: (fact.session_id && options.titleOf(fact.session_id)) || undefined,
      question,
    })
    return receivers.send(receiver, this.#addressed(item, receiver, { message, question, t }))
  }

  #mayKnow(receiver: Receiver, { profile }: Fact): boolean {
    return this.#options.rights?.mayKnow(personOf(receiver), profile) ?? true
  }

  #isOn(receiver: Receiver, { kind, profile }: Fact): boolean {
    const kinds = this.store.profiles()[profile] ?? this.store.settings().kinds
    return kinds.includes(kind) && (receiver.kinds?.includes(kind) ?? true)
  }

  #noteDelivery({ fact, target }: Item, delivery: Delivery): void {
    const receiver = this.receivers.find(target)
    if (!receiver) return
    this.receivers.note(receiver, delivery)
    const { question_id: question, settled } = fact
    if (delivery.how !== 'sent' || !question || settled || !canReplace(receiver)) return
    this.#outbox.show({ target, fact })
    // It was answered while this message was sent.
    if (!this.#options.openQuestion(question)) this.#withdraw(question)
  }
}
