/** Unusual streams of the format `chat_completions`, over real HTTP. */
import { systemClock } from '../../../../lib/base/clock.ts'
import { httpProvider } from '../../../../lib/agent/providers/http-provider.ts'
import { FORMATS } from '../../../../lib/agent/providers/registry.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProviderFailure } from '../../../../lib/agent/failure.ts'
import type { HttpProviderOptions } from '../../../../lib/agent/providers/http-provider.ts'
import type { ModelEndpoint, ProviderDelta } from '../../../../lib/agent/types.ts'
import { run } from '../_run.ts'
import { createProvider, delta, frame, gate, type Scripted, type Step } from '../../../_provider.ts'
import { createTestClock } from '../../../_clock.ts'
import { until } from '../../../_wait.ts'

const test = suite('openai-chat')

const KEY = 'sk-secret-key-1234567890'

const endpointAt = (server: Scripted, extra: Partial<ModelEndpoint> = {}): ModelEndpoint => ({
  provider: 'custom',
  model: 'some-model',
  apiMode: 'chat_completions',
  baseUrl: server.url,
  apiKey: KEY,
  contextLength: 1000,
  ...extra,
})

type Ask = {
  extra?: Partial<ModelEndpoint>
  options?: Partial<HttpProviderOptions>
  signal?: AbortSignal
}

const ask = async (server: Scripted, { extra, options, signal }: Ask = {}) => {
  const deltas: ProviderDelta[] = []
  const stream = httpProvider(FORMATS.chat_completions, { clock: systemClock, ...options })({
    endpoint: endpointAt(server, extra),
    messages: [{ role: 'user', content: 'hello' }],
    tools: [],
    signal: signal ?? new AbortController().signal,
    workspace: '/',
  })
  for await (const one of stream) deltas.push(one)
  return deltas
}

const withServer = async (steps: Step[], run: (server: Scripted) => Promise<void>) => {
  const server = await createProvider(...steps)
  try {
    await run(server)
  } finally {
    await server.close()
  }
}

const failing = async (work: Promise<unknown>): Promise<ProviderFailure> => {
  try {
    await work
  } catch (error) {
    assert.instance(error, ProviderFailure)
    return error as ProviderFailure
  }
  throw new Error('It should have failed.')
}

const textOf = (deltas: ProviderDelta[], type: 'text' | 'reasoning' | 'refusal' = 'text') =>
  deltas.map(one => (one.type === type ? one.text : '')).join('')

const callsOf = (deltas: ProviderDelta[]) => {
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const one of deltas) {
    if (one.type !== 'tool_call') continue
    calls[one.index] ??= { id: '', name: '', arguments: '' }
    const call = calls[one.index]!
    call.id += one.id ?? ''
    call.name += one.name ?? ''
    call.arguments += one.arguments ?? ''
  }
  return calls
}

const finishOf = (deltas: ProviderDelta[]) =>
  deltas.flatMap(one => (one.type === 'finish' ? [one.reason] : []))

const REFUSED: [string, Step, string, boolean][] = [
  ['401', { status: 401, body: { error: { message: 'bad key' } } }, 'auth_mismatch', false],
  ['403', { status: 403, body: { error: 'no access' } }, 'auth_mismatch', false],
  [
    '403 for a spending limit',
    { status: 403, body: { error: { message: 'Key limit exceeded' } } },
    'quota_exhausted',
    false,
  ],
  ['402', { status: 402, body: { message: 'Insufficient credits' } }, 'quota_exhausted', false],
  [
    '402 that passes',
    { status: 402, body: { message: 'Usage limit reached, resets at 5 pm' } },
    'rate_limit',
    true,
  ],
  ['404', { status: 404, body: '<html><title>Not here</title></html>' }, 'wrong_address', false],
  ['413', { status: 413, body: {} }, 'context_overflow', false],
  [
    '400 overflow',
    { status: 400, body: { error: { message: 'maximum context length is 8192 tokens' } } },
    'context_overflow',
    false,
  ],
  ['400', { status: 400, body: { error: { message: 'bad schema' } } }, 'error', false],
  ['429', { status: 429, body: {}, headers: { 'retry-after': '7' } }, 'rate_limit', true],
  [
    '429 without credit',
    { status: 429, body: { error: { code: 'insufficient_quota', message: 'Sorry.' } } },
    'quota_exhausted',
    false,
  ],
  ['500', { status: 500, body: {} }, 'network', true],
  ['503', { status: 503, body: 'busy' }, 'network', true],
]

for (const [name, step, type, retryable] of REFUSED)
  test(`refused with ${name}`, () =>
    withServer([step], async server => {
      const failure = await failing(ask(server))
      assert.is(failure.type, type)
      assert.is(failure.retryable, retryable)
      assert.is(failure.status, step.status)
      assert.ok(failure.message.length > 0)
      if (name === '429') assert.is(failure.retryAfterMs, 7000)
      if (name === '404') assert.is(failure.message, 'Not here')
    }))

test('the key appears in no error', () =>
  withServer(
    [{ status: 401, body: { error: { message: `Wrong key ${KEY}, sk-other-key-99999999` } } }],
    async server => {
      const { message } = await failing(ask(server))
      assert.not.match(message, 'secret')
      assert.not.match(message, '99999999')
    },
  ))

test('does not follow redirects', () =>
  withServer([], async server => {
    const other = await createProvider({ text: 'stolen' })
    server.push({ status: 307, headers: { location: `${other.url}/chat/completions` } })
    const failure = await failing(ask(server))
    assert.is(failure.retryable, false)
    assert.match(failure.message, 'redirects')
    assert.is(other.requests.length, 0)
    await other.close()
  }))

test('an unreachable host', async () => {
  const server = await createProvider()
  await server.close()
  const failure = await failing(ask(server))
  assert.is(failure.type, 'network')
  assert.ok(failure.retryable)
  assert.match(failure.message, 'refused')
})

test('an invalid address', () =>
  withServer([], async server => {
    const failure = await failing(ask(server, { extra: { baseUrl: 'not a url' } }))
    assert.is(failure.type, 'wrong_address')
    assert.not(failure.retryable)
  }))

test('an error object in the stream', () =>
  withServer(
    [
      {
        raw:
          frame(delta({ content: 'Hi' })) + frame({ error: { code: 429, message: 'slow down' } }),
      },
    ],
    async server => {
      const failure = await failing(ask(server))
      assert.is(failure.type, 'rate_limit')
      assert.is(failure.message, 'slow down')
    },
  ))

test('an error document with status 200', () =>
  withServer([{ body: { error: { message: 'context length exceeded' } } }], async server => {
    assert.is((await failing(ask(server))).type, 'context_overflow')
  }))

test('a connection cut in the middle, and responses that are not streams', () =>
  withServer(
    [
      { text: ['a', 'b'], finish: null, done: false, end: 'cut' },
      { toolCalls: [{ name: 'f', arguments: '{"a": ' }], finish: null, done: false },
      { raw: 'data: {"choices":[{"delta":{"content":"half a fr' },
      { raw: 'hello, I am not an API' },
    ],
    async server => {
      for (let round = 0; round < 4; round++) {
        const failure = await failing(ask(server))
        assert.is(failure.type, 'network')
        assert.ok(failure.retryable)
      }
    },
  ))

test('abort closes the socket, before the headers and in the body', () =>
  withServer(
    [{ end: 'headers' }, { text: 'a', finish: null, done: false, end: 'body' }],
    async server => {
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
    },
  ))

test('text, usage and what is sent', () =>
  withServer(
    [{ text: ['Hel', 'lo'], usage: { prompt_tokens: 3, completion_tokens: 2, cost: 0.5 } }],
    async server => {
      const deltas = await ask(server, { extra: { maxTokens: 77, effort: 'xhigh' } })
      assert.is(textOf(deltas), 'Hello')
      assert.equal(deltas.slice(-2), [
        { type: 'usage', inputTokens: 3, outputTokens: 2, cost: 0.5 },
        { type: 'finish', reason: 'stop' },
      ])
      const { path, headers, body } = server.requests[0]!
      assert.is(path, '/v1/chat/completions')
      assert.is(headers.authorization, `Bearer ${KEY}`)
      assert.equal(body, {
        model: 'some-model',
        messages: [{ role: 'user', content: 'hello' }],
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 77,
        reasoning_effort: 'high',
      })
    },
  ))

test('no key, no Authorization header', () =>
  withServer([{ text: 'x' }], async server => {
    await ask(server, { extra: { apiKey: null } })
    assert.is(server.requests[0]!.headers.authorization, undefined)
  }))

const HOSTILE = '﻿: a comment\r\n\r\n'
for (const portion of [1, 2, 3, 7, 1000])
  test(`bytes in portions of ${portion}`, () =>
    withServer(
      [
        {
          raw: `${HOSTILE}${frame(delta({ content: 'Grüße 🦊 – “ok”' })).replace(/\n/g, '\r\n')}${frame(
            delta({ content: ' 漢字' }),
          )}: ping\n\n${frame(delta({}, 'stop'))}data: [DONE]\n\n`,
          portion,
        },
      ],
      async server => {
        assert.is(textOf(await ask(server)), 'Grüße 🦊 – “ok” 漢字')
      },
    ))

test('[DONE] missing, last blank line missing, connection cut after the last token', () =>
  withServer(
    [
      { text: 'one', done: false },
      { raw: frame(delta({ content: 'two' }, 'stop')).trimEnd() },
      { text: 'three', done: false, end: 'cut' },
      { text: 'four', end: 'body' },
    ],
    async server => {
      for (const text of ['one', 'two', 'three', 'four']) {
        const deltas = await ask(server)
        assert.is(textOf(deltas), text)
        assert.equal(finishOf(deltas), ['stop'])
      }
    },
  ))

test('a last chunk whose usage says nothing does not take back what was counted', () => {
  const usage = { prompt_tokens: 10, completion_tokens: 2, cost: 0.5 }
  const ends = [{}, { prompt_tokens: 0, completion_tokens: 0 }, { total_tokens: null }]
  const stream = (last: unknown): Step => ({
    raw: `${[
      { ...delta({ content: 'a' }, 'stop'), usage },
      { choices: [], usage: last },
    ]
      .map(frame)
      .join('')}data: [DONE]\n\n`,
  })
  return withServer(ends.map(stream), async server => {
    for (const end of ends) {
      const found = (await ask(server)).find(({ type }) => type === 'usage')
      const wanted = { type: 'usage', inputTokens: 10, outputTokens: 2, cost: 0.5 }
      assert.equal(found, wanted, JSON.stringify(end))
    }
  })
})

test('waits only briefly for usage after the end', () =>
  withServer([{ text: 'x', done: false, end: 'body' }], async server => {
    const clock = createTestClock()
    const asked = ask(server, { options: { clock } })
    await until(() => clock.waiting().includes(5_000))
    await clock.advance(5_000)
    assert.is(textOf(await asked), 'x')
  }))

test('plain JSON instead of a stream', () =>
  withServer(
    [{ plain: true, text: 'whole', toolCalls: [{ name: 'f', arguments: { a: 1 } }] }],
    async server => {
      const deltas = await ask(server)
      assert.is(textOf(deltas), 'whole')
      assert.equal(callsOf(deltas), [{ id: 'call_0', name: 'f', arguments: '{"a":1}' }])
      assert.equal(finishOf(deltas), ['tool_calls'])
    },
  ))

test('omits what a server rejects, permanently', () =>
  withServer(
    [
      { status: 400, body: { error: { message: 'Unknown field: stream_options' } } },
      { status: 400, body: { error: { message: 'reasoning_effort is not supported' } } },
      { text: 'fine' },
      { text: 'again' },
    ],
    async server => {
      const provider = httpProvider(FORMATS.chat_completions, { clock: systemClock })
      const request = {
        endpoint: endpointAt(server, { effort: 'high' }),
        messages: [],
        tools: [],
        signal: new AbortController().signal,
        workspace: '/',
      }
      for (const _ of [1, 2]) for await (const _delta of provider(request));
      assert.is(server.requests.length, 4)
      const last = server.requests[3]!.body
      assert.is(last.stream_options, undefined)
      assert.is(last.reasoning_effort, undefined)
    },
  ))

test('reasoning under its many names', () =>
  withServer(
    [
      {
        raw:
          frame(delta({ reasoning: 'R', reasoning_details: [{ text: 'R' }] })) +
          frame(delta({ content: 'x' }, 'stop')),
      },
      {
        raw:
          frame(delta({ reasoning_details: [{ type: 'reasoning.text', text: 'R' }] })) +
          frame(delta({ content: 'x' }, 'stop')),
      },
      {
        raw: frame(
          delta(
            {
              content: [
                { type: 'thinking', thinking: [{ text: 'R' }] },
                { type: 'text', text: 'x' },
              ],
            },
            'stop',
          ),
        ),
      },
      { text: ['\n<thi', 'nk>R</thi', 'nk>\n\n', 'x'] },
      { text: '<think>R</think>x' },
    ],
    async server => {
      for (let round = 0; round < 5; round++) {
        const deltas = await ask(server)
        assert.is(textOf(deltas, 'reasoning'), 'R', `round ${round}`)
        assert.is(textOf(deltas), 'x', `round ${round}`)
      }
    },
  ))

test('a tag later in the response is text', () =>
  withServer([{ text: ['The tag ', '<think> is', ' text. a < b'] }], async server => {
    const deltas = await ask(server)
    assert.is(textOf(deltas), 'The tag <think> is text. a < b')
    assert.is(textOf(deltas, 'reasoning'), '')
  }))

test('refusal and content filter', () =>
  withServer([{ refusal: 'No.', finish: 'content_filter' }], async server => {
    const deltas = await ask(server)
    assert.is(textOf(deltas, 'refusal'), 'No.')
    assert.equal(finishOf(deltas), ['content_filter'])
  }))

const call = (fields: object) => frame(delta({ tool_calls: [fields] }))
const TWO = [
  { id: 'a', name: 'f', arguments: '{"x":1}' },
  { id: 'b', name: 'g', arguments: '{"y":2}' },
]
const SHAPES: [name: string, raw: string, ids?: 'same' | 'braces'][] = [
  [
    'by index, interleaved',
    call({ index: 0, id: 'a', function: { name: 'f' } }) +
      call({ index: 1, id: 'b', function: { name: 'g', arguments: '' } }) +
      call({ index: 0, function: { arguments: '{"x"' } }) +
      call({ index: 1, function: { arguments: '{"y":2}' } }) +
      call({ index: 0, function: { arguments: ':1}' } }),
  ],
  [
    'without index',
    call({ id: 'a', function: { name: 'f', arguments: '{"x"' } }) +
      call({ function: { arguments: ':1}' } }) +
      call({ id: 'b', function: { name: 'g', arguments: '{"y":2}' } }),
  ],
  [
    'always index 0, different ids, whole at once',
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } }) +
      call({ index: 0, id: 'b', function: { name: 'g', arguments: { y: 2 } } }),
  ],
  [
    'id and name repeated in every chunk',
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }) +
      call({ index: 0, id: 'a', function: { name: 'f', arguments: ':1}' } }) +
      call({ index: 1, id: 'b', function: { name: 'g', arguments: '{"y":2}' } }),
  ],
  [
    'with one id for two indexes',
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } }) +
      call({ index: 1, id: 'a', function: { name: 'g', arguments: '{"y":2}' } }),
    'same',
  ],
  [
    'with one id for two indexes, in pieces',
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }) +
      call({ index: 1, id: 'a', function: { name: 'g', arguments: '{"y"' } }) +
      call({ index: 0, function: { arguments: ':1}' } }) +
      call({ index: 1, function: { arguments: ':2}' } }),
    'same',
  ],
  [
    'with one id for two indexes, repeated in every piece',
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }) +
      call({ index: 0, id: 'a', function: { name: 'f', arguments: ':1}' } }) +
      call({ index: 1, id: 'a', function: { name: 'g', arguments: '{"y"' } }) +
      call({ index: 1, id: 'a', function: { name: 'g', arguments: ':2}' } }),
    'same',
  ],
  [
    'with one id and one index for two whole calls',
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } }) +
      call({ index: 0, id: 'a', function: { name: 'g', arguments: '{"y":2}' } }),
    'same',
  ],
  [
    'with one id and no index for two whole calls',
    call({ id: 'a', function: { name: 'f', arguments: '{"x":1}' } }) +
      call({ id: 'a', function: { name: 'g', arguments: '{"y":2}' } }),
    'same',
  ],
  [
    'whose index counts the pieces of a call',
    call({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }) +
      call({ index: 1, id: 'a', function: { arguments: ':1}' } }) +
      call({ index: 2, id: 'b', function: { name: 'g', arguments: '{"y":2}' } }),
  ],
  [
    'with the name in every piece and no id, where the arguments contain braces',
    call({ index: 0, function: { name: 'f', arguments: '{"x"' } }) +
      [...':"}{\\"}"}']
        .map(char => call({ index: 0, function: { name: 'f', arguments: char } }))
        .join('') +
      call({ index: 0, function: { name: 'g', arguments: '{"y":2}' } }),
    'braces',
  ],
]
for (const [name, raw, ids] of SHAPES)
  test(`tool calls ${name}`, () =>
    withServer([{ raw: `${raw}${frame(delta({}, 'tool_calls'))}` }], async server => {
      const [first, second] = TWO
      const wanted =
        ids === 'same'
          ? [first, { ...second, id: 'a' }]
          : ids === 'braces'
            ? [
                { id: '', name: 'f', arguments: '{"x":"}{\\"}"}' },
                { ...second, id: '' },
              ]
            : TWO
      assert.equal(callsOf(await ask(server)), wanted)
    }))

test('delivers chunks as they arrive', () => {
  const middle = gate()
  return withServer([{ text: ['first', 'second'], middle: middle.opened }], async server => {
    const stream = httpProvider(FORMATS.chat_completions, { clock: systemClock })({
      endpoint: endpointAt(server),
      messages: [],
      tools: [],
      signal: new AbortController().signal,
      workspace: '/',
    })
    const { value } = await stream.next()
    assert.equal(value, { type: 'text', text: 'first' })
    middle.open()
    await stream.return(undefined)
  })
})

/** Name, the last chunk, and the tokens read from and written to the cache. */
const CACHED: [string, Record<string, unknown>, number | undefined, number | undefined][] = [
  ['OpenAI', { usage: { prompt_tokens_details: { cached_tokens: 5 } } }, 5, undefined],
  ['DeepSeek', { usage: { prompt_cache_hit_tokens: 4 } }, 4, undefined],
  ['Moonshot', { usage: { cached_tokens: 3 } }, 3, undefined],
  ['Moonshot', { choices: [{ index: 0, delta: {}, usage: { cached_tokens: 3 } }] }, 3, undefined],
  ['Groq', { x_groq: { usage: { prompt_tokens_details: { cached_tokens: 2 } } } }, 2, undefined],
  [
    'OpenRouter',
    { usage: { prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 } } },
    5,
    2,
  ],
  [
    'Qwen',
    { usage: { prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 7 } } },
    undefined,
    7,
  ],
  ['nothing', { usage: { prompt_tokens_details: null } }, undefined, undefined],
]
test('cached tokens that a gateway counts apart from the prompt are added to it', () => {
  const usage = { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 1_000 } }
  const raw = JSON.stringify({ choices: [], usage })
  return withServer(
    [{ raw: `${frame(delta({ content: 'b' }, 'stop'))}data: ${raw}\n\n` }],
    async server => {
      const found = (await ask(server)).find(one => one.type === 'usage')
      assert.equal([found?.inputTokens, found?.cacheReadTokens], [1_009, 1_000])
    },
  )
})

for (const [name, chunk, read, written] of CACHED) {
  test(`usage reports cached tokens as ${name} does: ${JSON.stringify(chunk)}`, () => {
    const text = JSON.stringify({ choices: [], ...chunk })
    const raw = text.replace(/"usage":\{/, '"usage":{"prompt_tokens":9,')
    return withServer(
      [{ raw: `${frame(delta({ content: 'b' }, 'stop'))}data: ${raw}\n\n` }],
      async server => {
        const usage = (await ask(server)).find(one => one.type === 'usage')
        assert.equal(
          [usage?.inputTokens, usage?.cacheReadTokens, usage?.cacheWriteTokens],
          [9, read, written],
        )
      },
    )
  })
}

/** Output tokens of usage figures, where reasoning may be counted apart. */
const OUTPUT: [string, Record<string, unknown>, number][] = [
  [
    'xAI',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 115,
      completion_tokens_details: { reasoning_tokens: 100 },
    },
    105,
  ],
  ['Gemini', { prompt_tokens: 10, completion_tokens: 5, total_tokens: 515 }, 505],
  [
    'OpenAI',
    {
      prompt_tokens: 10,
      completion_tokens: 105,
      total_tokens: 115,
      completion_tokens_details: { reasoning_tokens: 100 },
    },
    105,
  ],
  ['no total', { prompt_tokens: 10, completion_tokens: 5 }, 5],
  ['a total of zero', { prompt_tokens: 10, completion_tokens: 5, total_tokens: 0 }, 5],
  [
    'cached tokens apart from the prompt',
    {
      prompt_tokens: 9,
      completion_tokens: 5,
      total_tokens: 1_014,
      prompt_tokens_details: { cached_tokens: 1_000 },
    },
    5,
  ],
  [
    'a few cached tokens apart from the prompt',
    {
      prompt_tokens: 90,
      completion_tokens: 5,
      total_tokens: 115,
      prompt_tokens_details: { cached_tokens: 20 },
    },
    5,
  ],
  [
    'both apart',
    {
      prompt_tokens: 9,
      completion_tokens: 5,
      total_tokens: 1_114,
      prompt_tokens_details: { cached_tokens: 1_000 },
    },
    105,
  ],
]
for (const [name, usage, output] of OUTPUT)
  test(`output tokens as counted by ${name}`, () => {
    const raw = `${frame(delta({ content: 'b' }, 'stop'))}${frame({ choices: [], usage })}`
    return withServer([{ raw }], async server => {
      const found = (await ask(server)).find(one => one.type === 'usage')
      assert.is(found?.outputTokens, output)
    })
  })

test('an error of Groq inside a stream voids what came before', () =>
  withServer(
    [
      {
        raw:
          frame(delta({ content: 'Half' })) +
          frame({ x_groq: { error: 'over capacity' }, choices: [] }),
      },
      { text: 'whole' },
    ],
    async server => {
      const provider = httpProvider(FORMATS.chat_completions, { clock: systemClock })
      const { outcome } = await run(provider, { endpoint: endpointAt(server) })
      assert.is(outcome.text, 'whole')
    },
  ))

/** The messages sent to this endpoint. */
const sentTo = async (extra: Partial<ModelEndpoint>, ...steps: Step[]) => {
  const server = await createProvider(...steps, { text: 'x' })
  const request = {
    endpoint: endpointAt(server, extra),
    messages: [
      { role: 'system' as const, content: 'S' },
      { role: 'user' as const, content: 'one' },
      {
        role: 'assistant' as const,
        content: '',
        tool_calls: [
          { id: 'a', type: 'function' as const, function: { name: 'f', arguments: '{}' } },
        ],
        providerState: { endpointKey: 'other', items: ['secret'] },
      },
      { role: 'tool' as const, tool_call_id: 'a', content: 'R' },
      { role: 'assistant' as const, content: 'two' },
      { role: 'user' as const, content: 'three' },
    ],
    tools: [],
    signal: new AbortController().signal,
    workspace: '/',
    sessionKey: 's',
  }
  try {
    for await (const _delta of httpProvider(FORMATS.chat_completions, { clock: systemClock })(request));
    return server.requests.at(-1)!.body.messages
  } finally {
    await server.close()
  }
}

test('never sends the provider state of another format', async () => {
  const messages = await sentTo({})
  assert.not.match(JSON.stringify(messages), 'secret')
  assert.equal(Object.keys(messages[2]), ['role', 'content', 'tool_calls'])
})

test('returns reasoning details and signatures within the turn, until a server rejects them', async () => {
  const answer =
    frame(delta({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'I ' }] })) +
    frame(
      delta({
        reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'look', signature: 'S' }],
      }),
    ) +
    call({
      index: 0,
      id: 'a',
      function: { name: 'echo', arguments: '{}' },
      extra_content: { google: { thought_signature: 'G' } },
    }) +
    frame(delta({}, 'tool_calls'))
  const details = [{ type: 'reasoning.text', index: 0, text: 'I look', signature: 'S' }]
  await withServer(
    [
      { raw: answer },
      { status: 400, body: { error: { message: 'Unknown name "reasoning_details"' } } },
      { text: 'done' },
    ],
    async server => {
      const provider = httpProvider(FORMATS.chat_completions, { clock: systemClock })
      const { outcome, messages } = await run(provider, { endpoint: endpointAt(server) })
      assert.is(outcome.text, 'done')
      const [, first, second] = server.requests.map(({ body }) => body.messages[1])
      assert.equal(first.reasoning_details, details)
      assert.equal(first.tool_calls[0].extra_content, { google: { thought_signature: 'G' } })
      assert.equal(Object.keys(second).sort(), ['content', 'role', 'tool_calls'])
      assert.not.match(JSON.stringify(messages), 'thought_signature')
    },
  )
})

test('newer OpenAI models get the developer role, until a server rejects it', async () => {
  assert.is((await sentTo({ model: 'gpt-5.4' }))[0].role, 'developer')
  assert.is((await sentTo({ model: 'gpt-4o' }))[0].role, 'system')
  const objection = { status: 400, body: { error: { message: "unknown role 'developer'" } } }
  assert.is((await sentTo({ model: 'gpt-5.4' }, objection))[0].role, 'system')
})

test('adds cache breakpoints for Claude behind OpenRouter only, and stops after a rejection', async () => {
  const router = { provider: 'openrouter', model: 'anthropic/claude-opus-4.6' }
  const marked = await sentTo(router)
  const mark = { type: 'ephemeral' }
  assert.equal(
    marked.map((message: { content: { cache_control?: object }[] | string | null }) =>
      Array.isArray(message.content) ? message.content[0]?.cache_control : message.content,
    ),
    [mark, 'one', null, mark, mark, mark],
  )
  const plain = JSON.stringify(await sentTo({ ...router, model: 'openai/gpt-4o' }))
  assert.not.match(plain, 'cache_control')
  const objection = { status: 400, body: { error: { message: 'cache_control: unknown' } } }
  assert.not.match(JSON.stringify(await sentTo(router, objection)), 'cache_control')
})

test.run()
