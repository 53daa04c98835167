/** The four ways to a person: Web Push, ntfy, Gotify, and a signed webhook. Each turns a message into one request. */
import { createHmac } from 'node:crypto'
import { type Clock, toSeconds } from '../base/clock.ts'
import { directionOf } from '../base/languages.ts'
import { isPageAddress } from '../base/page-address.ts'
import { type Allow, isMetadataHost } from '../http/public-address.ts'
import type { NotificationAction, PushPayload } from '../schema/notification.ts'
import type { Message } from './message.ts'
import type { Delivery, Poster } from './post.ts'
import type { Device, Service } from './store.ts'
import type { Translate } from './texts/translate.ts'
import { loadWebPush, type VapidKeys } from './vapid.ts'

/** A message for one receiver: with tokens, and addresses if the one of the page is known. */
export type Addressed = Message & {
  /** The same for every attempt. */
  id: string
  /** Milliseconds since 1970. */
  at: number
  session_id: string | null
  profile: string
  actions: NotificationAction[]
  /** Number of open approvals and questions. */
  waiting: number
  /** Ends in `/`; empty: not known. */
  base: string
  t: Translate
}

const ANSWER_PATH = 'api/notifications/answer'
const TTL_MS = 86_400_000

/** The person's own services may be in their own network. Never the metadata service of a cloud, which has credentials. */
const anyButMetadata: Allow = address => !isMetadataHost(address)

const json = { 'content-type': 'application/json' }

/** Push services want a way to reach the sender (RFC 8292, 2.1). */
const subjectOf = (base: string): string =>
  // Earlier versions stored addresses that are none.
  base.startsWith('https://') && isPageAddress(base) ? base : 'mailto:agent-webui@example.com'

const toPayload = (message: Addressed): PushPayload => ({
  version: 1,
  kind: message.kind,
  title: message.title,
  body: message.body,
  tag: message.tag,
  url: message.url,
  waiting: message.waiting,
  actions: message.actions,
  failed: message.t('answer.not_sent'),
  lang: message.t.language,
  dir: directionOf(message.t.language),
  ...(message.isSettled && { settled: true }),
})

/** Whether an endpoint may be requested at all; its address is checked when connecting. */
export const isPushEndpoint = (text: string, allow: Allow): boolean => {
  const url = URL.parse(text)
  return url !== null && (url.protocol === 'https:' || allow(url.hostname))
}

export const sendWebPush = async (
  { subscription }: Device,
  message: Addressed,
  {
    vapid,
    poster,
    allow,
  }: {
    vapid: () => Promise<VapidKeys>
    poster: Poster
    /** Endpoints come from browsers, so only those of the public internet are requested. For tests: more. */
    allow: Allow
  },
): Promise<Delivery> => {
  if (!isPushEndpoint(subscription.endpoint, allow))
    return {
      how: 'gone',
      problem: 'Its address is not an https:// address.',
      code: 'address_blocked',
    }
  const webPush = await loadWebPush()
  const details = webPush.generateRequestDetails(subscription, JSON.stringify(toPayload(message)), {
    vapidDetails: { subject: subjectOf(message.base), ...(await vapid()) },
    TTL: toSeconds(TTL_MS),
    urgency: message.isWaiting ? 'high' : 'normal',
    topic: message.tag,
  })
  const { 'Content-Length': _, ...headers } = details.headers
  const delivery = await poster.send({
    url: details.endpoint,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `${value}`])),
    body: details.body,
    allow,
  })
  // The keys of the server are not those that the browser subscribed with.
  return delivery.how !== 'sent' && delivery.code === 'unauthorized'
    ? { ...delivery, code: 'subscription' }
    : delivery
}

const toNtfyAction = (base: string) => (action: NotificationAction) => ({
  action: 'http',
  label: action.title,
  url: `${base}${ANSWER_PATH}`,
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ token: action.token }),
  clear: true,
})

const MAX_NTFY_ACTIONS = 3

/** https://docs.ntfy.sh/publish/#publish-as-json */
const sendNtfy = ({ url, topic, secret }: Service, message: Addressed, poster: Poster) => {
  const { base } = message
  // ntfy has no field to write a text.
  const actions = message.actions.filter(({ action }) => action !== 'reply')
  return poster.send({
    url,
    headers: { ...json, ...(secret && { authorization: `Bearer ${secret}` }) },
    body: JSON.stringify({
      topic,
      title: message.title,
      message: message.body || message.title,
      priority: message.isSettled ? 1 : message.isWaiting ? 4 : 3,
      // A message with the id of an earlier one replaces it, from ntfy 2.16.
      ...((message.isWaiting || message.isSettled) && { sequence_id: message.tag }),
      ...(base && {
        click: `${base}${message.url}`,
        actions: actions.slice(0, MAX_NTFY_ACTIONS).map(toNtfyAction(base)),
      }),
    }),
    allow: anyButMetadata,
  })
}

/** https://gotify.net/docs/pushmsg. Its apps can't answer, only open a link. */
const sendGotify = ({ url, secret = '' }: Service, message: Addressed, poster: Poster) => {
  const { base } = message
  return poster.send({
    url: `${url.replace(/\/$/, '')}/message`,
    headers: { ...json, 'x-gotify-key': secret },
    body: JSON.stringify({
      title: message.title,
      message: message.body || message.title,
      priority: message.isWaiting ? 8 : 4,
      extras: {
        'client::display': { contentType: 'text/plain' },
        ...(base && { 'client::notification': { click: { url: `${base}${message.url}` } } }),
      },
    }),
    allow: anyButMetadata,
  })
}

/** The signature of Standard Webhooks: HMAC-SHA256 over id, timestamp and body, with the decoded key. */
export const signWebhook = (
  secret: string,
  id: string,
  timestamp: number,
  body: string,
): string => {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

/** The time is that of this attempt, so that a receiver can refuse old requests; the id is that of the notification. */
const sendWebhook = (
  { url, secret = '' }: Service,
  message: Addressed,
  poster: Poster,
  clock: Clock,
) => {
  const { base, id } = message
  const timestamp = Math.floor(toSeconds(clock.now()))
  const body = JSON.stringify({
    type: message.kind,
    timestamp: new Date(message.at - (message.at % 1_000)).toISOString(),
    data: {
      title: message.title,
      body: message.body,
      session_id: message.session_id,
      profile: message.profile,
      url: base ? `${base}${message.url}` : null,
      waiting: message.waiting,
      answer_url: base && message.actions.length > 0 ? `${base}${ANSWER_PATH}` : null,
      actions: message.actions,
    },
  })
  return poster.send({
    url,
    headers: {
      ...json,
      'webhook-id': id,
      'webhook-timestamp': `${timestamp}`,
      'webhook-signature': signWebhook(secret, id, timestamp, body),
    },
    body,
    allow: anyButMetadata,
  })
}

/** Whether a message that is sent to it later can replace this one. */
export const canReplace = (receiver: Device | Service): boolean =>
  'subscription' in receiver || receiver.type === 'ntfy'

/** A configured service that is missing may come back, so it is never `gone`. */
export const sendToService = async (
  service: Service,
  message: Addressed,
  { poster, clock }: { poster: Poster; clock: Clock },
): Promise<Delivery> => {
  const send = () => {
    if (service.type === 'ntfy') return sendNtfy(service, message, poster)
    if (service.type === 'gotify') return sendGotify(service, message, poster)
    return sendWebhook(service, message, poster, clock)
  }
  const delivery = await send()
  return delivery.how === 'gone' ? { ...delivery, how: 'refused' } : delivery
}
