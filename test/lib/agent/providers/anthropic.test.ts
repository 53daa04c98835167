/** The format `anthropic_messages`: thinking by generation, cache breakpoints, blocks, and rejections. */
import { systemClock } from '../../../../lib/base/clock.ts'
import { httpProvider } from '../../../../lib/agent/providers/http-provider.ts'
import { FORMATS } from '../../../../lib/agent/providers/registry.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProviderFailure } from '../../../../lib/agent/failure.ts'
import {
  anthropicHeaders,
  messagesUrl,
  toAnthropicBody,
} from '../../../../lib/agent/providers/anthropic-messages.ts'
import { AnthropicReader } from '../../../../lib/agent/providers/anthropic-events.ts'
import type { Quirk } from '../../../../lib/agent/providers/quirks.ts'
import type { ModelEndpoint, ProviderDelta, ProviderRequest } from '../../../../lib/agent/types.ts'
import { createProvider, type Step } from '../../../_provider.ts'

const test = suite('anthropic')

const endpoint = (extra: Partial<ModelEndpoint> = {}): ModelEndpoint => ({
  provider: 'anthropic',
  model: 'claude-opus-4-6',
  apiMode: 'anthropic_messages',
  baseUrl: 'https://api.anthropic.com',
  apiKey: 'sk-ant-1',
  contextLength: 200_000,
  ...extra,
})

const request = (
  extra: Partial<ModelEndpoint>,
  messages: ProviderRequest['messages'] = [{ role: 'user', content: 'hello' }],
  more: Partial<ProviderRequest> = {},
): ProviderRequest => ({
  endpoint: endpoint(extra),
  messages,
  tools: [],
  signal: new AbortController().signal,
  workspace: '/',
  ...more,
})

// biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary request bodies
const bodyOf = (...given: Parameters<typeof request>): any =>
  toAnthropicBody(request(...given), new Set())

const objects = (message: string): Step => ({
  status: 400,
  body: { type: 'error', error: { type: 'invalid_request_error', message } },
})

const talk = async (
  extra: Partial<ModelEndpoint>,
  more: Partial<ProviderRequest>,
  ...steps: Step[]
) => {
  await using server = await createProvider(...steps)
  const deltas: ProviderDelta[] = []
  const asked = { ...request(extra), ...more }
  const at = { ...asked.endpoint, baseUrl: server.url }
  for await (const one of await httpProvider(
    FORMATS.anthropic_messages,
    systemClock,
  )({
    ...asked,
    endpoint: at,
  }))
    deltas.push(one)
  const { requests } = server
  return {
    deltas,
    bodies: requests.map(({ body }) => body),
    headers: requests.map(({ headers }) => headers),
  }
}

const headersOf = (
  extra: Partial<ModelEndpoint> = {},
  more: Partial<ProviderRequest> = {},
  quirks: Quirk[] = [],
) => anthropicHeaders(request(extra, undefined, more), new Set(quirks))

test('the URL never contains the version twice', () => {
  assert.is(messagesUrl('https://api.anthropic.com'), 'https://api.anthropic.com/v1/messages')
  assert.is(messagesUrl('https://api.anthropic.com/v1'), 'https://api.anthropic.com/v1/messages')
  assert.is(
    messagesUrl('https://api.minimax.io/anthropic'),
    'https://api.minimax.io/anthropic/v1/messages',
  )
  assert.is(messagesUrl('https://opencode.ai/zen/v1'), 'https://opencode.ai/zen/v1/messages')
})

test("sends Anthropic's key in one header, other servers' in both, and never an empty one", () => {
  const version = { 'anthropic-version': '2023-06-01' }
  assert.equal(headersOf(), { ...version, 'x-api-key': 'sk-ant-1' })
  const other = { provider: 'minimax', baseUrl: 'https://api.minimax.io/anthropic', apiKey: 'k123' }
  assert.equal(headersOf(other), {
    ...version,
    'x-api-key': 'k123',
    authorization: 'Bearer k123',
  })
  assert.equal(headersOf({ ...other, apiKey: null }), version)
})

test('asks for thinking between tool calls where a model with a budget needs the beta header', () => {
  const tools = [{ name: 'echo', description: 'echo', parameters: {} }]
  const beta = 'interleaved-thinking-2025-05-14'
  for (const [model, extra, more, expected] of [
    ['claude-sonnet-4-5', {}, { tools }, beta],
    ['claude-opus-4-20250514', {}, { tools }, beta],
    ['claude-opus-4.1', { provider: 'other', baseUrl: 'https://proxy.example' }, { tools }, beta],
    ['claude-sonnet-4-5', {}, {}, undefined],
    ['claude-sonnet-4-5', { effort: 'none' }, { tools }, undefined],
    ['claude-3-7-sonnet-latest', {}, { tools }, undefined],
    ['claude-haiku-4-5', {}, { tools }, undefined],
    ['claude-opus-4-6', {}, { tools }, undefined],
    ['MiniMax-M2', { provider: 'minimax' }, { tools }, undefined],
  ] as const)
    assert.is(
      headersOf({ model, ...extra }, { ...more, tools: [...('tools' in more ? more.tools : [])] })[
        'anthropic-beta'
      ],
      expected,
      model,
    )
})

for (const says of [
  'Unexpected value(s) `interleaved-thinking-2025-05-14` for the `anthropic-beta` header.',
  'invalid beta flag',
])
  test(`sends no beta header to a server that refuses it: ${says}`, async () => {
    const tools = [{ name: 'echo', description: 'echo', parameters: {} }]
    const { bodies, headers } = await talk(
      { model: 'claude-sonnet-4-5' },
      { tools },
      objects(says),
      { text: 'fine' },
    )
    assert.equal(
      headers.map(one => one['anthropic-beta']),
      ['interleaved-thinking-2025-05-14', undefined],
    )
    assert.equal(bodies[1].thinking, bodies[0].thinking)
  })

test('has the API drop thinking from before a compaction when it rejects it', async () => {
  const { bodies, headers } = await talk(
    { model: 'claude-opus-5-5' },
    {},
    objects(
      'messages.3.content.0: the prefix of this thinking block has changed; set thinking.block_binding',
    ),
    { text: 'fine' },
  )
  assert.is(bodies[0].thinking.block_binding, undefined)
  assert.equal(bodies[1].thinking.block_binding, { prefix_mismatch_behavior: 'drop_block' })
  assert.is(headers[1]?.['anthropic-beta'], 'thinking-binding-controls-2026-08-01')
})

test('model ids for Anthropic and for other servers', () => {
  assert.is(bodyOf({ model: 'claude-opus-4.6' }).model, 'claude-opus-4-6')
  assert.is(bodyOf({ model: 'anthropic/claude-sonnet-4.5' }).model, 'claude-sonnet-4-5')
  const copilot = { provider: 'copilot', baseUrl: 'https://api.githubcopilot.com' }
  assert.is(bodyOf({ ...copilot, model: 'claude-opus-4.6' }).model, 'claude-opus-4.6')
})

type Row = [extra: Partial<ModelEndpoint>, max: number, thinking: unknown, effort?: string]
const adaptive = { type: 'adaptive' }
const budget = (budget_tokens: number) => ({ type: 'enabled', budget_tokens })
const THINKING: Row[] = [
  [{ model: 'claude-opus-4-6' }, 64_000, adaptive, 'medium'],
  [{ model: 'claude-sonnet-4.6', effort: 'xhigh' }, 64_000, adaptive, 'max'],
  [{ model: 'claude-opus-4-6', effort: 'minimal' }, 64_000, adaptive, 'low'],
  [{ model: 'claude-opus-4-6', effort: 'none' }, 64_000, undefined],
  [
    { model: 'claude-opus-4-7', effort: 'high' },
    64_000,
    { ...adaptive, display: 'summarized' },
    'high',
  ],
  [{ model: 'claude-next' }, 64_000, { ...adaptive, display: 'summarized' }, 'medium'],
  [{ model: 'claude-sonnet-5', effort: 'none', maxTokens: 100 }, 100, { type: 'disabled' }],
  [{ model: 'claude-opus-5', effort: 'none' }, 64_000, { type: 'disabled' }],
  [
    { model: 'claude-opus-5-5', effort: 'none', maxTokens: 100 },
    4_196,
    { ...adaptive, display: 'summarized' },
    'low',
  ],
  [
    { model: 'claude-fable-5-1', effort: 'none' },
    64_000,
    { ...adaptive, display: 'summarized' },
    'low',
  ],
  [{ model: 'deepseek-v4-pro', effort: 'none' }, 32_000, { type: 'disabled' }],
  [{ model: 'deepseek-v4-pro', effort: 'xhigh' }, 32_000, { type: 'enabled' }, 'max'],
  [{ model: 'deepseek-v4-pro' }, 32_000, undefined],
  [{ model: 'kimi-k2.6', effort: 'none' }, 32_000, { type: 'disabled' }],
  [{ model: 'kimi-k2.7-code', effort: 'none' }, 32_000, undefined],
  [{ model: 'glm-4.7', effort: 'high' }, 32_000, budget(16_000)],
  [{ model: 'MiniMax-M3', effort: 'none' }, 32_000, { type: 'disabled' }],
  [{ model: 'MiniMax-M2.7', effort: 'none' }, 32_000, undefined],
  [{ model: 'claude-sonnet-4-5-20250929', effort: 'low' }, 32_000, budget(4_000)],
  [{ model: 'claude-opus-4-20250514' }, 32_000, budget(8_000)],
  [{ model: 'claude-opus-4-1', effort: 'high' }, 32_000, budget(16_000)],
  [{ model: 'claude-opus-4-1', effort: 'xhigh' }, 36_096, budget(32_000)],
  [{ model: 'claude-opus-4-1', effort: 'high', maxTokens: 500 }, 20_096, budget(16_000)],
  [{ model: 'claude-3-7-sonnet-20250219' }, 32_000, budget(8_000)],
  [{ model: 'claude-3-5-sonnet-20241022', effort: 'high' }, 8_192, undefined],
  [{ model: 'claude-3-haiku-20240307' }, 4_096, undefined],
  [{ model: 'claude-haiku-4-5', effort: 'high' }, 32_000, undefined],
  [{ model: 'MiniMax-M2.7', effort: 'high' }, 32_000, undefined],
]
for (const [extra, max, thinking, effort] of THINKING)
  test(`thinking of ${extra.model} with ${extra.effort ?? 'no effort said'}`, () => {
    const body = bodyOf(extra)
    assert.equal([body.max_tokens, body.thinking], [max, thinking])
    assert.equal(body.output_config, effort && { effort })
    assert.is(body.temperature, undefined)
  })

const use = (id: string, name = 'f') => ({
  id,
  type: 'function' as const,
  function: { name, arguments: '{"a":1}' },
})

test("roles alternate; results of one batch are in one message, before the user's text", () => {
  const { messages, system } = bodyOf({}, [
    { role: 'system', content: 'Be kind.' },
    { role: 'assistant', content: 'A summary.' },
    { role: 'user', content: 'one' },
    { role: 'user', content: '  ' },
    { role: 'assistant', content: 'Both.', tool_calls: [use('x'), use('y')] },
    { role: 'tool', tool_call_id: 'x', content: '{"error":"no"}' },
    { role: 'tool', tool_call_id: 'y', content: '' },
    { role: 'user', content: 'and?' },
    { role: 'assistant', content: '' },
    { role: 'user', content: 'more' },
  ])
  assert.equal(system, [{ type: 'text', text: 'Be kind.' }])
  assert.equal(
    messages.map((m: { role: string; content: { type: string }[] }) => [
      m.role,
      ...m.content.map(({ type }) => type),
    ]),
    [
      ['user', 'text'],
      ['assistant', 'text'],
      ['user', 'text', 'text'],
      ['assistant', 'text', 'tool_use', 'tool_use'],
      ['user', 'tool_result', 'tool_result', 'text', 'text'],
    ],
  )
  assert.is(messages[4].content[0].is_error, true)
  assert.equal(messages[4].content[1], { type: 'tool_result', tool_use_id: 'y', content: '' })
})

test('at most four cache breakpoints: the system prompt and the newest messages, never thinking', () => {
  const messages: ProviderRequest['messages'] = [
    { role: 'system', content: 'S' },
    ...['a', 'b', 'c', 'd', 'e'].map((content, at) => ({
      role: at % 2 ? ('assistant' as const) : ('user' as const),
      content,
    })),
  ]
  const tally = (body: unknown) => JSON.stringify(body).split('cache_control').length - 1
  assert.is(tally(bodyOf({}, messages)), 0)
  const marked = bodyOf({}, messages, { sessionKey: 's' })
  assert.is(tally(marked), 4)
  assert.equal(marked.messages.at(-1).content[0].cache_control, { type: 'ephemeral' })
  assert.is(marked.messages[0].content[0].cache_control, undefined)
  const long = bodyOf({ cacheTtl: '1h' }, messages, { sessionKey: 's' })
  assert.equal(long.system[0].cache_control, { type: 'ephemeral', ttl: '1h' })
})

const CARRY = {
  endpointKey: 'x',
  items: [
    { item: { type: 'thinking', thinking: 'T', signature: 'S' }, chars: 0, calls: 0 },
    { item: { type: 'redacted_thinking', data: 'D' }, chars: 3, calls: 1 },
  ],
}
const CARRIED: ProviderRequest['messages'] = [
  { role: 'user', content: 'go' },
  { role: 'assistant', content: 'one two', tool_calls: [use('x'), use('y')], providerState: CARRY },
  { role: 'tool', tool_call_id: 'x', content: 'X' },
  { role: 'tool', tool_call_id: 'y', content: 'Y' },
]

test('returns reasoning at its original position', () => {
  const [, { content }] = bodyOf({}, CARRIED).messages
  assert.equal(
    content.map(
      (block: { type: string; text?: string; id?: string }) => block.text ?? block.id ?? block.type,
    ),
    ['thinking', 'one', 'x', 'redacted_thinking', ' two', 'y'],
  )
})

test('a rejected signature: retries once without thinking, for this call only', async () => {
  const { bodies } = await talk(
    {},
    { messages: CARRIED },
    objects('messages.1.content.0: Invalid `signature` in `thinking` block'),
    { text: 'fine' },
  )
  assert.is(bodies.length, 2)
  assert.ok(JSON.stringify(bodies[0]).includes('redacted_thinking'))
  assert.not.match(JSON.stringify(bodies[1]), 'thinking')
})

test('a rejection without a known quirk is the result', async () => {
  await talk({}, {}, objects('messages: too odd')).then(
    () => assert.unreachable(),
    error => {
      assert.instance(error, ProviderFailure)
      assert.equal([error.type, error.retryable], ['error', false])
    },
  )
})

/** The deltas of these events. */
const reads = (...events: object[]): ProviderDelta[] => {
  const reader = new AnthropicReader()
  const deltas = events.flatMap(event => reader.read(event))
  return [...deltas, ...reader.end()]
}
const stop = (stop_reason: string, delta = {}) => ({
  type: 'message_delta',
  delta: { stop_reason, ...delta },
})

test('the ends of a response', () => {
  const ends = ['end_turn', 'stop_sequence', 'max_tokens', 'pause_turn', 'refusal', 'new_word']
  const text = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } }
  assert.equal(
    ends.map(end => reads(text, stop(end)).at(-1)),
    ['stop', 'stop', 'length', 'length', 'content_filter', 'other'].map(reason => ({
      type: 'finish',
      reason,
    })),
  )
  const full = 'model_context_window_exceeded'
  assert.equal(reads(text, stop(full)).at(-1), { type: 'finish', reason: 'window_full' })
  const why = reads(stop('refusal', { stop_details: { explanation: 'Not that.' } }))
  assert.equal(why[0], { type: 'refusal', text: 'Not that.' })
})

test('returns redacted and unsigned thinking; tool input may arrive whole', () => {
  const begin = (index: number, content_block: object) => ({
    type: 'content_block_start',
    index,
    content_block,
  })
  const end = (index: number) => ({ type: 'content_block_stop', index })
  const deltas = reads(
    begin(0, { type: 'redacted_thinking', data: 'D' }),
    end(0),
    begin(1, { type: 'thinking', thinking: 'bare' }),
    end(1),
    begin(2, { type: 'tool_use', id: 'i', name: 'f', input: { a: 1 } }),
    end(2),
    stop('tool_use'),
  )
  assert.equal(deltas.slice(0, -1), [
    {
      type: 'provider_state',
      item: { item: { type: 'redacted_thinking', data: 'D' }, chars: 0, calls: 0 },
    },
    { type: 'reasoning', text: 'bare' },
    {
      type: 'provider_state',
      item: { item: { type: 'thinking', thinking: 'bare' }, chars: 0, calls: 0 },
    },
    { type: 'tool_call', index: 0, id: 'i', name: 'f' },
    { type: 'tool_call', index: 0, arguments: '{"a":1}' },
  ])
})

test('usage: written, read and plain tokens are one prompt', () => {
  const usage = { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 7 }
  const deltas = reads(
    { type: 'message_start', message: { usage: { ...usage, output_tokens: 1 } } },
    { ...stop('end_turn'), usage: { output_tokens: 42, input_tokens: 0 } },
  )
  assert.equal(deltas[0], {
    type: 'usage',
    inputTokens: 117,
    outputTokens: 42,
    cacheReadTokens: 100,
    cacheWriteTokens: 7,
  })
})

test('cache marks of one request do not appear in the next', () => {
  const messages = [
    { role: 'assistant' as const, content: 'hello' },
    { role: 'user' as const, content: ' ' },
  ]
  const body = (more: Partial<ProviderRequest>) => JSON.stringify(bodyOf({}, messages, more))
  const before = body({})
  assert.match(body({ sessionKey: 's1' }), 'cache_control')
  assert.is(body({}), before)
})

test.run()
