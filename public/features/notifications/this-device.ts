/** Web Push in this browser: whether it can receive messages, and its subscription. */
import type { Api } from '../../../router.ts'
import type { App } from '../../app.ts'
import { deviceName } from '../identity/device-name.ts'
import { t } from './strings.ts'

export type NotificationState = Api['GET /api/notifications']['output']
type Call = Pick<App, 'api'>

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

const ready = (): Promise<ServiceWorkerRegistration> =>
  Promise.race([
    navigator.serviceWorker.ready,
    new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error(t('notify.not.ready'))), READY_MS),
    ),
  ])

/** Asks for the permission, which browsers allow only after a click, and subscribes. */
export const subscribeHere = async ({ api }: Call): Promise<NotificationState> => {
  if ((await Notification.requestPermission()) !== 'granted') throw new Error(t('notify.blocked'))
  const { pushManager } = await ready()
  const { key } = await api('GET /api/notifications/key')
  // One that was made with another key of the server cannot be used.
  await (await pushManager.getSubscription())?.unsubscribe()
  const subscription = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: key,
  })
  return api('POST /api/notifications/devices', toBody(subscription))
}

export const unsubscribeHere = async (): Promise<void> => {
  await (await subscriptionHere())?.unsubscribe()
}

/** Binds the subscription to the current sign-in; ends it when the device was removed. */
export const refreshHere = async ({ api }: Call): Promise<void> => {
  const subscription = await subscriptionHere()
  if (!subscription) return
  const body = { ...toBody(subscription), refresh: true }
  const { devices } = await api('POST /api/notifications/devices', body)
  const id = await idOf(subscription)
  if (!devices.some(device => device.id === id)) await subscription.unsubscribe()
}
