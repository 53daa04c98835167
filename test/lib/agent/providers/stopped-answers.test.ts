/** Answers that the provider stopped, or that hold no answer, through whole runs in every format that can say so. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { adviceOf } from '../../../../lib/agent/failure-kinds.ts'
import { streamFor } from '../../../_provider.ts'
import { createTestClock } from '../../../_clock.ts'
import { FORMATS, failing, speaker, textOf, withServer } from './_matrix.ts'

const CALL = { toolCalls: [{ id: 'c1', name: 'echo', arguments: { say: 'hi' } }] }
/** How the formats say that a filter stopped the answer. */
const FILTER: Readonly<Record<string, string>> = {
  chat_completions: 'content_filter',
  anthropic_messages: 'refusal',
  codex_responses: 'content_filter',
}

for (const format of FORMATS) {
  const finish = FILTER[format.apiMode]
  if (finish === undefined) continue
  const test = suite(`stopped answers of ${format.apiMode}`)
  const { converse } = speaker(format)
  const warningsOf = (events: { type: string; kind?: unknown }[]) =>
    events.flatMap(event => (event.type === 'warning' ? [event.kind] : []))

  test('the text stays, and the message says that it was stopped', () =>
    withServer([{ text: 'Here is', finish }], async server => {
      const { outcome, messages, events } = await converse(server)
      assert.is(outcome.status, 'finished')
      assert.is(messages[0]?.content, 'Here is')
      assert.ok(messages[0]?.refusal)
      // Who reads nothing but the text sees it, too.
      assert.is(outcome.text, `Here is\n\n[${messages[0]?.refusal}]`)
      assert.equal(warningsOf(events), ['content_filter'])
    }))

  test('calls before the filter are not run', () =>
    withServer([{ text: 'Here is', ...CALL, finish }], async server => {
      const { outcome, messages, events } = await converse(server)
      assert.is(outcome.status, 'finished')
      assert.is(messages.length, 1)
      assert.is(messages[0]?.tool_calls, undefined)
      assert.not.ok(events.some(({ type }) => type === 'tool'))
      assert.is(server.requests.length, 1)
    }))

  test('calls without text before the filter are not run, and the turn fails', () =>
    withServer([{ ...CALL, finish }], async server => {
      const { outcome, events } = await converse(server)
      assert.is(outcome.failure?.type, 'content_refused')
      assert.is(outcome.failure?.hint, adviceOf('content_refused'))
      assert.not.ok(events.some(({ type }) => type === 'tool'))
      assert.is(server.requests.length, 1)
    }))

  test('a filter that stops the continuation of a long answer', () =>
    withServer(
      [
        { text: 'one ', finish: format.apiMode === 'anthropic_messages' ? 'max_tokens' : 'length' },
        { text: 'two', finish },
      ],
      async server => {
        const { messages, events } = await converse(server)
        assert.is(messages[0]?.content, 'one two')
        assert.equal(warningsOf(events), ['content_filter'])
      },
    ))

  test('a refusal that is the whole answer needs no warning', () =>
    withServer([{ refusal: 'I cannot help with that.', finish: 'stop' }], async server => {
      if (format.apiMode === 'anthropic_messages') return
      const { messages, events } = await converse(server)
      assert.is(messages[0]?.refusal, 'I cannot help with that.')
      assert.equal(warningsOf(events), [])
    }))

  test.run()
}

const rest = suite('answers without an end or without an answer')
const chat = FORMATS[0]!
const ollama = FORMATS.find(({ apiMode }) => apiMode === 'ollama_chat')!

for (const format of [chat, ollama]) {
  const { converse } = speaker(format)
  for (const finish of ['stop', 'length'])
    rest(`${format.apiMode}: reasoning without an answer (${finish}) is asked for once more`, () =>
      withServer(
        Array.from({ length: 2 }, () => ({ reasoning: 'Let me think', finish })),
        async server => {
          const { outcome, events } = await converse(server)
          assert.is(server.requests.length, 2)
          assert.is(outcome.failure?.type, 'no_response')
          assert.is(outcome.failure?.hint, adviceOf('only_thought'))
          assert.is(events.at(-1)?.type, 'reasoning')
        },
      ),
    )
}

rest('GLM: a full window before the first word is an overflow', () =>
  withServer([{ finish: 'model_context_window_exceeded' }], async server => {
    const { outcome } = await speaker(chat).converse(server)
    assert.is(outcome.failure?.type, 'context_overflow')
    assert.is(server.requests.length, 1)
  }),
)

rest('GLM: what was said in a full window is kept when nothing can be compacted', () =>
  withServer([{ text: 'do', finish: 'model_context_window_exceeded', ...CALL }], async server => {
    const { outcome, messages, events } = await speaker(chat).converse(server)
    assert.equal([outcome.status, messages[0]?.content], ['finished', 'do'])
    assert.ok(events.some(event => event.type === 'warning' && event.kind === 'cut'))
    assert.not.ok(events.some(({ type }) => type === 'tool'))
    assert.is(server.requests.length, 1)
  }),
)

/** A server of HTTP/1.0: no framing, the end of the connection is the end of the answer. */
const serveOld = async (bodies: string[]) => {
  let count = 0
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => {
      const body = bodies[Math.min(count++, bodies.length - 1)]
      socket.end(`HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${body}`)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    count: () => count,
    close: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}

rest(
  'HTTP/1.0 without an end mark: accepted when it ends so twice, and at once from then on',
  async () => {
    const server = await serveOld([
      streamFor(chat.path, { text: 'whole', finish: null, done: false }),
    ])
    const provider = chat.create()
    const answer = async () => {
      let said = ''
      const { endpointAt } = speaker(chat)
      const endpoint = { ...endpointAt({ url: server.url } as never), baseUrl: server.url }
      for await (const delta of provider({
        endpoint,
        messages: [{ role: 'user', content: 'hello' }],
        tools: [],
        signal: new AbortController().signal,
        workspace: '/',
      }))
        if (delta.type === 'text') said += delta.text
      return said
    }
    assert.is((await failing(answer())).retryable, true)
    assert.equal([await answer(), await answer()], ['whole', 'whole'])
    assert.is(server.count(), 3)
    await server.close()
  },
)

rest('a stream may take hours while data arrives', () => {
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

rest(
  'a server in the own network has no limit before its first byte; one elsewhere has',
  async () => {
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
  },
)

rest(
  'a local server that is cut while it reads the prompt is asked once more, not five times',
  () => {
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
  },
)

rest('a proxy in front of a local server that gives up is asked once more', () => {
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

rest('a word that stands for a key is not masked in errors; a key is', () =>
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
  ),
)

rest.run()
