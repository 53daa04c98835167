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

type Shown = { title: string; options: { body: string; actions: unknown[]; data: PushPayload } }

const createWorker = (reply: () => Promise<Response>) => {
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
    async fetch(url: string, { body }: { body: string }) {
      sent.push({ url, body: JSON.parse(body) })
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
  return { shown, sent, opened, badges, dispatch, click }
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
  assert.is(offline.shown[0]?.options.body, PAYLOAD.failed)

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
