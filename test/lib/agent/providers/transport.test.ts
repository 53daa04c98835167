/** Time limits, ends of connections, and what errors may quote. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { streamFor } from '../../../_provider.ts'
import { createTestClock } from '../../../_clock.ts'
import { FORMATS, failing, finishOf, speaker, textOf, withServer } from './_matrix.ts'

const chat = FORMATS[0]!
const test = suite('transport')

test('HTTP/1.0 without an end mark: the end of the connection is the end of the answer', async () => {
  const body = streamFor(chat.path, { text: 'whole', finish: null, done: false })
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () =>
      socket.end(`HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${body}`),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const deltas = await speaker(chat).ask({ url } as never)
  assert.equal([textOf(deltas), finishOf(deltas)], ['whole', ['unmarked']])
  await new Promise<void>(resolve => server.close(() => resolve()))
})

test('a stream may take hours while data arrives', () => {
  const clock = createTestClock()
  const second = Promise.withResolvers<void>()
  return withServer([{ text: ['slow', ' answer'], middle: second.promise }], async server => {
    const begun = Promise.withResolvers<void>()
    const [options, extra] = [{ clock }, { staleTimeoutMs: 0 }]
    const work = speaker(chat).ask(server, { options, extra, react: () => begun.resolve() })
    await begun.promise
    await clock.advance(10 * 3_600_000)
    second.resolve()
    assert.is(textOf(await work), 'slow answer')
  })
})

const isLimited = async (baseUrl: string): Promise<boolean> => {
  const clock = createTestClock()
  const stop = new AbortController()
  let isWaiting = false
  await withServer([], async server => {
    const work = speaker(chat)
      .ask(server, { options: { clock }, extra: { baseUrl }, signal: stop.signal })
      .catch(() => undefined)
    isWaiting = clock.waiting().length > 0
    stop.abort()
    await work
  })
  return isWaiting
}

test('a server in the own network has no limit before its first byte; one elsewhere has', async () => {
  for (const url of [
    'http://127.0.0.1:9/v1',
    'http://gpu-box.lan:9/v1',
    'http://host.docker.internal:9/v1',
    'http://ollama:9/v1',
    'http://192.168.1.20:9/v1',
    'http://10.1.2.3:9/v1',
    'http://mac.local:9/v1',
    'http://[fd00::1]:9/v1',
  ])
    assert.not.ok(await isLimited(url), url)
  for (const url of ['https://api.example.com/v1', 'http://10.0.0.1.example.com/v1'])
    assert.ok(await isLimited(url), url)
})

test('a local server that is cut while it reads the prompt is asked once more, not five times', () => {
  const clock = createTestClock()
  const held = Promise.withResolvers<void>()
  return withServer([{ gate: held.promise, end: 'cut', raw: '' }], async server => {
    const work = failing(speaker(chat).ask(server, { options: { clock } }))
    await server.arrived(1)
    await clock.advance(215_000)
    held.resolve()
    const failure = await work
    assert.is(failure.kind, 'cut_while_working')
    assert.is(failure.retryable, true)
  })
})

test('a proxy in front of a local server that gives up is asked once more', () => {
  const clock = createTestClock()
  const held = Promise.withResolvers<void>()
  const page = '<html><title>504 Gateway Time-out</title></html>'
  return withServer([{ gate: held.promise, status: 504, body: page }], async server => {
    const work = failing(speaker(chat).ask(server, { options: { clock } }))
    await server.arrived(1)
    await clock.advance(61_000)
    held.resolve()
    assert.is((await work).kind, 'cut_while_working')
  })
})

test('a word that stands for a key is not masked in errors; a key is', () =>
  withServer(
    ['mock', 'ollama', 'none', 'EMPTY', 'lm-studio', 'not-needed', 'sk-no-key-required'].map(
      key => ({ status: 429, body: { error: { message: `${key} says error 429` } } }),
    ),
    async server => {
      for (const apiKey of ['mock', 'ollama', 'none', 'EMPTY', 'lm-studio', 'not-needed']) {
        const { message } = await failing(speaker(chat).ask(server, { extra: { apiKey } }))
        assert.is(message, `${apiKey} says error 429`)
      }
      server.clear()
      server.push({ status: 401, body: { error: { message: 'Wrong key q7Rk2-zz81' } } })
      const { message } = await failing(
        speaker(chat).ask(server, { extra: { apiKey: 'q7Rk2-zz81' } }),
      )
      assert.is(message, 'Wrong key ***')
    },
  ))

test.run()
