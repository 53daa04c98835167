/** Hostile receivers: redirects, private addresses, endless and hanging replies, `Retry-After`; and the largest message. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Dispatcher } from 'undici'
import { createTestClock } from '../../_clock.ts'
import { type Addressed, sendWebPush } from '../../../lib/notifications/channels.ts'
import { toMessage } from '../../../lib/notifications/message.ts'
import type { Resolve } from '../../../lib/http/guarded-dispatcher.ts'
import { type Delivery, Poster } from '../../../lib/notifications/post.ts'
import { translatorFor } from '../../../lib/notifications/texts/translate.ts'
import type { NotificationSettings } from '../../../lib/schema/notification.ts'
import type { Clarify } from '../../../lib/schema/question.ts'
import { startPushService } from '../../_push-service.ts'

const test = suite('delivery of notifications')

const onLoopback = (address: string): boolean => address === '127.0.0.1'

const listen = async (listener: RequestListener) => {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

const post = (
  url: string,
  {
    allow = onLoopback,
    signal = new AbortController().signal,
    dispatcher = () => undefined,
    ...options
  }: {
    allow?: (address: string) => boolean
    signal?: AbortSignal
    dispatcher?: () => Dispatcher | undefined
    resolve?: Resolve
    timeoutMs?: number
  } = {},
): Promise<Delivery> => {
  const poster = new Poster(createTestClock(), dispatcher, signal, options)
  return poster.send({ url, headers: {}, body: '{}', allow })
}

const codeOf = (delivery: Delivery) => [delivery.how, 'code' in delivery ? delivery.code : null]

test('redirects are not followed, and private addresses are not requested, not even behind a name', async () => {
  let requests = 0
  await using inside = await listen((_, res) => {
    requests += 1
    res.end()
  })
  await using receiver = await listen((_, res) =>
    res.writeHead(307, { location: inside.url }).end(),
  )
  assert.equal(codeOf(await post(receiver.url)), ['refused', 'redirected'])
  const allow = () => false
  assert.equal(codeOf(await post(inside.url, { allow })), ['refused', 'address_blocked'])
  // The address that is checked is the one that is connected to, however the name resolves the next time.
  const answers = ['127.0.0.1', '93.184.215.14']
  const delivery = await post(`http://push.example:${inside.port}`, {
    allow,
    resolve: async () => [{ address: answers.shift() ?? '', family: 4 }],
  })
  assert.equal(codeOf(delivery), ['refused', 'address_blocked'])
  assert.is(requests, 0)
})

test('an endless reply is cut off, and one that never ends or begins is given up', async () => {
  let written = 0
  await using endless = await listen((_, res) => {
    const block = Buffer.alloc(64 << 10)
    const write = (): void => {
      while (!res.destroyed && written < 50 << 20) {
        written += block.length
        if (!res.write(block)) return void res.once('drain', write)
      }
      res.end()
    }
    write()
  })
  assert.is((await post(endless.url)).how, 'sent')
  assert.ok(written < 16 << 20, `${written} bytes`)

  await using silent = await listen(() => undefined)
  const options = { timeoutMs: 100 }
  assert.equal(codeOf(await post(silent.url, options)), ['later', 'unreachable'])
  await using slow = await listen((_, res) => {
    res.writeHead(200).write('.')
  })
  await post(slow.url, options)
})

test('a status says what to do; Retry-After is a number of seconds or a date', async () => {
  const replies: [number, Record<string, string>][] = []
  await using receiver = await listen((_, res) => {
    const [status, headers] = replies.shift() ?? [200, {}]
    res.writeHead(status, headers).end()
  })
  const replied = (status: number, headers: Record<string, string> = {}) => {
    replies.push([status, headers])
    return post(receiver.url)
  }
  for (const [status, how, code] of [
    [204, 'sent', null],
    [401, 'refused', 'unauthorized'],
    [404, 'gone', 'not_found'],
    [410, 'gone', 'not_found'],
    [413, 'refused', 'too_large'],
    [400, 'refused', 'rejected'],
    [408, 'later', 'rejected'],
    [503, 'later', 'server_error'],
  ] as const)
    assert.equal(codeOf(await replied(status)), [how, code], `${status}`)
  const after = async (value: string) => {
    const delivery = await replied(429, { 'retry-after': value })
    assert.equal(codeOf(delivery), ['later', 'rate_limited'])
    return 'afterMs' in delivery ? delivery.afterMs : undefined
  }
  assert.is(await after('120'), 120_000)
  const { now } = createTestClock()
  assert.is(await after(new Date(now() + 60_000).toUTCString()), 60_000)
  for (const wrong of ['-5', 'soon', '0', new Date(0).toUTCString()])
    assert.is(await after(wrong), null, wrong)
})

test('the largest message fits into what push services accept', async () => {
  await using service = await startPushService()
  const { default: webPush } = await import('web-push')
  const keys = webPush.generateVAPIDKeys()
  const t = translatorFor('ar')
  const long = '\u{1F9EA}'.repeat(3_000)
  const question = {
    kind: 'clarify',
    question: long,
    choices_offered: ['\u{1F9EA}', '\u{1F9EB}', '\u{1F9EC}'].map(each => each.repeat(20)),
  } as Clarify
  const message = toMessage(
    { key: 'k', kind: 'question', session_id: 's'.repeat(128), profile: 'p', text: long },
    {
      t,
      question,
      settings: { content: true } as NotificationSettings,
      chat: long,
      isRisky: () => false,
    },
  )
  assert.is(message.offers.length, 3)
  const addressed: Addressed = {
    ...message,
    t,
    id: 'i',
    at: 0,
    session_id: 's',
    profile: 'p',
    waiting: 100,
    base: 'https://agent.example/',
    actions: message.offers.map(({ action, title }) => ({
      action,
      title,
      token: `awn_${'x'.repeat(43)}`,
    })),
  }
  const subscription = service.subscribe(keys.publicKey)
  const device = { id: 'd', name: 'd', created_at: 0, subscription, sign_in: null, kinds: null }
  const sent = await sendWebPush(device, addressed, {
    vapid: async () => keys,
    poster: new Poster(createTestClock(), () => undefined, new AbortController().signal),
    allow: onLoopback,
  })
  assert.is(sent.how, 'sent')
  assert.is((await service.message(1)).actions.length, 3)
})

test.run()
