/** The same unusual responses for every wire format. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { streamFor } from '../../../_provider.ts'
import { FORMATS, failing, finishOf, KEY, said, speaker, textOf, withServer } from './_matrix.ts'
import { createTestClock } from '../../../_clock.ts'

type Refused = [number, string, string, type: string, retryable?: boolean, Record<string, string>?]
const REFUSED: Refused[] = [
  [401, 'authentication_error', 'bad key', 'auth_mismatch'],
  [402, 'billing_error', 'pay first', 'quota_exhausted'],
  [403, 'permission_error', 'not you', 'auth_mismatch'],
  [404, 'not_found_error', 'model: x', 'model_not_found'],
  [413, 'request_too_large', 'too big', 'context_overflow'],
  [429, 'rate_limit_error', 'slow', 'rate_limit', true, { 'retry-after': '7' }],
  [500, 'api_error', 'sorry', 'network', true],
  [529, 'overloaded_error', 'Overloaded', 'network', true],
  [400, 'invalid_request_error', 'Your credit balance is too low.', 'quota_exhausted'],
  [400, 'invalid_request_error', 'prompt is too long: 210000 tokens', 'context_overflow'],
  [400, 'context_length_exceeded', 'exceeds the context window', 'context_overflow'],
  [502, '', '<html><title>Bad Gateway</title>', 'network', true],
  [404, '', '<html><title>Not here</title>', 'wrong_address'],
  [503, '', 'busy', 'network', true],
]

for (const format of FORMATS) {
  const test = suite(`wire of ${format.apiMode}`)
  const { ask } = speaker(format)

  for (const [status, kind, message, type, retryable = false, headers = {}] of REFUSED)
    test(`refused: ${status} ${message}`, () =>
      withServer(
        [{ status, body: kind === '' ? message : said(kind, message), headers }],
        async server => {
          const failure = await failing(ask(server))
          assert.equal([failure.type, failure.retryable, failure.status], [type, retryable, status])
          assert.is(failure.retryAfterMs, headers['retry-after'] && 7_000)
          assert.is(server.requests[0]!.path, format.path)
        },
      ))

  const event = (data: unknown) =>
    format.isNative ? `${JSON.stringify(data)}\n` : `data: ${JSON.stringify(data)}\n\n`

  test('an error inside the stream', () =>
    withServer(
      [
        { raw: event(said('overloaded_error', 'Overloaded')) },
        { raw: event(said('rate_limit_error', 'slow down')) },
        { body: said('invalid_request_error', 'prompt is too long') },
      ],
      async server => {
        const kinds = []
        for (let round = 0; round < 3; round++) kinds.push((await failing(ask(server))).type)
        assert.equal(kinds, ['network', 'rate_limit', 'context_overflow'])
      },
    ))

  test('the key appears in no error', () =>
    withServer(
      [{ status: 401, body: said('authentication_error', `Wrong key ${KEY}`) }],
      async server => {
        assert.not.match((await failing(ask(server))).message, 'secret')
      },
    ))

  test('streams cut before and after text, and responses that are not streams', () =>
    withServer(
      [
        { finish: null, done: false, end: 'cut' },
        { text: ['a', 'b'], finish: null, done: false, end: 'cut' },
        { raw: 'data: {"type":"content_bl' },
        { raw: 'hello, I am not an API' },
      ],
      async server => {
        for (let round = 0; round < 4; round++) {
          const failure = await failing(ask(server))
          assert.equal([failure.type, failure.retryable], ['network', true])
        }
      },
    ))

  test('silence before the headers and in the body times out', () =>
    withServer([{ end: 'headers' }, { text: 'a', end: 'body' }], async server => {
      for (let round = 1; round <= 2; round++) {
        const clock = createTestClock()
        const begun = Promise.withResolvers<void>()
        const [options, extra] = [{ clock }, { staleTimeoutMs: 120 }]
        const failed = failing(ask(server, { options, extra, react: () => begun.resolve() }))
        const { closed } = await server.arrived(round)
        if (round === 2) await begun.promise
        await clock.advance(120)
        assert.match((await failed).message, 'stopped responding')
        await closed
      }
    }))

  test('abort closes the socket, before the headers and in the body', () =>
    withServer([{ end: 'headers' }, { text: 'a', end: 'body' }], async server => {
      for (let round = 1; round <= 2; round++) {
        const stop = new AbortController()
        const work = ask(server, { signal: stop.signal })
        const request = await server.arrived(round)
        const reason = new Error('stop')
        stop.abort(reason)
        await work.then(
          () => assert.unreachable(),
          error => assert.is(error, reason),
        )
        await request.closed
      }
    }))

  test('does not wait for a connection that stays open after the end', () =>
    withServer([{ text: 'four', end: 'open' }], async server => {
      const deltas = await ask(server)
      assert.equal([textOf(deltas), finishOf(deltas)], ['four', ['stop']])
    }))

  for (const portion of [1, 3, 1000])
    test(`bytes in portions of ${portion}, letters cut in two`, () =>
      withServer([{ text: ['Grüße 🦊 – “ok”', ' 漢字'], portion }], async server => {
        assert.is(textOf(await ask(server)), 'Grüße 🦊 – “ok” 漢字')
      }))

  test('plain JSON instead of a stream', () =>
    withServer(
      [
        {
          plain: true,
          text: 'whole',
          reasoning: 'hm',
          toolCalls: [{ id: 'c1', name: 'f', arguments: { a: 1 } }],
          usage: { prompt_tokens: 9, completion_tokens: 2 },
        },
      ],
      async server => {
        const deltas = await ask(server)
        assert.equal([textOf(deltas), textOf(deltas, 'reasoning')], ['whole', 'hm'])
        const calls = deltas.filter(one => one.type === 'tool_call')
        assert.is(calls.map(call => call.name ?? '').join(''), 'f')
        assert.is(calls.map(call => call.arguments ?? '').join(''), '{"a":1}')
        assert.equal(finishOf(deltas), ['tool_calls'])
      },
    ))

  test('pictures', () =>
    withServer([{ text: 'a cat' }], async server => {
      const data = 'data:image/png;base64,AAAA'
      await ask(server, {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'what is it?' },
              { type: 'image_url', image_url: { url: data } },
              { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
            ],
          },
        ],
      })
      const { body } = server.requests[0]!
      const [{ content, images }] = body.messages ?? body.input
      if (format.isNative) {
        assert.equal(images, ['AAAA'])
        assert.is(content, 'what is it?\n[image: https://x.example/a.png]')
        return
      }
      const expected = {
        chat_completions: [
          { type: 'image_url', image_url: { url: data } },
          { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
        ],
        anthropic_messages: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
        ],
        codex_responses: [
          { type: 'input_image', image_url: data, detail: 'auto' },
          { type: 'input_image', image_url: 'https://x.example/a.png', detail: 'auto' },
        ],
      }
      assert.equal(content.slice(1), expected[format.apiMode as keyof typeof expected])
    }))

  if (format.isNative)
    test('JSON lines with the content type of a document, as proxies send them; cut ones fail', () => {
      const step = { text: ['he', 'llo'], headers: { 'content-type': 'application/json' } }
      const length = streamFor(format.path, step).length
      const steps = [step, { ...step, keep: length - 5 }, { ...step, keep: length / 3 }]
      return withServer(steps, async server => {
        assert.is(textOf(await ask(server)), 'hello')
        assert.is((await failing(ask(server))).type, 'network')
        assert.is((await failing(ask(server))).type, 'network')
      })
    })

  test.run()
}
