/** Headers and time limits of config.yaml, from the file to the request. */
import { httpProvider } from '../../../lib/agent/providers/http-provider.ts'
import { FORMATS } from '../../../lib/agent/providers/registry.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ModelEndpoint } from '../../../lib/agent/types.ts'
import { UserError } from '../../../lib/errors.ts'
import { resolveEndpoint } from '../../../lib/models/endpoint.ts'
import { resolveFor } from '../../../lib/models/resolve.ts'
import { createTestClock } from '../../_clock.ts'
import { createProvider } from '../../_provider.ts'
import { until } from '../../_wait.ts'
import { bare, homeOf } from './_home.ts'

const test = suite('request options')

const LOCAL = 'http://127.0.0.1:9/v1'
const KEY = 'sk-test-1234'
const TAGS = { 'X-LiteLLM-Tags': 'a,b' }

type Config = Record<string, unknown>

const endpointOf = (config: Config, id = '', baseUrl?: string): ModelEndpoint => {
  const home = homeOf({
    config,
    dotenv: { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY, DEEPSEEK_API_KEY: KEY },
  })
  return resolveEndpoint(home, bare, {
    ...resolveFor(home, id),
    ...(baseUrl !== undefined && { baseUrl }),
  })
}

const WHERE: [name: string, config: Config, id: string, headers: unknown][] = [
  [
    'beside the address of the default model',
    { model: { default: 'm', provider: 'custom', base_url: LOCAL, extra_headers: TAGS } },
    '',
    { 'x-litellm-tags': 'a,b' },
  ],
  [
    'under the name of the host agent, and both together',
    {
      model: {
        default: 'm',
        provider: 'custom',
        base_url: LOCAL,
        default_headers: { a: 1, b: 'old' },
        extra_headers: { B: 'new', c: null },
      },
    },
    '',
    { a: '1', b: 'new' },
  ],
  [
    'of a custom provider',
    { custom_providers: [{ name: 'box', base_url: LOCAL, model: 'm', extra_headers: TAGS }] },
    '@custom:box:m',
    { 'x-litellm-tags': 'a,b' },
  ],
  [
    'of a provider at its own address',
    { providers: { anthropic: { extra_headers: { 'anthropic-beta': 'context-1m-2025-08-07' } } } },
    '@anthropic:claude-sonnet-4-5',
    { 'anthropic-beta': 'context-1m-2025-08-07' },
  ],
  [
    'of a provider at the address written beside it',
    { providers: { deepseek: { base_url: LOCAL, extra_headers: TAGS } } },
    '@deepseek:deepseek-chat',
    { 'x-litellm-tags': 'a,b' },
  ],
  [
    'not of another provider',
    { providers: { deepseek: { extra_headers: TAGS } } },
    '@openai:gpt-5.4',
    undefined,
  ],
  [
    'not of the default model for another provider',
    { model: { default: 'm', provider: 'custom', base_url: LOCAL, extra_headers: TAGS } },
    '@openai:gpt-5.4',
    undefined,
  ],
  [
    'none configured',
    { model: { default: 'm', provider: 'custom', base_url: LOCAL, extra_headers: {} } },
    '',
    undefined,
  ],
]
for (const [name, config, id, headers] of WHERE)
  test(`headers ${name}`, () => assert.equal(endpointOf(config, id).headers, headers))

for (const host of ['https://evil.example/v1', 'https://api.openai.com.evil.example/v1'])
  test(`headers of a provider are not sent to ${host}`, () => {
    const config = {
      model: { default: 'gpt-5.4', provider: 'openai' },
      providers: { openai: { extra_headers: { authorization: 'Bearer secret' }, api_key: KEY } },
    }
    try {
      assert.is(endpointOf(config, '@openai:gpt-5.4', host).headers, undefined)
    } catch (error) {
      // No key may be sent there either.
      assert.instance(error, UserError)
    }
  })

const REFUSED: [key: string, options: Config][] = [
  ['extra_headers', { extra_headers: ['a: b'] }],
  ['extra_headers', { extra_headers: 'a: b' }],
  ['extra_headers.a b', { extra_headers: { 'a b': 'x' } }],
  ['extra_headers.a', { extra_headers: { a: 'x\r\ny: z' } }],
  ['extra_headers.a', { extra_headers: { a: { b: 'c' } } }],
  ['extra_headers.a', { extra_headers: { a: 'ключ' } }],
  ['extra_headers.Host', { extra_headers: { Host: 'other.example' } }],
  ['extra_headers.content-length', { extra_headers: { 'content-length': '3' } }],
  ['default_headers.Transfer-Encoding', { default_headers: { 'Transfer-Encoding': 'chunked' } }],
  ['request_timeout_seconds', { request_timeout_seconds: 'soon' }],
  ['request_timeout_seconds', { request_timeout_seconds: -1 }],
  ['stale_timeout_seconds', { stale_timeout_seconds: {} }],
]
for (const [key, options] of REFUSED)
  for (const [place, config] of [
    ['model.', { model: { default: 'm', provider: 'custom', base_url: LOCAL, ...options } }],
    ['providers.openai.', { model: 'gpt-5.4', providers: { openai: options } }],
    [
      'custom_providers.0.',
      { model: '@custom:b:m', custom_providers: [{ name: 'b', base_url: LOCAL, ...options }] },
    ],
  ] as const)
    test(`refuses ${place}${key}: ${JSON.stringify(options)}`, () => {
      try {
        endpointOf(config)
        assert.unreachable()
      } catch (error) {
        assert.instance(error, UserError)
        const { code, extra } = error as UserError
        assert.is(code, 'provider_setting_invalid')
        assert.is((extra.values as { key: string }).key, `${place}${key}`)
        assert.not.match((error as UserError).message, 'chunked')
      }
    })

test('time limits of a provider, and those beside the default model before them', () => {
  const config = {
    model: { default: 'gpt-5.4', provider: 'openai', stale_timeout_seconds: 5 },
    providers: { openai: { request_timeout_seconds: '1800', stale_timeout_seconds: 0 } },
  }
  const { requestTimeoutMs, staleTimeoutMs } = endpointOf(config)
  assert.equal([requestTimeoutMs, staleTimeoutMs], [1_800_000, 5_000])
  const other = endpointOf({ ...config, model: 'gpt-5.4' }, '@openai:gpt-5.4')
  assert.equal([other.requestTimeoutMs, other.staleTimeoutMs], [1_800_000, 0])
  const none = endpointOf({}, '@openai:gpt-5.4')
  assert.equal([none.requestTimeoutMs, none.staleTimeoutMs], [undefined, undefined])
})

const asking = (baseUrl: string, extra: Partial<ModelEndpoint>) => ({
  endpoint: {
    provider: 'custom',
    model: 'claude-sonnet-4-5',
    apiMode: 'chat_completions' as const,
    baseUrl,
    apiKey: KEY,
    contextLength: 1000,
    ...extra,
  },
  messages: [{ role: 'user' as const, content: 'hello' }],
  tools: [{ name: 'echo', description: '', parameters: {} }],
  signal: new AbortController().signal,
  workspace: '/',
})

test('on the wire: betas are added to ours, other headers replace them', async () => {
  await using server = await createProvider({ text: 'x' }, { text: 'x' })
  const clock = createTestClock()
  for await (const _ of await httpProvider(
    FORMATS.anthropic_messages,
    clock,
  )(asking(server.url, { headers: { 'anthropic-beta': 'context-1m', 'x-tag': 't' } })));
  for await (const _ of await httpProvider(
    FORMATS.chat_completions,
    clock,
  )(asking(server.url, { headers: { authorization: 'Basic abc', 'user-agent': 'mine' } })));
  const [first, second] = server.requests.map(({ headers }) => headers)
  assert.is(first?.['anthropic-beta'], 'interleaved-thinking-2025-05-14,context-1m')
  assert.is(first?.['x-tag'], 't')
  assert.equal([second?.authorization, second?.['user-agent']], ['Basic abc', 'mine'])
})

const LIMITS: [name: string, extra: Partial<ModelEndpoint>, ms: number][] = [
  ['a response that takes too long', { requestTimeoutMs: 7_000, staleTimeoutMs: 0 }, 7_000],
  ['no data for too long', { staleTimeoutMs: 3_000 }, 3_000],
]
for (const [name, extra, ms] of LIMITS)
  test(`on the wire: ends ${name}`, async () => {
    await using server = await createProvider({ end: 'headers' })
    const clock = createTestClock()
    const reading = (async () => {
      for await (const _ of await httpProvider(
        FORMATS.chat_completions,
        clock,
      )(asking(server.url, extra)));
      return 'ended'
    })().catch((error: { type: string; retryable: boolean }) => [error.type, error.retryable])
    await until(() => clock.waiting().includes(ms) && server.requests.length === 1)
    await clock.advance(ms)
    assert.equal(await reading, ['network', true])
  })

test.run()
