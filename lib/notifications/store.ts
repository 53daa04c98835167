/** The private file of notifications: settings, devices with their keys, services with their secrets, and muted chats. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../base/sha256.ts'
import { z } from 'zod'
import { type Clock, toSeconds } from '../base/clock.ts'
import { zoneOf } from '../base/time-zone.ts'
import { conflict, missing, unavailable } from '../errors.ts'
import { refreshSecrets } from '../base/redact/redact.ts'
import {
  NotificationKind,
  NotificationServiceType,
  NotificationSettings,
} from '../schema/notification.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

/** Its name in the state directory. */
export const SETTINGS = 'notifications.json'

const MAX_DEVICES = 30
const MAX_SERVICES = 10
const MAX_MUTED = 2_000

/** A subscription of a browser, as `PushSubscription.toJSON` writes it. */
export const Subscription = z.object({
  endpoint: z.string().max(2_000),
  keys: z.object({
    p256dh: z.string().regex(/^[\w-]{80,100}=*$/),
    auth: z.string().regex(/^[\w-]{20,30}=*$/),
  }),
})
export type Subscription = z.infer<typeof Subscription>

const Kinds = z.array(NotificationKind).nullable()

const Device = z.object({
  id: z.string(),
  name: z.string(),
  created_at: z.number(),
  subscription: Subscription,
  /** The id of the sign-in that it was made with; null while the server has no password. */
  sign_in: z.string().nullable(),
  /** Id of the person; absent: the first owner. */
  person: z.string().optional(),
  kinds: Kinds,
  /** The language of its browser. Absent in files of earlier versions. */
  language: z.string().optional(),
})
export type Device = z.infer<typeof Device>

const Service = z.object({
  id: z.string(),
  type: NotificationServiceType,
  url: z.string(),
  topic: z.string().optional(),
  /** Access token of ntfy, application token of Gotify, signing key of a webhook. */
  secret: z.string().optional(),
  kinds: Kinds,
  /** That of the browser in which it was added. Absent in files of earlier versions. */
  language: z.string().optional(),
})
export type Service = z.infer<typeof Service>

export const NotificationsFile = z.object({
  version: z.literal(1),
  settings: NotificationSettings.partial(),
  /** Kinds of a profile, in place of those of the settings. */
  profiles: z.record(z.string(), z.array(NotificationKind)),
  muted: z.array(z.string()),
  devices: z.array(Device),
  services: z.array(Service),
})
type NotificationsFile = z.infer<typeof NotificationsFile>

const NONE: NotificationsFile = {
  version: 1,
  settings: {},
  profiles: {},
  muted: [],
  devices: [],
  services: [],
}

const defaults = (): NotificationSettings => ({
  kinds: ['approval', 'question', 'finished', 'failed', 'budget', 'task_failed'],
  content: true,
  quiet: { enabled: false, from: '22:00', to: '07:00', zone: zoneOf(undefined) },
  urgent: [],
  allow_risky: false,
  base_url: '',
})

/** The page computes the same id from its own subscription. */
const deviceId = (endpoint: string): string => sha256(endpoint).slice(0, 16)

const signingKey = (): string => `whsec_${randomBytes(32).toString('base64')}`

export type NewService = Pick<Service, 'type' | 'url' | 'topic' | 'secret' | 'language'>

/** `replaces`: the endpoint of the subscription that this one follows. */
type From = { signIn: string | null; replaces?: string | undefined }

/**
 * Whether a device is the browser of a subscription. Several may be: the page and its service worker report a new subscription
 * independently. A sign-in is one browser's, and a browser has one subscription, so it need not know its former one.
 */
const isFrom =
  ({ endpoint }: Subscription, { signIn, replaces }: From) =>
  ({ id, subscription, sign_in }: Device): boolean =>
    id === deviceId(endpoint) ||
    subscription.endpoint === replaces ||
    (signIn !== null && sign_in === signIn)

/** With an unreadable file nothing is sent, and the file is not replaced. */
export class NotificationStore {
  readonly #path: string
  readonly #clock: Clock
  readonly #fileState
  #state
  #secrets: readonly string[] = []

  constructor(path: string, { clock }: { clock: Clock }) {
    this.#path = path
    this.#clock = clock
    this.#fileState = this.#read()
    this.#state = this.#fileState === 'damaged' ? NONE : this.#fileState
    this.#collectSecrets()
  }

  settings(): NotificationSettings {
    return { ...defaults(), ...this.#state.settings }
  }

  profiles(): NotificationsFile['profiles'] {
    return this.#state.profiles
  }

  devices(): readonly Device[] {
    return this.#state.devices
  }

  services(): readonly Service[] {
    return this.#state.services
  }

  isMuted(sessionId: string): boolean {
    return this.#state.muted.includes(sessionId)
  }

  muted(): readonly string[] {
    return this.#state.muted
  }

  /** Values that are masked in every text. The same array while nothing has changed. */
  secrets(): readonly string[] {
    return this.#secrets
  }

  setSettings(patch: Partial<NotificationSettings>): void {
    this.#write({ settings: { ...this.#state.settings, ...patch } })
  }

  /** Null: the profile has no kinds of its own. */
  setProfile(name: string, kinds: readonly NotificationKind[] | null): void {
    const { [name]: _, ...others } = this.#state.profiles
    this.#write({ profiles: kinds === null ? others : { ...others, [name]: [...kinds] } })
  }

  mute(sessionId: string, muted: boolean): void {
    if (muted === this.#state.muted.includes(sessionId)) return
    const others = this.#state.muted.filter(id => id !== sessionId)
    this.#write({ muted: muted ? [...others, sessionId].slice(-MAX_MUTED) : others })
  }

  isKnown(subscription: Subscription, from: From): boolean {
    return this.#state.devices.some(isFrom(subscription, from))
  }

  /** The same browser again keeps its choices. */
  addDevice(
    subscription: Subscription,
    from: From & { name: string; language?: string | undefined; person?: string },
  ): Device {
    const id = deviceId(subscription.endpoint)
    const isSame = isFrom(subscription, from)
    const before = this.#state.devices.find(isSame)
    const others = this.#state.devices.filter(each => !isSame(each))
    if (others.length >= MAX_DEVICES)
      throw conflict(`${MAX_DEVICES} devices receive notifications already. Remove one first.`, {
        code: 'too_many_devices',
        values: { max: MAX_DEVICES },
      })
    const device: Device = {
      id,
      name: from.name || before?.name || 'Browser',
      created_at: before?.created_at ?? Math.floor(toSeconds(this.#clock.now())),
      subscription,
      sign_in: from.signIn,
      ...(from.person && { person: from.person }),
      kinds: before?.kinds ?? null,
      language: from.language ?? before?.language,
    }
    this.#write({ devices: [...others, device] })
    return device
  }

  /** The signing key of a webhook is made here; `secret` is what the person must copy, if anything. */
  addService(input: NewService): { service: Service; secret: string | null } {
    if (this.#state.services.length >= MAX_SERVICES)
      throw conflict(`There are ${MAX_SERVICES} services already. Remove one first.`, {
        code: 'too_many_services',
        values: { max: MAX_SERVICES },
      })
    const secret = input.type === 'webhook' ? signingKey() : input.secret || undefined
    const service: Service = {
      id: randomBytes(8).toString('hex'),
      type: input.type,
      url: input.url,
      ...(input.type === 'ntfy' && { topic: input.topic ?? '' }),
      ...(secret !== undefined && { secret }),
      kinds: null,
      language: input.language,
    }
    this.#write({ services: [...this.#state.services, service] })
    return { service, secret: input.type === 'webhook' ? (secret ?? null) : null }
  }

  setKinds(id: string, kinds: readonly NotificationKind[] | null): void {
    if (![...this.#state.devices, ...this.#state.services].some(each => each.id === id))
      throw this.#notFound()
    const change = <T extends { id: string }>(each: T): T =>
      each.id === id ? { ...each, kinds: kinds && [...kinds] } : each
    this.#write({
      devices: this.#state.devices.map(change),
      services: this.#state.services.map(change),
    })
  }

  /** False when there is none with this id. */
  remove(id: string): boolean {
    const devices = this.#state.devices.filter(each => each.id !== id)
    const services = this.#state.services.filter(each => each.id !== id)
    const isFound =
      devices.length < this.#state.devices.length || services.length < this.#state.services.length
    if (isFound) this.#write({ devices, services })
    return isFound
  }

  /** Removes the devices of ended sign-ins. */
  removeDevicesOf(isEnded: (signIn: string | null, person: string) => boolean): void {
    const devices = this.#state.devices.filter(each => !isEnded(each.sign_in, each.person ?? ''))
    if (devices.length < this.#state.devices.length) this.#write({ devices })
  }

  #read(): NotificationsFile | 'damaged' {
    try {
      return NotificationsFile.parse(JSON.parse(readWholeText(this.#path)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NONE
      return 'damaged'
    }
  }

  #collectSecrets(): void {
    this.#secrets = [
      ...this.#state.services.flatMap(({ secret }) => secret ?? []),
      ...this.#state.devices.flatMap(({ subscription }) => [
        subscription.endpoint,
        subscription.keys.auth,
      ]),
    ]
    refreshSecrets()
  }

  #write(patch: Partial<NotificationsFile>): void {
    if (this.#fileState === 'damaged')
      throw unavailable(`${this.#path} is damaged. Repair or remove it, then restart the server.`, {
        code: 'file_damaged',
        values: { path: this.#path },
      })
    const next = { ...this.#state, ...patch }
    writeAtomic(this.#path, `${JSON.stringify(next, null, 1)}\n`)
    this.#state = next
    this.#collectSecrets()
  }

  #notFound() {
    return missing('There is no such device or service. Reload the page.', {
      code: 'receiver_not_found',
    })
  }
}
