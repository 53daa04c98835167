/** Devices and services: delivering to one, what became of it, and removing one that has ended its subscription. */
import { type Clock, toSeconds } from '../base/clock.ts'
import { invalid, missing, unavailable } from '../errors.ts'
import { type Allow, checkUrl, isMetadataHost } from '../http/public-address.ts'
import type { NotificationDevice, NotificationService } from '../schema/notification.ts'
import { type Addressed, isPushEndpoint, sendToService, sendWebPush } from './channels.ts'
import type { Outbox } from './outbox.ts'
import type { Delivery, Post } from './post.ts'
import type { Device, NewService, NotificationStore, Service, Subscription } from './store.ts'
import type { Translate } from './texts/translate.ts'
import type { VapidKeys } from './vapid.ts'

export type Receiver = Device | Service

/** Id of the person who reads what it receives. Empty: the first owner, who has the services. */
export const personOf = (receiver: Receiver): string =>
  ('subscription' in receiver && receiver.person) || ''

export type ReceiversOptions = {
  store: NotificationStore
  post: Post
  vapid: () => Promise<VapidKeys>
  clock: Clock
  redact: (text: string) => string
  allowPush: Allow
  statuses: Pick<Outbox, 'statusOf' | 'setStatus'>
  onRemoved: (id: string) => void
  log: { info: (message: string) => void; warn: (message: string) => void }
}

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

export const createReceivers = (options: ReceiversOptions) => {
  const { store, post, vapid, clock, redact, allowPush: allow, statuses, onRemoved, log } = options

  const all = (): readonly Receiver[] => [...store.devices(), ...store.services()]
  const find = (id: string): Receiver | undefined => all().find(each => each.id === id)
  const labelOf = (receiver: Receiver): string =>
    'subscription' in receiver ? receiver.name : receiver.type

  const remove = (id: string): boolean => {
    const isFound = store.remove(id)
    onRemoved(id)
    statuses.setStatus(id, null)
    return isFound
  }

  const send = (receiver: Receiver, message: Addressed): Promise<Delivery> =>
    'subscription' in receiver
      ? sendWebPush(receiver, message, { vapid, post, allow })
      : sendToService(receiver, message, { post, clock })

  /** Records what became of a message. */
  const note = (receiver: Receiver, delivery: Delivery): void => {
    if (delivery.how === 'gone') {
      log.info(`notifications: ${labelOf(receiver)} has ended its subscription`)
      remove(receiver.id)
    } else if (delivery.how === 'sent') {
      const last_sent_at = Math.floor(toSeconds(clock.now()))
      statuses.setStatus(receiver.id, { last_sent_at, problem: null, problem_code: null })
    } else {
      const before = statuses.statusOf(receiver.id)
      const problem = redact(delivery.problem)
      if (before.problem !== problem) log.warn(`notifications: ${labelOf(receiver)}: ${problem}`)
      statuses.setStatus(receiver.id, { ...before, problem, problem_code: delivery.code })
    }
  }

  return {
    all,
    find,
    labelOf,
    send,
    note,

    devices: (): NotificationDevice[] =>
      store
        .devices()
        .map(({ subscription, sign_in: _, language: _language, person: _person, ...device }) => ({
          ...device,
          service: new URL(subscription.endpoint).host,
          ...statuses.statusOf(device.id),
        })),

    services: (): NotificationService[] =>
      store.services().map(({ secret, language: _, ...service }) => ({
        ...service,
        has_secret: secret !== undefined,
        ...statuses.statusOf(service.id),
      })),

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
      if (from.refresh && !store.isKnown(subscription, from)) return
      if (!isPushEndpoint(subscription.endpoint, allow))
        throw invalid('The address of a push service begins with https://.', {
          code: 'invalid_address',
        })
      checkUrl(subscription.endpoint, allow)
      store.addDevice(subscription, from)
    },

    /** `secret`: the signing key that was made for a webhook. */
    addService(given: NewService): { service: Service; secret: string | null } {
      checkService(given)
      return store.addService(given)
    },

    remove(id: string): void {
      if (!remove(id)) throw notFound()
    },

    /** Sends a message at once and waits for the result; throws when it failed. */
    async test(id: string, waiting: number, translatorOf: (of: Receiver) => Translate) {
      const receiver = find(id)
      if (!receiver) throw notFound()
      const t = translatorOf(receiver)
      const message = {
        ...TEST,
        id: `test-${clock.now()}`,
        at: clock.now(),
        title: t('title.test'),
        body: t('body.test'),
        waiting,
        base: store.settings().base_url,
        t,
        offers: [],
        actions: [],
      }
      const delivery = await send(receiver, message)
      note(receiver, delivery)
      if (delivery.how !== 'sent')
        throw unavailable(redact(delivery.problem), {
          code: 'notification_failed',
          values: { reason: redact(delivery.problem) },
        })
    },
  }
}
