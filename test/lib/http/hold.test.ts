/** Responses that wait until what they show is kept: nothing is sent before, and nothing at all when it will not be kept. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { conflict, unavailable } from '../../../lib/errors.ts'
import { eventStream, pushedEvents } from '../../../lib/http/reply.ts'
import { endpoint, openServer, type TestServer } from './_server.ts'

const test = suite('http/hold')

/** What responses wait for at the moment. */
const gate = { wait: null as Promise<void> | null, streams: 0 }
const next = { chunk: Promise.withResolvers<string>() }

const routes = {
  'GET /api/value': endpoint({ summary: 'a value', run: () => ({ ok: true }) }),
  'GET /health': endpoint({ summary: 'health', quiet: true, run: () => ({ ok: true }) }),
  'POST /api/refused': endpoint({
    summary: 'refuses',
    run: () => {
      throw conflict('taken by chat-1')
    },
  }),
  'GET /api/stream': endpoint({
    summary: 'a stream',
    raw: 'text/event-stream',
    run: () =>
      eventStream(
        (async function* () {
          yield 'data: 1\n\n'
          yield await next.chunk.promise
        })(),
      ),
  }),
  'GET /api/pushed': endpoint({
    summary: 'a pushed stream',
    raw: 'text/event-stream',
    run: () =>
      pushedEvents(sink => {
        const pieces = ['a'.repeat(100_000), 'b', 'c', '']
        const write = () => {
          for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
            if (piece === '') return sink.end()
            gate.wait = piece === 'b' ? next.chunk.promise.then(() => undefined) : null
            if (!sink.write(Buffer.from(piece))) return
          }
        }
        write()
        return { resume: write, close() {} }
      }),
  }),
}

let server: TestServer
test.before(async () => {
  server = await openServer(routes, {
    hold: isStream => {
      if (isStream) gate.streams += 1
      return gate.wait
    },
  })
})
test.before.each(() => {
  gate.wait = null
  next.chunk = Promise.withResolvers()
})
test.after(() => server.close())

test('nothing may be sent any more: the connection is cut, of a reply, a refusal, and a stream', async () => {
  const lost = Promise.reject(new Error('another process is the owner'))
  lost.catch(() => undefined)
  const stream = await server.get('/api/stream')
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  gate.wait = lost
  for (const answer of [server.get('/api/value'), server.post('/api/refused', {})])
    await answer.then(
      () => assert.unreachable(),
      error => assert.match(String(error.message), /fetch failed/),
    )
  next.chunk.resolve('data: 2\n\n')
  await reader.read().then(
    () => assert.unreachable(),
    error => assert.instance(error, Error),
  )
  assert.equal(server.errors, [])
})

test('too late: an error with a sentence, once', async () => {
  gate.wait = Promise.reject(unavailable('The database does not answer.'))
  gate.wait.catch(() => undefined)
  const answer = await server.get('/api/value')
  const { error } = (await answer.json()) as { error: string }
  assert.equal([answer.status, error], [503, 'The database does not answer.'])
})

test('a reply and a refusal are sent after the wait, and health does not wait', async () => {
  const kept = Promise.withResolvers<void>()
  gate.wait = kept.promise
  const order: string[] = []
  const value = server.get('/api/value').then(async res => {
    order.push('value')
    return res.json()
  })
  const refused = server.post('/api/refused', {}).then(res => {
    order.push('refused')
    return res.status
  })
  assert.is((await server.get('/health')).status, 200)
  assert.equal(order, [])
  kept.resolve()
  assert.equal([await value, await refused], [{ ok: true }, 409])
})

test('each chunk of a stream waits; those before it have arrived', async () => {
  const stream = await server.get('/api/stream')
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  const read = async () => Buffer.from((await reader.read()).value ?? []).toString()
  assert.is(await read(), 'data: 1\n\n')
  const kept = Promise.withResolvers<void>()
  gate.wait = kept.promise
  const before = gate.streams
  next.chunk.resolve('data: 2\n\n')
  let isThere = false
  const second = read().then(text => {
    isThere = true
    return text
  })
  while (gate.streams === before) await new Promise(resolve => setImmediate(resolve))
  assert.not(isThere)
  kept.resolve()
  assert.is(await second, 'data: 2\n\n')
})

test('what a pushed source writes waits too, and nothing overtakes it', async () => {
  const stream = await server.get('/api/pushed')
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  // The first piece has been sent while the second one waits.
  while (text.length < 100_000) text += Buffer.from((await reader.read()).value ?? []).toString()
  assert.is((await server.get('/health')).status, 200)
  next.chunk.resolve('')
  for (let piece = await reader.read(); !piece.done; piece = await reader.read())
    text += Buffer.from(piece.value).toString()
  assert.is(text.slice(99_999), 'abc')
})

test.run()
