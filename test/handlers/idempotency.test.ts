/** `Idempotency-Key`: a repeated request is carried out once, also after a cut connection and a restart. */
import { request } from 'node:http'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyEndpoint } from '../../lib/http/endpoint.ts'
import { CREATING } from '../../public/api.ts'
import { patternRoutes, routes } from '../../router.ts'
import { gate } from '../_provider.ts'
import { startChat } from './_chat.ts'
import { type Api, withApi } from './_client-api.ts'

const test = suite('idempotency keys')

type Chat = Awaited<ReturnType<typeof startChat>>

const withChat =
  (script: Parameters<typeof startChat>, run: (chat: Chat) => Promise<void>) => async () => {
    await using chat = await startChat(...script)
    await run(chat)
  }

const key = (name: string) => ({ headers: { 'Idempotency-Key': name } })

const named = async ({ app }: Pick<Chat, 'app'>): Promise<string> => {
  const { session } = (await app.post('/api/session/new', {})).body
  await app.post('/api/session/rename', { session_id: session.session_id, title: 'Named' })
  return session.session_id
}

/** Sends a request and closes the connection; by default, once all of it was sent. */
const sendAndCut = (
  url: string,
  path: string,
  headers: Record<string, string>,
  body: unknown,
  when: Promise<unknown> = Promise.resolve(),
) =>
  new Promise<void>(resolve => {
    const text = JSON.stringify(body)
    const length = String(Buffer.byteLength(text))
    const req = request(url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Length': length, ...headers },
    })
    req.on('error', () => resolve())
    req.on('close', () => resolve())
    req.end(text, () => void when.then(() => setImmediate(() => req.destroy())))
  })

test(
  'each person whom a forwarder names has keys of their own, also where all are one owner',
  withChat([{ text: 'Hello.' }], async ({ app }) => {
    const newFor = async (person?: string): Promise<string> => {
      const headers = {
        'Idempotency-Key': 'same',
        ...(person && { 'X-Agent-Webui-Person': person }),
      }
      return (await app.post('/api/session/new', {}, { headers })).body.session.session_id
    }
    const ids = [await newFor(), await newFor('anna'), await newFor('ben')]
    assert.is(new Set(ids).size, 3)
    assert.equal([await newFor(), await newFor('anna'), await newFor('ben')], ids)
  }),
)

test(
  'rejects a key that is none, and one that was used for another request',
  withChat([{ text: 'Hello.' }], async chat => {
    const { app } = chat
    const session_id = await named(chat)
    for (const bad of [' ', 'a b', 'x'.repeat(256)]) {
      const { status, body } = await app.post(
        '/api/chat/start',
        { session_id, message: 'a' },
        key(bad),
      )
      assert.equal([status, body.code], [400, 'invalid_idempotency_key'], bad)
    }
    const first = await app.post('/api/chat/start', { session_id, message: 'Hi.' }, key('k1'))
    await chat.follow(first.body.stream_id)
    const others = [
      ['/api/chat/start', { session_id, message: 'Bye.' }],
      ['/api/queue/add', { session_id, message: 'Hi.' }],
    ] as const
    for (const [path, input] of others) {
      const { status, body } = await app.post(path, input, key('k1'))
      assert.equal([status, body.code], [422, 'idempotency_key_reused'])
    }
    assert.is(chat.provider.requests.length, 1)
  }),
)

test('whatever starts or creates something is carried out once', () => {
  const isCreating =
    /\/(create|new|add|start|run|send|branch|duplicate|import|import_cli|adopt|steer|interrupt|apply|force|push|pull|commit|invite|completions|responses|btw|background)$/
  // Signing in and out: their replies have secrets, and a second one changes nothing. An import doubles nothing by itself.
  const isSafeTwice = /^POST \/api\/(?:(?:auth\/totp|mcp\/oauth)\/start|import)$/
  const table: [string, AnyEndpoint][] = Object.entries({ ...routes, ...patternRoutes })
  const missing = table
    .filter(([route, { once }]) => !route.startsWith('GET ') && isCreating.test(route) && !once)
    .map(([route]) => route)
    .filter(route => !isSafeTwice.test(route))
  assert.equal(missing, [])
  // The page makes these again by itself.
  for (const [route, { once }] of table) if (CREATING.test(route)) assert.ok(once, route)
  for (const [route, { once, multipart, public: isPublic }] of table)
    if (once) assert.not(multipart || isPublic || route.startsWith('GET '), route)
})

test(
  'a repeated start gets the first one’s reply, whatever the order of its fields',
  withChat([{ text: 'Hello.' }], async chat => {
    const { app } = chat
    const session_id = await named(chat)
    const first = await app.post('/api/chat/start', { session_id, message: 'Hi.' }, key('"k1"'))
    const sent = { message: 'Hi.', attachments: [], session_id }
    const again = await app.post('/api/chat/start', sent, key('"k1"'))
    assert.equal([again.status, again.body], [200, first.body])
    assert.equal(
      [first.headers['idempotency-replayed'], again.headers['idempotency-replayed']],
      [undefined, 'true'],
    )
    await chat.follow(first.body.stream_id)
    assert.equal([(await chat.messages(session_id)).length, chat.provider.requests.length], [2, 1])
  }),
)

test('one that waits for the first gets its reply; one that failed does not count', () => {
  const { opened, open } = gate()
  return withChat([{ text: 'Hello.', gate: opened }, { text: 'Again.' }], async chat => {
    const { app } = chat
    const session_id = await named(chat)
    const input = { session_id, message: 'Hi.' }
    const first = app.post('/api/chat', input, key('k1'))
    await chat.provider.arrived(1)
    const second = app.post('/api/chat', input, key('k1'))
    const busy = await app.post('/api/chat/start', { session_id, message: 'Now!' }, key('k2'))
    assert.equal([busy.status, busy.body.code], [409, 'session_busy'])
    open()
    const replies = await Promise.all([first, second])
    assert.equal(
      replies.map(({ body }) => body.answer),
      ['Hello.', 'Hello.'],
    )
    const later = await app.post('/api/chat/start', { session_id, message: 'Now!' }, key('k2'))
    assert.is(later.status, 200)
    await chat.follow(later.body.stream_id)
    assert.is(chat.provider.requests.length, 2)
  })()
})

test(
  'a reply that was lost with its connection is sent again',
  withChat([{ text: 'Hello.' }], async chat => {
    const { app } = chat
    const session_id = await named(chat)
    const input = { session_id, message: 'Hi.' }
    await sendAndCut(app.url, '/api/chat/start', key('k1').headers, input)
    const { status, body } = await app.post('/api/chat/start', input, key('k1'))
    assert.is(status, 200)
    await chat.follow(body.stream_id)
    assert.equal([(await chat.messages(session_id)).length, chat.provider.requests.length], [2, 1])
  }),
)

test(
  'replies are kept over a restart; those with text of chats are not, and say so',
  withChat([{ text: 'Hello.' }], async chat => {
    const { app } = chat
    const session_id = await named(chat)
    const input = { session_id, message: 'Hi.' }
    const first = await app.post('/api/chat/start', input, key('k1'))
    await chat.follow(first.body.stream_id)
    const copy = await app.post('/api/session/duplicate', { session_id }, key('k2'))
    const { bytes } = await app.get('/api/sessions')
    await app.restart()
    assert.equal((await app.post('/api/chat/start', input, key('k1'))).body, first.body)
    const lost = await app.post('/api/session/duplicate', { session_id }, key('k2'))
    assert.equal([copy.status, lost.status, lost.body.code], [200, 409, 'reply_not_kept'])
    assert.is(
      JSON.parse(String(bytes)).sessions.length,
      (await app.get('/api/sessions')).body.sessions.length,
    )
  }),
)

test(
  'keys of one person or program are not those of another',
  withApi(
    async (service: Api) => {
      const { app } = service
      const input = { model: 'agent', messages: [{ role: 'user', content: 'Hi.' }] }
      const other = await service.makeToken()
      const send = (secret: string) =>
        app.request('POST', '/v1/chat/completions', {
          body: input,
          headers: { authorization: `Bearer ${secret}`, 'Idempotency-Key': 'k1' },
        })
      const first = await send(service.token.secret)
      const again = await send(service.token.secret)
      const others = await send(other.secret)
      assert.equal([first.status, again.text, others.status], [200, first.text, 200])
      assert.not.equal(others.body.id, first.body.id)
      assert.is(service.asked().length, 2)
    },
    { text: 'One.' },
    { text: 'Two.' },
  ),
)

test('a stream that was cut is read to its end for the repeated request', () => {
  const { opened, open } = gate()
  return withApi(
    async (service: Api) => {
      const { app } = service
      const { secret } = await service.makeToken({ disconnect: 'continue' })
      const input = { model: 'agent', stream: true, messages: [{ role: 'user', content: 'Hi.' }] }
      const headers = { authorization: `Bearer ${secret}`, 'Idempotency-Key': 'k1' }
      const head = await app.request('POST', '/v1/chat/completions', {
        body: input,
        headers,
        headOnly: true,
      })
      assert.is(head.status, 200)
      const again = app.request('POST', '/v1/chat/completions', { body: input, headers })
      open()
      const { text, headers: got } = await again
      for (const part of ['"Half"', '" of it"', '[DONE]']) assert.match(text, part)
      assert.match(got['content-type'] ?? '', 'text/event-stream')
      assert.is(service.asked().length, 1)
    },
    { text: ['Half', ' of it'], middle: opened },
  )()
})

test.run()
