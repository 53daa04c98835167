/** The part of the service worker that shows notifications and sends answers, with the worker's functions replaced. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { PushPayload } from '../../lib/schema/notification.ts'
import { listenForPush, type PushScope } from '../../public/sw/push.ts'

const test = suite('push messages in the service worker')

const SCOPE = 'https://agent.example/base/'
const PAYLOAD: PushPayload = {
  version: 1,
  kind: 'approval',
  title: 'Deploy',
  body: 'rm -rf build',
  tag: 'q1',
  url: 'session/s1',
  waiting: 2,
  actions: [
    { action: 'allow', title: 'Allow once', token: 't-allow' },
    { action: 'deny', title: 'Deny', token: 't-deny' },
  ],
  failed: 'Couldn’t send your answer.',
}

type Shown = {
  title: string
  options: { body: string; actions: unknown[]; data: PushPayload } & Record<string, unknown>
}

/** A cache that has at most one entry. */
const cachesWith = (stored: string | undefined) => {
  let text = stored
  return {
    match: async () => (text === undefined ? undefined : new Response(text)),
    open: async () => ({
      put: async (_: string, entry: Response) => {
        text = await entry.text()
      },
    }),
    stored: () => text,
  }
}

const createWorker = (
  reply: () => Promise<Response>,
  { endpoint }: { endpoint?: string | undefined } = {},
) => {
  const caches = cachesWith(endpoint)
  const shown: Shown[] = []
  const sent: { url: string; body: unknown }[] = []
  const opened: string[] = []
  const badges: number[] = []
  const listeners = new Map<string, (event: never) => void>()
  const worker = {
    addEventListener: (type: string, listener: (event: never) => void) =>
      void listeners.set(type, listener),
    registration: {
      scope: SCOPE,
      pushManager: {
        subscribe: async ({ applicationServerKey }: { applicationServerKey: string }) => ({
          endpoint: 'https://push.example/new',
          toJSON: () => ({ endpoint: 'https://push.example/new', key: applicationServerKey }),
        }),
      },
      showNotification: async (title: string, options: Shown['options']) =>
        void shown.push({ title, options }),
    },
    clients: {
      matchAll: async () => [],
      openWindow: async (url: string) => void opened.push(url),
    },
    navigator: {
      setAppBadge: async (count: number) => void badges.push(count),
      clearAppBadge: async () => void badges.push(0),
    },
    caches,
    async fetch(url: string, { body }: { body?: string }) {
      if (url.endsWith('/key')) return Response.json({ key: 'server-key' })
      sent.push({ url, body: JSON.parse(body ?? '') })
      return reply()
    },
  }
  listenForPush(worker as unknown as PushScope)
  const dispatch = async (type: string, event: object) => {
    const work: Promise<unknown>[] = []
    listeners.get(type)?.({
      ...event,
      waitUntil: (each: Promise<unknown>) => work.push(each),
    } as never)
    await Promise.all(work)
  }
  const click = (action: string, more: object = {}) =>
    dispatch('notificationclick', {
      notification: { data: PAYLOAD, tag: 'q1', close: () => undefined },
      action,
      ...more,
    })
  return { shown, sent, opened, badges, caches, dispatch, click }
}

const ok = async () => Response.json({ ok: true })

test('ignores messages that are not ours', async () => {
  const worker = createWorker(ok)
  for (const json of [() => null, () => 1, () => ({ title: 'x' }), () => JSON.parse('{')])
    await worker.dispatch('push', { data: { json } })
  await worker.dispatch('push', { data: null })
  assert.equal(worker.shown, [])
})

test('shows the message with its answers, and the number of waiting questions as badge', async () => {
  const worker = createWorker(ok)
  await worker.dispatch('push', { data: { json: () => PAYLOAD } })
  const [shown] = worker.shown
  assert.is(shown?.title, 'Deploy')
  assert.is(shown?.options.body, 'rm -rf build')
  assert.equal(shown?.options.actions, [
    { action: 'answer-0', title: 'Allow once' },
    { action: 'answer-1', title: 'Deny' },
  ])
  assert.equal(worker.badges, [2])
})

test('what replaces a settled question makes no sound, and has the language of its text', async () => {
  const worker = createWorker(ok)
  const payload = { ...PAYLOAD, actions: [], settled: true, lang: 'ar', dir: 'rtl' }
  await worker.dispatch('push', { data: { json: () => PAYLOAD } })
  await worker.dispatch('push', { data: { json: () => payload } })
  assert.equal(
    worker.shown.map(({ options: { renotify, silent, requireInteraction, lang, dir } }) => [
      renotify,
      silent,
      requireInteraction,
      lang,
      dir,
    ]),
    [
      [true, false, true, undefined, undefined],
      [false, true, false, 'ar', 'rtl'],
    ],
  )
})

test('a new subscription replaces the former one, also when the browser does not say which it was', async () => {
  const refused = async () => Response.json({ error: 'Sign in.' }, { status: 401 })
  const renewed = async (
    reply: () => Promise<Response>,
    endpoint: string | undefined,
    oldSubscription: object | null,
  ) => {
    const worker = createWorker(reply, { endpoint })
    const event = { oldSubscription, newSubscription: null }
    await worker.dispatch('pushsubscriptionchange', event)
    return [worker.sent[0]?.body, worker.caches.stored()]
  }
  const subscription = (key: string) => ({ endpoint: 'https://push.example/new', key })
  const old = {
    endpoint: 'https://push.example/old',
    options: { applicationServerKey: 'its-key' },
  }
  assert.equal(await renewed(ok, undefined, old), [
    { subscription: subscription('its-key'), replaces: old.endpoint, refresh: true },
    'https://push.example/new',
  ])
  assert.equal(await renewed(ok, 'https://push.example/known', null), [
    {
      subscription: subscription('server-key'),
      replaces: 'https://push.example/known',
      refresh: true,
    },
    'https://push.example/new',
  ])
  assert.equal(await renewed(ok, undefined, null), [
    { subscription: subscription('server-key'), refresh: true },
    'https://push.example/new',
  ])
  assert.is(
    (await renewed(refused, old.endpoint, null))[1],
    old.endpoint,
    'tried again by the page',
  )
})

test('an answer that does not count is shown with its reason, one that counts is not', async () => {
  const late = createWorker(async () =>
    Response.json({ error: 'Already denied on the page.' }, { status: 409 }),
  )
  await late.click('answer-0')
  assert.equal(late.sent, [{ url: `${SCOPE}api/notifications/answer`, body: { token: 't-allow' } }])
  assert.is(late.shown[0]?.options.body, 'Already denied on the page.')
  assert.equal(late.shown[0]?.options.actions, [])

  const offline = createWorker(() => Promise.reject(new TypeError('Failed to fetch')))
  await offline.click('answer-1')
  assert.is(offline.shown[0]?.options.body, `${PAYLOAD.failed}\n${PAYLOAD.body}`)
  assert.is(offline.shown[0]?.options.actions.length, 2, 'it can be given again')
  const { data } = offline.shown[0]!.options
  assert.equal(data.actions, PAYLOAD.actions)

  const down = createWorker(async () => new Response('Bad gateway', { status: 502 }))
  await down.click('answer-0')
  assert.is(down.shown[0]?.options.actions.length, 2)

  const counted = createWorker(ok)
  await counted.click('answer-1')
  assert.equal(counted.sent[0]?.body, { token: 't-deny' })
  assert.equal(counted.shown, [])
})

test('a click beside the buttons opens the chat', async () => {
  const worker = createWorker(ok)
  await worker.click('')
  assert.equal(worker.opened, [`${SCOPE}session/s1`])
  assert.equal(worker.sent, [])
})

test('a reply is sent; without text the chat is opened to write it', async () => {
  const worker = createWorker(ok)
  const notification = {
    data: { ...PAYLOAD, actions: [{ action: 'reply', title: 'Reply', token: 't-reply' }] },
    close: () => undefined,
  }
  await worker.click('answer-0', { notification, reply: 'Use port 8080' })
  assert.equal(worker.sent[0]?.body, { token: 't-reply', text: 'Use port 8080' })
  await worker.click('answer-0', { notification, reply: null })
  assert.is(worker.sent.length, 1)
  assert.equal(worker.opened, [`${SCOPE}session/s1`])
})

test.run()
