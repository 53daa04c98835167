/** What only `chat_completions` has: calls in any fragments, usage under many names, reasoning fields, roles, breakpoints. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ModelEndpoint, ProviderDelta, ProviderRequest } from '../../../../lib/agent/types.ts'
import { createTestClock } from '../../../_clock.ts'
import { createProvider, delta, frame, gate, type Step } from '../../../_provider.ts'
import { until } from '../../../_wait.ts'
import { run } from '../_run.ts'
import { FORMATS, failing, finishOf, KEY, speaker, textOf, withServer } from './_matrix.ts'

const test = suite('chat')
const format = FORMATS[0]!
const { ask, endpointAt } = speaker(format)
const END = 'data: [DONE]\n\n'
const chunks = (...deltas: unknown[]) => deltas.map(one => frame(delta(one))).join('')
const ended = (finish: string, ...deltas: unknown[]): Step => ({
  raw: `${chunks(...deltas)}${frame(delta({}, finish))}`,
})

test('an unreachable host, and an address that is none', async () => {
  const server = await createProvider()
  await server.close()
  const unreachable = await failing(ask(server))
  assert.equal([unreachable.type, unreachable.retryable], ['network', true])
  assert.match(unreachable.message, 'refused')
  const invalid = await failing(ask(server, { extra: { baseUrl: 'not a url' } }))
  assert.equal([invalid.type, invalid.retryable], ['wrong_address', false])
})

test('text, usage and what is sent; no key, no header', () =>
  withServer(
    [
      { text: ['Hel', 'lo'], usage: { prompt_tokens: 3, completion_tokens: 2, cost: 0.5 } },
      { text: 'x' },
    ],
    async server => {
      const deltas = await ask(server, { extra: { maxTokens: 77, effort: 'xhigh' } })
      assert.is(textOf(deltas), 'Hello')
      assert.equal(deltas.slice(-2), [
        { type: 'usage', inputTokens: 3, outputTokens: 2, cost: 0.5 },
        { type: 'finish', reason: 'stop' },
      ])
      await ask(server, { extra: { apiKey: null } })
      const [first, second] = server.requests
      const { path, headers, body } = first!
      assert.equal([path, headers.authorization], [format.path, `Bearer ${KEY}`])
      assert.equal(body, {
        model: 'some-model',
        messages: [{ role: 'user', content: 'hello' }],
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 77,
        reasoning_effort: 'high',
      })
      assert.is(second?.headers.authorization, undefined)
    },
  ))

test('Azure: keeps the query behind the path and sends the key in `api-key`', () =>
  withServer([{ text: 'x' }], async server => {
    const place = '/openai/deployments/gpt-4o'
    await ask(server, { extra: { baseUrl: `${server.url}${place}?api-version=2024-10-21` } })
    const { path, headers } = server.requests[0]!
    assert.is(path, `/v1${place}/chat/completions?api-version=2024-10-21`)
    assert.equal([headers['api-key'], headers.authorization], [KEY, undefined])
  }))

test('[DONE] missing, last blank line missing, connection cut or left open after the last token', () =>
  withServer(
    [
      { text: 'one', done: false },
      { raw: frame(delta({ content: 'two' }, 'stop')).trimEnd() },
      { text: 'three', done: false, end: 'cut' },
      { text: 'four', end: 'open' },
    ],
    async server => {
      for (const text of ['one', 'two', 'three', 'four']) {
        const deltas = await ask(server)
        assert.equal([textOf(deltas), finishOf(deltas)], [text, ['stop']])
      }
    },
  ))

test('waits only briefly for usage after the end', () =>
  withServer([{ text: 'x', done: false, end: 'open' }], async server => {
    const clock = createTestClock()
    const asked = ask(server, { options: { clock } })
    await until(() => clock.waiting().includes(5_000))
    await clock.advance(5_000)
    assert.is(textOf(await asked), 'x')
  }))

test('delivers chunks as they arrive', () => {
  const middle = gate()
  return withServer([{ text: ['first', 'second'], middle: middle.opened }], async server => {
    const stream = await format.create()(requestTo(endpointAt(server)))
    assert.equal((await stream.next()).value, { type: 'text', text: 'first' })
    middle.open()
    await stream.return(undefined)
  })
})

const REASONING: [name: string, step: Step][] = [
  [
    'two fields that say the same',
    ended('stop', { reasoning: 'R', reasoning_details: [{ text: 'R' }] }, { content: 'x' }),
  ],
  [
    'details',
    ended('stop', { reasoning_details: [{ type: 'reasoning.text', text: 'R' }] }, { content: 'x' }),
  ],
  [
    'parts of the content',
    ended('stop', {
      content: [
        { type: 'thinking', thinking: [{ text: 'R' }] },
        { type: 'text', text: 'x' },
      ],
    }),
  ],
  ['a tag in pieces', { text: ['\n<thi', 'nk>R</thi', 'nk>\n\n', 'x'] }],
  ['a tag', { text: '<think>R</think>x' }],
]
for (const [name, step] of REASONING)
  test(`reasoning as ${name}`, () =>
    withServer([step], async server => {
      const deltas = await ask(server)
      assert.equal([textOf(deltas, 'reasoning'), textOf(deltas)], ['R', 'x'])
    }))

test('a tag later in the response is text', () =>
  withServer([{ text: ['The tag ', '<think> is', ' text. a < b'] }], async server => {
    const deltas = await ask(server)
    assert.is(textOf(deltas), 'The tag <think> is text. a < b')
    assert.is(textOf(deltas, 'reasoning'), '')
  }))

const A = 'a f {"x":1}'
const B = 'b g {"y":2}'
const SAME = 'a g {"y":2}'
/** Fragments of calls as `index id name arguments`, a dash for an absent field, and the calls that they are. */
const CALLS: [name: string, fragments: string[], ...calls: string[]][] = [
  [
    'by index, interleaved',
    ['0 a f -', '1 b g ', '0 - - {"x"', '1 - - {"y":2}', '0 - - :1}'],
    A,
    B,
  ],
  ['without index', ['- a f {"x"', '- - - :1}', '- b g {"y":2}'], A, B],
  ['always index 0, different ids, an object', ['0 a f {"x":1}', '0 b g ={"y":2}'], A, B],
  ['id and name in every chunk', ['0 a f {"x"', '0 a f :1}', '1 b g {"y":2}'], A, B],
  ['one id for two indexes', ['0 a f {"x":1}', '1 a g {"y":2}'], A, SAME],
  ['the same in pieces', ['0 a f {"x"', '1 a g {"y"', '0 - - :1}', '1 - - :2}'], A, SAME],
  ['the same, repeated', ['0 a f {"x"', '0 a f :1}', '1 a g {"y"', '1 a g :2}'], A, SAME],
  ['one id and index for two whole calls', ['0 a f {"x":1}', '0 a g {"y":2}'], A, SAME],
  ['one id and no index for two whole calls', ['- a f {"x":1}', '- a g {"y":2}'], A, SAME],
  ['an index that counts the pieces', ['0 a f {"x"', '1 a - :1}', '2 b g {"y":2}'], A, B],
  [
    'the name in every piece and no id, with braces in the arguments',
    ['0 - f {"x"', ...[...':"}{\\"}"}'].map(char => `0 - f ${char}`), '0 - g {"y":2}'],
    ' f {"x":"}{\\"}"}',
    ' g {"y":2}',
  ],
  ['no id', ['0  f {"x":1}', '0  g {"y":2}'], ' f {"x":1}', ' g {"y":2}'],
  [
    'no id, in pieces',
    ['0 - f ', '0 - - {"x":1}', '0 - g {"y', '0 - - ":2}'],
    ' f {"x":1}',
    ' g {"y":2}',
  ],
  ['other ids on what goes on', ['0 a f ', '0 b - {"x"', '0 c - :1}'], A],
  ['all of it again at last', ['0 a f {"x"', '0 - - :1}', '0 a f {"x":1}'], A],
  ['ids but no index', ['- a f {"x":1}', '- b g {"y":2}'], A, B],
  ['an empty object before the arguments', ['0 a f {}', '0 - - {"x":', '0 - - 1}'], A],
]
const toDelta = (fragment: string) => {
  const [index = '', id = '', name = '', ...rest] = fragment.split(' ')
  const written = rest.join(' ')
  const fields = {
    ...(name !== '-' && { name }),
    ...(written !== '-' && {
      arguments: written.startsWith('=') ? JSON.parse(written.slice(1)) : written,
    }),
  }
  const call = { ...(index !== '-' && { index: Number(index) }), ...(id !== '-' && { id }) }
  return { tool_calls: [{ ...call, function: fields }] }
}
const callsOf = (deltas: ProviderDelta[]): string[] => {
  const parts = Map.groupBy(
    deltas.filter(one => one.type === 'tool_call'),
    ({ index }) => index,
  )
  return [...parts.values()].map(pieces =>
    (['id', 'name', 'arguments'] as const)
      .map(key => pieces.map(piece => piece[key] ?? '').join(''))
      .join(' '),
  )
}
for (const [name, fragments, ...calls] of CALLS)
  test(`tool calls: ${name}`, () =>
    withServer([ended('tool_calls', ...fragments.map(toDelta))], async server =>
      assert.equal(callsOf(await ask(server)), calls),
    ))

test('the one call of long ago', () => {
  const pieces = [{ name: 'f', arguments: '' }, { arguments: '{"x"' }, { arguments: ':1}' }]
  const step = ended('tool_calls', ...pieces.map(function_call => ({ function_call })))
  return withServer([step], async server =>
    assert.equal(callsOf(await ask(server)), [' f {"x":1}']),
  )
})

const usage = (prompt_tokens: number, completion_tokens: number, more: object = {}) => ({
  usage: { prompt_tokens, completion_tokens, ...more },
})
const cached = (cached_tokens: number, more: object = {}) => ({
  prompt_tokens_details: { cached_tokens, ...more },
})
/** What the last chunk says, and the tokens: prompt, answer, read from and written to the cache. */
const USAGE: [name: string, last: object, tokens: string][] = [
  ['OpenAI', usage(9, 5, cached(5)), '9 5 5 -'],
  ['DeepSeek', usage(9, 5, { prompt_cache_hit_tokens: 4 }), '9 5 4 -'],
  ['Moonshot', usage(9, 5, { cached_tokens: 3 }), '9 5 3 -'],
  ['Moonshot, in the choice', { choices: [usage(9, 5, { cached_tokens: 3 })] }, '9 5 3 -'],
  ['Groq', { x_groq: usage(9, 5, cached(2)) }, '9 5 2 -'],
  ['OpenRouter', usage(9, 5, cached(5, { cache_write_tokens: 2 })), '9 5 5 2'],
  ['Qwen', usage(9, 5, cached(0, { cache_creation_input_tokens: 7 })), '9 5 - 7'],
  ['nothing', usage(9, 5, { prompt_tokens_details: null }), '9 5 - -'],
  ['xAI, reasoning apart', usage(10, 5, { total_tokens: 115 }), '10 105 - -'],
  ['OpenAI, reasoning included', usage(10, 105, { total_tokens: 115 }), '10 105 - -'],
  ['a total of zero', usage(10, 5, { total_tokens: 0 }), '10 5 - -'],
  ['cached apart', usage(9, 5, { total_tokens: 1_014, ...cached(1_000) }), '1009 5 1000 -'],
  ['a few cached apart', usage(90, 5, { total_tokens: 115, ...cached(20) }), '90 5 20 -'],
  ['both apart', usage(9, 5, { total_tokens: 1_114, ...cached(1_000) }), '1009 105 1000 -'],
  // What was counted before stays.
  ['an end that says nothing', { usage: {} }, '10 2 - -'],
  ['an end that says zero', usage(0, 0), '10 2 - -'],
  ['an end that says null', { usage: { total_tokens: null } }, '10 2 - -'],
]
for (const [name, last, tokens] of USAGE)
  test(`usage: ${name}`, () => {
    const raw = [
      { ...delta({ content: 'a' }, 'stop'), ...usage(10, 2) },
      { choices: [], ...last },
    ]
    return withServer([{ raw: `${raw.map(frame).join('')}${END}` }], async server => {
      const found = (await ask(server)).find(one => one.type === 'usage')
      const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = found!
      const counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens]
      assert.is(counts.map(count => count ?? '-').join(' '), tokens)
    })
  })

const requestTo = (endpoint: ModelEndpoint): ProviderRequest => ({
  endpoint,
  messages: [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'one' },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      providerState: { endpointKey: 'other', items: ['secret'] },
    },
    { role: 'tool', tool_call_id: 'a', content: 'R' },
    { role: 'assistant', content: 'two' },
    { role: 'user', content: 'three' },
  ],
  tools: [],
  signal: new AbortController().signal,
  workspace: '/',
  sessionKey: 's',
})

/** The messages sent to this endpoint at last; it may reject the first request with a sentence. */
const sentTo = async (extra: Partial<ModelEndpoint>, rejection?: string) => {
  const rejected = { status: 400, body: { error: { message: rejection } } }
  let sent: { role: string; content: unknown }[] = []
  await withServer([...(rejection ? [rejected] : []), { text: 'x' }], async server => {
    for await (const _ of await format.create()(requestTo(endpointAt(server, extra))));
    sent = server.requests.at(-1)!.body.messages
  })
  return sent
}

test('never sends the provider state of another format', async () => {
  const messages = await sentTo({})
  assert.not.match(JSON.stringify(messages), 'secret')
  assert.equal(Object.keys(messages[2]!), ['role', 'content', 'tool_calls'])
})

test('returns reasoning details and signatures within the turn, until a server rejects them', () => {
  const detail = { type: 'reasoning.text', index: 0 }
  const answer = ended(
    'tool_calls',
    { reasoning_details: [{ ...detail, text: 'I ' }] },
    { reasoning_details: [{ ...detail, text: 'look', signature: 'S' }] },
    {
      tool_calls: [
        {
          index: 0,
          id: 'a',
          function: { name: 'echo', arguments: '{}' },
          extra_content: { google: { thought_signature: 'G' } },
        },
      ],
    },
  )
  const rejected = { status: 400, body: { error: { message: 'Unknown name "reasoning_details"' } } }
  return withServer([answer, rejected, { text: 'done' }], async server => {
    const { outcome, messages } = await run(format.create(), { endpoint: endpointAt(server) })
    assert.is(outcome.text, 'done')
    const [, first, second] = server.requests.map(({ body }) => body.messages[1])
    assert.equal(first.reasoning_details, [{ ...detail, text: 'I look', signature: 'S' }])
    assert.equal(first.tool_calls[0].extra_content, { google: { thought_signature: 'G' } })
    assert.equal(Object.keys(second).sort(), ['content', 'role', 'tool_calls'])
    assert.not.match(JSON.stringify(messages), 'thought_signature')
  })
})

test('newer OpenAI models get the developer role, until a server rejects it', async () => {
  const roleOf = async (model: string, rejection?: string) =>
    (await sentTo({ model }, rejection))[0]?.role
  assert.equal(
    [
      await roleOf('gpt-5.4'),
      await roleOf('gpt-4o'),
      await roleOf('gpt-5.4', "unknown role 'developer'"),
    ],
    ['developer', 'system', 'system'],
  )
})

test('cache breakpoints are for Claude behind OpenRouter only, until a server rejects them', async () => {
  const router = { provider: 'openrouter', model: 'anthropic/claude-opus-4.6' }
  const mark = { type: 'ephemeral' }
  assert.equal(
    (await sentTo(router)).map(({ content }) =>
      Array.isArray(content) ? content[0]?.cache_control : content,
    ),
    [mark, 'one', null, mark, mark, mark],
  )
  for (const plain of [
    await sentTo({ ...router, model: 'openai/gpt-4o' }),
    await sentTo(router, 'cache_control: unknown'),
  ])
    assert.not.match(JSON.stringify(plain), 'cache_control')
})

test.run()
