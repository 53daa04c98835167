/** The format `codex_responses`: request shape, effort by model, unusual servers, rejections. */
import { systemClock } from '../../../../lib/base/clock.ts'
import { httpProvider } from '../../../../lib/agent/providers/http-provider.ts'
import { FORMATS } from '../../../../lib/agent/providers/registry.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  responsesHeaders,
  toResponsesBody,
} from '../../../../lib/agent/providers/codex-responses.ts'
import { ResponsesReader } from '../../../../lib/agent/providers/responses-events.ts'
import type { ModelEndpoint, ProviderDelta, ProviderRequest } from '../../../../lib/agent/types.ts'
import type { ToolCall } from '../../../../lib/schema/message.ts'
import { ENCRYPTED } from '../../../_formats.ts'
import { createProvider, frame, type Step } from '../../../_provider.ts'

const test = suite('responses')

const endpoint = (extra: Partial<ModelEndpoint> = {}): ModelEndpoint => ({
  provider: 'openai',
  model: 'gpt-5.4',
  apiMode: 'codex_responses',
  baseUrl: 'https://api.openai.com/v1',
  apiKey: 'sk-1',
  contextLength: 200_000,
  ...extra,
})

const request = (
  extra: Partial<ModelEndpoint> = {},
  more: Partial<ProviderRequest> = {},
): ProviderRequest => ({
  endpoint: endpoint(extra),
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
  signal: new AbortController().signal,
  workspace: '/',
  ...more,
})

// biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary request bodies
const bodyOf = (...given: Parameters<typeof request>): any =>
  toResponsesBody(request(...given), new Set())

test('the whole request', () => {
  const parameters = { type: 'object', properties: {} }
  const body = bodyOf(
    { maxTokens: 5 },
    {
      sessionKey: 'session-1',
      tools: [{ name: 'f', description: 'does f', parameters }],
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: 'Well.',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', name: 'f', content: 'R' },
      ],
    },
  )
  assert.equal(body, {
    model: 'gpt-5.4',
    instructions: 'Be kind.',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Well.' }] },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'R' },
    ],
    stream: true,
    store: false,
    tools: [{ type: 'function', name: 'f', description: 'does f', parameters, strict: false }],
    parallel_tool_calls: true,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'medium', summary: 'auto' },
    prompt_cache_key: 'session-1',
    max_output_tokens: 16,
  })
})

type Row = [model: string, effort: ModelEndpoint['effort'], said: string | undefined]
const EFFORTS: Row[] = [
  ['gpt-5', 'minimal', 'minimal'],
  ['gpt-5', 'none', 'minimal'],
  ['gpt-5', 'xhigh', 'high'],
  ['gpt-5-codex', 'minimal', 'low'],
  ['gpt-5-codex', 'none', undefined],
  ['gpt-5.1-codex-max', 'xhigh', 'xhigh'],
  ['gpt-5.1-codex-mini', 'xhigh', 'high'],
  ['openai/gpt-5.4', 'xhigh', 'xhigh'],
  ['gpt-5.4', 'none', 'none'],
  ['gpt-5.4', 'minimal', 'low'],
  ['o3', undefined, 'medium'],
  ['gpt-4.1', 'high', undefined],
  ['gpt-4o', undefined, undefined],
  ['gpt-5-chat-latest', 'high', undefined],
]
for (const [model, effort, said] of EFFORTS)
  test(`effort of ${model} when ${effort ?? 'nothing'} is said`, () => {
    assert.is(bodyOf({ model, ...(effort && { effort }) }).reasoning?.effort, said)
  })

test('an output limit leaves tokens for reasoning that cannot be turned off', () => {
  assert.is(bodyOf({ effort: 'none', maxTokens: 64 }).max_output_tokens, 64)
  assert.is(
    bodyOf({ model: 'gpt-5-codex', effort: 'none', maxTokens: 64 }).max_output_tokens,
    64 + 4_096,
  )
  assert.is(bodyOf({ model: 'gpt-4o', effort: 'none', maxTokens: 64 }).max_output_tokens, 64)
  assert.is(bodyOf({}).max_output_tokens, undefined)
})

test('a sign-in sends its account id and always has instructions', () => {
  const claims = { 'https://api.openai.com/auth': { chatgpt_account_id: 'acc-1' } }
  const token = `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`
  const signedIn = { baseUrl: 'https://chatgpt.com/backend-api/codex', maxTokens: 9 }
  assert.is(
    responsesHeaders(request({ ...signedIn, apiKey: token }))['chatgpt-account-id'],
    'acc-1',
  )
  assert.equal(responsesHeaders(request({ ...signedIn, apiKey: 'odd' })), {
    authorization: 'Bearer odd',
  })
  assert.is(responsesHeaders(request({ apiKey: token }))['chatgpt-account-id'], undefined)
  const body = bodyOf(signedIn)
  assert.ok(body.instructions.length > 0)
  assert.is(body.max_output_tokens, undefined)
})

const talk = async (more: Partial<ProviderRequest>, ...steps: Step[]) => {
  await using server = await createProvider(...steps)
  const deltas: ProviderDelta[] = []
  const asked = request({ baseUrl: server.url, maxTokens: 100 }, { sessionKey: 's', ...more })
  for await (const one of await httpProvider(FORMATS.codex_responses, systemClock)(asked))
    deltas.push(one)
  return { deltas, bodies: server.requests.map(({ body }) => body) }
}
const objects = (message: string): Step => ({ status: 400, body: { error: { message } } })

test('a message keeps its phase, in this and in later turns, until a server refuses it', async () => {
  const said = (text: string, phase?: string | null) => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text }],
    ...(phase !== undefined && { phase }),
  })
  const call = { type: 'function_call', call_id: 'c', name: 'echo', arguments: '{}' }
  const output = [said('I look. ', 'commentary'), said('Plain. ', null), call]
  const { deltas } = await talk(
    {},
    {
      raw: [
        ...output.map((item, output_index) => ({
          type: 'response.output_item.done',
          output_index,
          item,
        })),
        { type: 'response.completed', response: { status: 'completed', output } },
      ]
        .map(frame)
        .join(''),
    },
  )
  const items = deltas.flatMap(one => (one.type === 'provider_state' ? [one.item] : []))
  const toolCall = { id: 'c', type: 'function', function: { name: 'echo', arguments: '{}' } }
  const back = (isEarlier: boolean): ProviderRequest['messages'] => [
    { role: 'user', content: 'hello' },
    {
      role: 'assistant',
      content: 'I look. Plain. ',
      tool_calls: [toolCall as ToolCall],
      providerState: { endpointKey: '', items, isEarlier },
    },
    { role: 'tool', tool_call_id: 'c', content: '{}' },
  ]
  for (const isEarlier of [false, true]) {
    const { bodies } = await talk({ messages: back(isEarlier) }, { text: 'x' })
    assert.equal(bodies[0].input.slice(1, 4), output)
  }
  const { bodies } = await talk(
    { messages: back(true) },
    objects("Unknown parameter: 'input[1].phase'."),
    { text: 'x' },
  )
  assert.equal(bodies[1].input.slice(1, 3), [said('I look. Plain. '), call])
})

test('drops unverifiable reasoning for one call', async () => {
  const item = { type: 'reasoning', summary: [], encrypted_content: ENCRYPTED }
  const messages: ProviderRequest['messages'] = [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: 'x',
      providerState: { endpointKey: 'b', items: [{ item, chars: 0, calls: 0 }] },
    },
    { role: 'user', content: 'on' },
  ]
  const says = 'The encrypted content gAAA...wXBV could not be verified.'
  const { bodies } = await talk({ messages }, objects(says), { text: 'fine' })
  assert.equal(bodies[0].input[1], item)
  assert.not.match(JSON.stringify(bodies[1]), ENCRYPTED)
  assert.ok(bodies[1].include)
})

const reads = (...events: object[]): ProviderDelta[] => {
  const reader = new ResponsesReader()
  const deltas = events.flatMap(event => reader.read(event))
  return [...deltas, ...reader.end()]
}
const completed = (response: object = {}) => ({
  type: 'response.completed',
  response: { status: 'completed', ...response },
})
const CALL = { type: 'function_call', id: 'fc', call_id: 'c', name: 'f', arguments: '{"a":1}' }
const MESSAGE = { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'hi' }] }

test('servers that send only whole items, only the final event, or no indexes', () => {
  const expected = [
    { type: 'text', text: 'hi' },
    { type: 'tool_call', index: 0, id: 'c', name: 'f' },
    { type: 'tool_call', index: 0, arguments: '{"a":1}' },
    { type: 'finish', reason: 'tool_calls' },
  ]
  const done = (item: object) => ({ type: 'response.output_item.done', item })
  assert.equal(reads(done(MESSAGE), done(CALL), completed()), expected)
  assert.equal(reads(completed({ output: [MESSAGE, CALL] })), expected)
  const written = reads(
    { type: 'response.output_text.delta', item_id: 'm', delta: 'hi' },
    done(MESSAGE),
    { type: 'response.output_item.added', item: { ...CALL, arguments: '' } },
    { type: 'response.function_call_arguments.done', item_id: 'fc', arguments: '{"a":1}' },
    done(CALL),
    completed({ output: [MESSAGE, CALL] }),
  )
  assert.equal(written, expected)
})

test('separates summaries of several parts; plain reasoning counts, too', () => {
  const at = { output_index: 0 }
  const part = { type: 'response.reasoning_summary_part.added', ...at }
  const say = (delta: string) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })
  const text = (deltas: ProviderDelta[]) =>
    deltas.map(one => (one.type === 'reasoning' ? one.text : '')).join('')
  assert.is(text(reads(part, say('A'), part, say('B'), completed())), 'A\n\nB')
  const raw = { type: 'response.reasoning_text.delta', ...at, delta: 'R' }
  assert.is(text(reads(raw, completed())), 'R')
})

test('reasoning counted apart from the output, in the total only', () => {
  for (const [usage, output] of [
    [{ input_tokens: 10, output_tokens: 5, total_tokens: 115 }, 105],
    [{ input_tokens: 10, output_tokens: 105, total_tokens: 115 }, 105],
    [{ input_tokens: 10, output_tokens: 5 }, 5],
  ] as const) {
    const [found] = reads(completed({ output: [], usage })).filter(one => one.type === 'usage')
    assert.is(found?.outputTokens, output)
  }
})

test.run()
