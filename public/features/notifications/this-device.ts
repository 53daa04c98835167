/** Web Push in this browser: whether it can receive messages, and its subscription. */
import type { Api } from '../../../router.ts'
import type { Shell } from '../shell/shell-state.ts'
import { deviceName } from '../identity/device-name.ts'
import { forgetEndpoint, knownEndpoint, rememberEndpoint } from '../../sw/push-endpoint.ts'
import { t } from './strings.ts'

export type NotificationState = Api['GET /api/notifications']['output']
type Call = Shell

/** How long the service worker may take to become ready. */
const READY_MS = 10_000

export type Support = 'ok' | 'blocked' | 'insecure' | 'install' | 'unsupported'

export const supportHere = (): Support => {
  if (!isSecureContext) return 'insecure'
  if (!('PushManager' in window) || !('Notification' in window))
    return /iPhone|iPad/.test(navigator.userAgent) ? 'install' : 'unsupported'
  return Notification.permission === 'denied' ? 'blocked' : 'ok'
}

const subscriptionHere = async (): Promise<PushSubscription | null> => {
  if (supportHere() !== 'ok') return null
  const registration = await navigator.serviceWorker.getRegistration()
  return (await registration?.pushManager.getSubscription()) ?? null
}

/** The same id as the server's: the start of the endpoint's SHA-256. */
const idOf = async ({ endpoint }: PushSubscription): Promise<string> => {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint))
  return [...new Uint8Array(digest).slice(0, 8)]
    .map(byte => byte.toString(16).padStart(2, '0'))
    .join('')
}

/** The id of this device; null while it has no subscription. */
export const deviceHere = async (): Promise<string | null> => {
  const subscription = await subscriptionHere()
  return subscription && idOf(subscription)
}

/** The browser's subscription as JSON; its types allow missing fields. */
const toBody = (subscription: PushSubscription) => {
  const { keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON()
  return {
    subscription: { endpoint: subscription.endpoint, keys: { p256dh, auth } },
    name: deviceName(navigator.userAgent),
  }
}

const ready = ({ platform }: Call): Promise<ServiceWorkerRegistration> =>
  new Promise((resolve, reject) => {
    platform.clock.timer(READY_MS, () => reject(new Error(t('notify.not.ready'))))
    void navigator.serviceWorker.ready.then(resolve)
  })

const base = (): string => new URL('.', document.baseURI).href

const subscribe = async (
  { pushManager }: ServiceWorkerRegistration,
  { api }: Call,
): Promise<PushSubscription> => {
  const { key } = await api('GET /api/notifications/key')
  // One that was made with another key of the server cannot be used.
  await (await pushManager.getSubscription())?.unsubscribe()
  return pushManager
    .subscribe({ userVisibleOnly: true, applicationServerKey: key })
    .catch((error: unknown) => {
      // The browser's own words name none of what the person can do.
      throw new Error(t('notify.no.service'), { cause: error })
    })
}

/** Asks for the permission, which browsers allow only after a click, and subscribes. */
export const subscribeHere = async (call: Call): Promise<NotificationState> => {
  const permission = await Notification.requestPermission()
  if (permission !== 'granted')
    throw new Error(t(permission === 'denied' ? 'notify.blocked' : 'notify.dismissed'))
  const subscription = await subscribe(await ready(call), call)
  const state = await call.api('POST /api/notifications/devices', toBody(subscription))
  await rememberEndpoint(caches, base(), subscription.endpoint)
  return state
}

export const unsubscribeHere = async (): Promise<void> => {
  await forgetEndpoint(caches, base())
  await (await subscriptionHere())?.unsubscribe()
}

/** Binds the subscription to the current sign-in, also one that replaces a lost one; ends it when the device was removed. */
export const refreshHere = async (call: Call): Promise<void> => {
  if (supportHere() !== 'ok' || Notification.permission !== 'granted') return
  const replaces = await knownEndpoint(caches, base())
  const existing = await subscriptionHere()
  if (!existing && replaces === undefined) return
  const subscription = existing ?? (await subscribe(await ready(call), call))
  const { devices } = await call.api('POST /api/notifications/devices', {
    ...toBody(subscription),
    replaces,
    refresh: true,
  })
  const id = await idOf(subscription)
  if (devices.some(device => device.id === id))
    await rememberEndpoint(caches, base(), subscription.endpoint)
  else await unsubscribeHere()
}
