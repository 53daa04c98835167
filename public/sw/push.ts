/** The part of the service worker that shows notifications and sends answers given in them. The entry of the worker calls `listenForPush` once. */
import { asObject, isObject } from '../../lib/base/json.ts'
import type { NotificationAction, PushPayload } from '../../lib/schema/notification.ts'
import { knownEndpoint, rememberEndpoint } from './push-endpoint.ts'

type WorkerNotification = {
  readonly data: unknown
  readonly tag: string
  close(): void
}
type WorkerClient = { readonly url: string; readonly visibilityState: string } & {
  focus(): Promise<unknown>
  navigate(url: string): Promise<unknown>
}
type Extended = { waitUntil(work: Promise<unknown>): void }
type PushEvent = Extended & { readonly data: { json(): unknown } | null }
type ClickEvent = Extended & {
  readonly notification: WorkerNotification
  readonly action: string
  /** Text typed into the notification, where the system allows it. */
  readonly reply?: string | null
}
type ChangeEvent = Extended & {
  readonly oldSubscription: PushSubscription | null
  readonly newSubscription: PushSubscription | null
}

/** The members of ServiceWorkerGlobalScope that are used here; TypeScript's `webworker` library excludes that of the page. */
export type PushScope = {
  addEventListener(type: 'push', listener: (event: PushEvent) => void): void
  addEventListener(type: 'notificationclick', listener: (event: ClickEvent) => void): void
  addEventListener(type: 'pushsubscriptionchange', listener: (event: ChangeEvent) => void): void
  readonly registration: {
    readonly scope: string
    readonly pushManager: PushManager
    showNotification(title: string, options: Record<string, unknown>): Promise<void>
  }
  readonly clients: {
    matchAll(options: object): Promise<readonly WorkerClient[]>
    openWindow(url: string): Promise<unknown>
  }
  readonly navigator: {
    setAppBadge?(count: number): Promise<void>
    clearAppBadge?(): Promise<void>
  }
  readonly caches: CacheStorage
  fetch(url: string, init: RequestInit): Promise<Response>
}

const ICON = 'static/icon-192.png'

const isPayload = (value: unknown): value is PushPayload =>
  isObject(value) && 'title' in value && 'url' in value

const toPayload = (event: PushEvent): PushPayload | null => {
  try {
    const value = event.data?.json()
    return isPayload(value) ? value : null
  } catch {
    // Not ours: the browser's vendor may send a message of its own.
    return null
  }
}

/** The names under which the system reports which button was pressed: several choices have the same kind. */
const nameOf = (at: number): string => `answer-${at}`

const badge = async (worker: PushScope, waiting: number): Promise<void> => {
  const { navigator } = worker
  if (waiting > 0) await navigator.setAppBadge?.(waiting)
  else await navigator.clearAppBadge?.()
}

const show = async (worker: PushScope, payload: PushPayload): Promise<void> => {
  const base = worker.registration.scope
  await worker.registration.showNotification(payload.title, {
    body: payload.body,
    tag: payload.tag,
    lang: payload.lang,
    dir: payload.dir,
    // A second question of the same turn must not arrive unnoticed; that the first one is settled needs no one.
    renotify: !payload.settled,
    silent: payload.settled === true,
    requireInteraction: payload.actions.length > 0,
    icon: new URL(ICON, base).href,
    data: payload,
    actions: payload.actions.map(({ action, title }, at) => ({
      action: nameOf(at),
      title,
      ...(action === 'reply' && { type: 'text', placeholder: title }),
    })),
  })
  // Where the app is not installed, there is no badge.
  await badge(worker, payload.waiting).catch(() => undefined)
}

/** Shows a page of ours at this address: one that is open already, else a new one. */
const open = async (worker: PushScope, url: string): Promise<void> => {
  const target = new URL(url, worker.registration.scope).href
  const pages = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const page =
    pages.find(each => each.url === target) ??
    pages.find(each => each.visibilityState === 'visible') ??
    pages[0]
  if (!page) return void (await worker.clients.openWindow(target))
  await page.focus()
  if (page.url !== target) await page.navigate(target)
}

const call = (worker: PushScope, path: string, init: RequestInit): Promise<Response> =>
  worker.fetch(new URL(path, worker.registration.scope).href, init)

const post = (worker: PushScope, path: string, body: object): Promise<Response> =>
  call(worker, path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Sends an answer; shows a notification when it did not count: with the same buttons where it can be given again. */
const answer = async (
  worker: PushScope,
  payload: PushPayload,
  { token }: NotificationAction,
  text: string | null | undefined,
): Promise<void> => {
  const reply = await post(worker, 'api/notifications/answer', {
    token,
    ...(text && { text }),
  }).catch(() => null)
  if (reply?.ok) return
  if (!reply || reply.status >= 500)
    return await show(worker, { ...payload, body: `${payload.failed}\n${payload.body}` })
  const { error } = asObject(await reply.json().catch(() => null))
  const body = typeof error === 'string' ? error : payload.failed
  await show(worker, { ...payload, body, actions: [] })
}

const onClick = async (worker: PushScope, event: ClickEvent): Promise<void> => {
  const { data } = event.notification
  event.notification.close()
  if (!isPayload(data)) return open(worker, '')
  const pressed = data.actions.find((_, at) => nameOf(at) === event.action)
  // A browser without text fields in notifications reports the button alone: the answer is written in the chat.
  if (!pressed || (pressed.action === 'reply' && !event.reply)) return open(worker, data.url)
  await answer(worker, data, pressed, event.reply)
}

const serverKey = async (worker: PushScope): Promise<string> =>
  ((await (await call(worker, 'api/notifications/key', {})).json()) as { key: string }).key

/** The browser replaced its subscription: the server gets the new one in place of the old one, if it has that still. */
const renew = async (worker: PushScope, event: ChangeEvent): Promise<void> => {
  const { oldSubscription: old, newSubscription } = event
  const { caches, registration } = worker
  const replaces = old?.endpoint ?? (await knownEndpoint(caches, registration.scope))
  const subscription =
    newSubscription ??
    (await registration.pushManager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: old?.options.applicationServerKey ?? (await serverKey(worker)),
    }))
  const reply = await post(worker, 'api/notifications/devices', {
    subscription: subscription.toJSON(),
    replaces,
    refresh: true,
  })
  // The page tries again with the one that the server knows.
  if (reply.ok) await rememberEndpoint(caches, registration.scope, subscription.endpoint)
}

/** Call while the worker's script is evaluated: a worker that was started by a message has no other time to listen. */
export const listenForPush = (worker: PushScope): void => {
  worker.addEventListener('push', event => {
    const payload = toPayload(event)
    if (payload) event.waitUntil(show(worker, payload))
  })
  worker.addEventListener('notificationclick', event => event.waitUntil(onClick(worker, event)))
  worker.addEventListener('pushsubscriptionchange', event => event.waitUntil(renew(worker, event)))
}
