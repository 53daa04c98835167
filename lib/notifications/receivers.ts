/** Devices and services: delivering to one, what became of it, and removing one that has ended its subscription. */
import { redact } from '../base/redact/redact.ts'
import { type Clock, toSeconds } from '../base/clock.ts'
import { invalid, missing, unavailable } from '../errors.ts'
import { type Allow, checkUrl, isMetadataHost } from '../http/public-address.ts'
import type { NotificationDevice, NotificationService } from '../schema/notification.ts'
import { type Addressed, isPushEndpoint, sendToService, sendWebPush } from './channels.ts'
import type { Outbox } from './outbox.ts'
import type { Delivery, Poster } from './post.ts'
import type { Device, NewService, NotificationStore, Service, Subscription } from './store.ts'
import type { Translate } from './texts/translate.ts'
import type { VapidKeys } from './vapid.ts'

export type Receiver = Device | Service

/** Id of the person who reads what it receives. Empty: the first owner, who has the services. */
export const personOf = (receiver: Receiver): string =>
  ('subscription' in receiver && receiver.person) || ''

const notFound = () =>
  missing('There is no such device or service. Reload the page.', { code: 'receiver_not_found' })

const checkService = ({ type, url, topic, secret }: NewService): void => {
  checkUrl(url, host => !isMetadataHost(host))
  if (type === 'ntfy' && !/^[\w-]{1,64}$/.test(topic ?? ''))
    throw invalid('A topic of ntfy has letters, digits, - and _ only, 64 at most.', {
      code: 'invalid_topic',
    })
  if (type === 'gotify' && !secret)
    throw invalid('Enter the token of the Gotify application.', { code: 'gotify_token_missing' })
  if (secret && !/^[\x21-\x7e]{1,500}$/.test(secret))
    throw invalid('A token has no spaces or special characters.', { code: 'invalid_token' })
}

const TEST = {
  kind: 'finished',
  tag: 'test',
  url: '',
  isWaiting: false,
  isSettled: false,
  offers: [],
  actions: [],
  session_id: null,
  profile: '',
} as const

export class Receivers {
  readonly #options

  constructor(options: {
    store: NotificationStore
    poster: Poster
    vapid: () => Promise<VapidKeys>
    clock: Clock
    allowPush: Allow
    statuses: Outbox
    onRemoved: (id: string) => void
    log: { info: (message: string) => void; warn: (message: string) => void }
  }) {
    this.#options = options
  }

  all(): readonly Receiver[] {
    return [...this.#options.store.devices(), ...this.#options.store.services()]
  }

  find(id: string): Receiver | undefined {
    return this.all().find(each => each.id === id)
  }

  labelOf(receiver: Receiver): string {
    return 'subscription' in receiver ? receiver.name : receiver.type
  }

  send(receiver: Receiver, message: Addressed): Promise<Delivery> {
    return 'subscription' in receiver
      ? sendWebPush(receiver, message, {
          vapid: this.#options.vapid,
          poster: this.#options.poster,
          allow: this.#options.allowPush,
        })
      : sendToService(receiver, message, {
          poster: this.#options.poster,
          clock: this.#options.clock,
        })
  }

  /** Records what became of a message. */
  note(receiver: Receiver, delivery: Delivery): void {
    if (delivery.how === 'gone') {
      this.#options.log.info(`notifications: ${this.labelOf(receiver)} has ended its subscription`)
      this.#remove(receiver.id)
    } else if (delivery.how === 'sent') {
      const last_sent_at = Math.floor(toSeconds(this.#options.clock.now()))
      this.#options.statuses.setStatus(receiver.id, {
        last_sent_at,
        problem: null,
        problem_code: null,
      })
    } else {
      const before = this.#options.statuses.statusOf(receiver.id)
      const problem = redact(delivery.problem)
      if (before.problem !== problem)
        this.#options.log.warn(`notifications: ${this.labelOf(receiver)}: ${problem}`)
      this.#options.statuses.setStatus(receiver.id, {
        ...before,
        problem,
        problem_code: delivery.code,
      })
    }
  }

  devices(): NotificationDevice[] {
    return this.#options.store
      .devices()
      .map(({ subscription, sign_in: _, language: _language, person: _person, ...device }) => ({
        ...device,
        service: new URL(subscription.endpoint).host,
        ...this.#options.statuses.statusOf(device.id),
      }))
  }

  services(): NotificationService[] {
    return this.#options.store.services().map(({ secret, language: _, ...service }) => ({
      ...service,
      has_secret: secret !== undefined,
      ...this.#options.statuses.statusOf(service.id),
    }))
  }

  subscribe(
    subscription: Subscription,
    from: {
      name: string
      signIn: string | null
      language?: string | undefined
      person?: string
      replaces?: string | undefined
      /** A device that is not known is not added. */
      refresh?: boolean
    },
  ): void {
    if (from.refresh && !this.#options.store.isKnown(subscription, from)) return
    if (!isPushEndpoint(subscription.endpoint, this.#options.allowPush))
      throw invalid('The address of a push service begins with https://.', {
        code: 'invalid_address',
      })
    checkUrl(subscription.endpoint, this.#options.allowPush)
    this.#options.store.addDevice(subscription, from)
  }

  /** `secret`: the signing key that was made for a webhook. */
  addService(input: NewService): { service: Service; secret: string | null } {
    checkService(input)
    return this.#options.store.addService(input)
  }

  remove(id: string): void {
    if (!this.#remove(id)) throw notFound()
  }

  /** Sends a message at once and waits for the result; throws when it failed. */
  async test(id: string, waiting: number, translatorOf: (of: Receiver) => Translate) {
    const receiver = this.find(id)
    if (!receiver) throw notFound()
    const t = translatorOf(receiver)
    const message = {
      ...TEST,
      id: `test-${this.#options.clock.now()}`,
      at: this.#options.clock.now(),
      title: t('title.test'),
      body: t('body.test'),
      waiting,
      base: this.#options.store.settings().base_url,
      t,
      offers: [],
      actions: [],
    }
    const delivery = await this.send(receiver, message)
    this.note(receiver, delivery)
    if (delivery.how !== 'sent')
      throw unavailable(redact(delivery.problem), {
        code: 'notification_failed',
        values: { reason: redact(delivery.problem) },
      })
  }

  #remove(id: string): boolean {
    const isFound = this.#options.store.remove(id)
    this.#options.onRemoved(id)
    this.#options.statuses.setStatus(id, null)
    return isFound
  }
}
