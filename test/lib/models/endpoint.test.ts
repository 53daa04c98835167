/** From a pair to an endpoint that can be called, or to the sentence why it cannot. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../lib/errors.ts'
import { PROVIDERS } from '../../../lib/models/providers.ts'
import { resolveFor } from '../../../lib/models/resolve.ts'
import { resolveEndpoint } from '../../../lib/models/endpoint.ts'
import { bare, homeOf } from './_home.ts'

type Given = Parameters<typeof homeOf>[0]
const test = suite('model endpoint')
const KEY = 'sk-test-1234'

const endpointOf = (given: Given, id = '', config = bare) => {
  const home = homeOf(given)
  return resolveEndpoint(home, config, resolveFor(home, id))
}

const refusal = (given: Given, id = ''): UserError => {
  try {
    endpointOf(given, id)
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  return assert.unreachable('it was not refused') as never
}

const REFUSED: [name: string, given: Given, id: string, words: RegExp][] = [
  ['no model anywhere', { env: { OPENAI_API_KEY: KEY } }, '', /No model selected/],
  ['only an ambient token', { env: { COPILOT_GITHUB_TOKEN: KEY } }, 'x', /No provider selected/],
  ['a key without an owner', { config: { model: { api_key: KEY } } }, 'x', /No provider selected/],
  [
    'a router without a key',
    {},
    'anthropic/claude-opus-4.6',
    /OpenRouter has no API key.*OPENROUTER_API_KEY/,
  ],
  [
    'a router without a key, never another provider',
    { env: { ANTHROPIC_API_KEY: KEY }, config: { model: { provider: 'openai' } } },
    'anthropic/x',
    /OpenRouter has no API key/,
  ],
  ['a hint without a key', {}, '@openai:gpt-5.4', /OpenAI has no API key/],
  [
    'a placeholder is no key',
    { dotenv: { OPENAI_API_KEY: 'your_api_key' } },
    '@openai:gpt-5.4',
    /OpenAI has no API key/,
  ],
  ['not signed in', {}, '@nous:x', /Nous Portal is not signed in/],
  [
    'a key that may not go there',
    {
      env: { OPENAI_API_KEY: KEY },
      config: { model: { provider: 'openai', base_url: 'https://proxy.example/v1' } },
    },
    'x',
    /OPENAI_API_KEY is a key of OpenAI and is not sent to proxy\.example/,
  ],
  [
    'a stale address of another provider',
    {
      dotenv: { OPENROUTER_API_KEY: KEY },
      config: { model: { provider: 'openrouter', base_url: 'http://localhost.example:1/v1' } },
    },
    'x',
    /is not sent to localhost\.example/,
  ],
  [
    'a sign-in that belongs to another program',
    { dotenv: { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-1234' } },
    '@anthropic:claude-opus-4.6',
    /CLAUDE_CODE_OAUTH_TOKEN holds a sign-in of another program.*ANTHROPIC_API_KEY/,
  ],
  ['an external program', {}, '@copilot-acp:x', /copilot isn’t installed/],
  ['no address', { config: { model: { provider: 'custom' } } }, 'x', /Custom has no address/],
  ['an unknown provider', { env: { OPENAI_API_KEY: KEY } }, '@who:x', /Who has no address/],
  [
    'not http',
    { config: { model: { provider: 'custom', base_url: 'file:///etc' } } },
    'x',
    /not a plain http/,
  ],
  [
    'no address at all',
    { config: { model: { provider: 'custom', base_url: 'nonsense' } } },
    'x',
    /not a plain http/,
  ],
  [
    'user info in the address',
    { config: { model: { provider: 'custom', base_url: 'http://a:b@host/v1' } } },
    'x',
    /not a plain http/,
  ],
]
for (const [name, given, id, words] of REFUSED) {
  test(`rejected with a reason: ${name}`, () => {
    const { message, kind } = refusal(given, id)
    assert.match(message, words)
    assert.ok(['unavailable', 'invalid'].includes(kind))
    assert.not.match(message, new RegExp(KEY))
  })
}

const DEMO = {
  provider: 'demo',
  model: 'demo',
  apiMode: 'demo',
  baseUrl: '',
  apiKey: null,
  contextLength: 131_072,
}

test('the demo is used only when selected or when nothing is configured', () => {
  assert.equal(endpointOf({}), DEMO)
  assert.equal(endpointOf({}, 'demo'), DEMO)
  assert.equal(endpointOf({ env: { GH_TOKEN: KEY } }), DEMO)
  assert.equal(
    endpointOf(
      { config: { model: { provider: 'demo' } }, env: { OPENAI_API_KEY: KEY } },
      'gpt-5.4',
    ),
    DEMO,
  )
  assert.equal(endpointOf({ env: { OPENAI_API_KEY: KEY } }, '@demo:demo'), DEMO)
  assert.is(refusal({ env: { OPENAI_API_KEY: KEY } }).kind, 'unavailable')
})

type Row = [
  name: string,
  given: Given,
  id: string,
  provider: string,
  model: string,
  url: string,
  key: string | null,
]
const CALLED: Row[] = [
  [
    'the default model',
    { config: { model: { provider: 'openai', default: 'gpt-5.4' } }, env: { OPENAI_API_KEY: KEY } },
    '',
    'openai',
    'gpt-5.4',
    'https://api.openai.com/v1',
    KEY,
  ],
  [
    'a spelling',
    { env: { XAI_API_KEY: KEY } },
    '@grok:grok-4.20',
    'xai',
    'grok-4.20',
    'https://api.x.ai/v1',
    KEY,
  ],
  [
    'the router',
    { env: { OPENROUTER_API_KEY: KEY } },
    'anthropic/claude-opus-4.6',
    'openrouter',
    'anthropic/claude-opus-4.6',
    'https://openrouter.ai/api/v1',
    KEY,
  ],
  [
    'an address of the environment',
    { env: { GLM_API_KEY: KEY, GLM_BASE_URL: 'https://open.bigmodel.cn/api/paas/v4/' } },
    '@zai:glm-5',
    'zai',
    'glm-5',
    'https://open.bigmodel.cn/api/paas/v4',
    KEY,
  ],
  [
    'the configured address before it',
    {
      config: { model: { provider: 'zai', base_url: 'https://api.z.ai/other' } },
      env: { GLM_API_KEY: KEY, GLM_BASE_URL: 'https://open.bigmodel.cn' },
    },
    'glm-5',
    'zai',
    'glm-5',
    'https://api.z.ai/other',
    KEY,
  ],
  [
    'a local server without a key',
    { config: { model: { provider: 'custom', base_url: 'http://127.0.0.1:8080/v1/' } } },
    'qwen/qwen3',
    'custom',
    'qwen/qwen3',
    'http://127.0.0.1:8080/v1',
    null,
  ],
  [
    'a local server under a known name',
    { config: { model: { provider: 'openai', base_url: 'http://localhost:8080/v1' } } },
    'x',
    'openai',
    'x',
    'http://localhost:8080/v1',
    null,
  ],
  [
    'only an address',
    { config: { model: { base_url: 'http://box:1/v1', default: 'a/b' } } },
    '',
    'custom',
    'a/b',
    'http://box:1/v1',
    null,
  ],
  [
    'ollama where it usually is',
    {},
    '@ollama:llama3:8b',
    'ollama',
    'llama3:8b',
    'http://127.0.0.1:11434/v1',
    null,
  ],
  [
    'a named endpoint',
    {
      config: {
        custom_providers: [{ name: 'My Box', base_url: 'https://box.example/v1', api_key: KEY }],
      },
    },
    '@custom:my-box:m',
    'custom:my-box',
    'm',
    'https://box.example/v1',
    KEY,
  ],
  [
    'a named endpoint keeps its address when another was left behind',
    {
      config: {
        model: { provider: 'custom:my-box', base_url: 'https://api.openai.com/v1' },
        custom_providers: [{ name: 'My Box', base_url: 'https://box.example/v1', api_key: KEY }],
      },
    },
    'm',
    'custom:my-box',
    'm',
    'https://box.example/v1',
    KEY,
  ],
  [
    'a provider of one’s own',
    { config: { providers: { mine: { base_url: 'https://mine.example/v1', api_key: KEY } } } },
    '@mine:m',
    'mine',
    'm',
    'https://mine.example/v1',
    KEY,
  ],
  [
    'the configured address also for a hint',
    { config: { model: { provider: 'custom', base_url: 'http://127.0.0.1:1/v1' } } },
    '@custom:m',
    'custom',
    'm',
    'http://127.0.0.1:1/v1',
    null,
  ],
  [
    'no provider configured: the first with a key',
    { env: { GLM_API_KEY: KEY, DEEPSEEK_API_KEY: KEY } },
    'whatever',
    'zai',
    'whatever',
    'https://api.z.ai/api/paas/v4',
    KEY,
  ],
  [
    'no provider configured: the one that lists the model',
    { env: { OPENAI_API_KEY: KEY, GLM_API_KEY: KEY } },
    'glm-5',
    'zai',
    'glm-5',
    'https://api.z.ai/api/paas/v4',
    KEY,
  ],
  [
    'no provider configured: an address in the environment',
    { env: { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' } },
    'm',
    'openai',
    'm',
    'http://127.0.0.1:1/v1',
    null,
  ],
  [
    'no provider configured: the agent’s own variable',
    { env: { AGENT_INFERENCE_PROVIDER: 'deepseek', DEEPSEEK_API_KEY: KEY, OPENAI_API_KEY: KEY } },
    'm',
    'deepseek',
    'm',
    'https://api.deepseek.com/v1',
    KEY,
  ],
  [
    'no provider configured: a custom one',
    { config: { custom_providers: [{ name: 'Box', base_url: 'http://box:1/v1' }] } },
    'm',
    'custom:box',
    'm',
    'http://box:1/v1',
    null,
  ],
  [
    'a key with an address of its own',
    { env: { KIMI_API_KEY: 'sk-kimi-1234' } },
    '@kimi:kimi-k2.5',
    'kimi-coding',
    'kimi-k2.5',
    'https://api.kimi.com/coding/v1',
    'sk-kimi-1234',
  ],
  [
    'copilot when it is asked for',
    { env: { GH_TOKEN: KEY } },
    '@copilot:gpt-4o',
    'copilot',
    'gpt-4o',
    'https://api.githubcopilot.com',
    KEY,
  ],
  [
    'signed in',
    { auth: { active_provider: 'nous', providers: { nous: { agent_key: KEY } } } },
    'a/b',
    'nous',
    'a/b',
    'https://inference-api.nousresearch.com/v1',
    KEY,
  ],
  [
    'a format by model that we speak',
    { env: { OPENCODE_GO_API_KEY: KEY } },
    '@opencode-go:glm-5',
    'opencode-go',
    'glm-5',
    'https://opencode.ai/zen/go/v1',
    KEY,
  ],
  [
    'a format said in the configuration',
    {
      config: {
        custom_providers: [
          { name: 'Box', base_url: 'http://box/anthropic', api_mode: 'chat_completions' },
        ],
      },
    },
    '@custom:box:m',
    'custom:box',
    'm',
    'http://box/anthropic',
    null,
  ],
]
for (const [name, given, id, provider, model, baseUrl, apiKey] of CALLED) {
  test(`can be called: ${name}`, () => {
    // Whether the model accepts images has its own tests.
    const { providerName: _, vision: __, ...found } = endpointOf(given, id)
    assert.equal(
      { ...found, contextLength: 0 },
      { provider, model, apiMode: found.apiMode, baseUrl, apiKey, contextLength: 0 },
    )
  })
}

test('names the provider: its display name, its name in the configuration, or its address', () => {
  const box = { name: 'My Box', base_url: 'http://box:8000/v1' }
  const custom = { model: { provider: 'custom', base_url: 'http://box:8000/v1' } }
  const nameOf = (given: Given, id: string) => endpointOf(given, id).providerName
  assert.is(nameOf({ env: { OPENAI_API_KEY: KEY } }, '@openai:gpt-5.4'), 'OpenAI')
  assert.is(nameOf({ config: { custom_providers: [box] } }, '@custom:my-box:m'), 'My Box')
  assert.is(nameOf({ config: custom }, '@custom:m'), 'box:8000')
})

test('every provider with its own key can be called or gives the reason', () => {
  for (const [id, { keys }] of PROVIDERS) {
    const [name] = keys
    const given = { env: name ? { [name]: KEY } : {} }
    if (!name) refusal(given, `@${id}:m`)
    else assert.is(endpointOf(given, `@${id}:m`).apiKey, KEY, id)
  }
})

type Spoken = [name: string, given: Given, id: string, wire: string, baseUrl: string]
const zen = { env: { OPENCODE_ZEN_API_KEY: KEY } }
const WIRES: Spoken[] = [
  [
    'Anthropic',
    { env: { ANTHROPIC_API_KEY: KEY } },
    '@anthropic:claude-opus-4.6',
    'anthropic_messages',
    'https://api.anthropic.com',
  ],
  [
    'an API key beside a sign-in',
    { dotenv: { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-1' }, env: { ANTHROPIC_API_KEY: KEY } },
    '@anthropic:claude-opus-4.6',
    'anthropic_messages',
    'https://api.anthropic.com',
  ],
  [
    'an address that ends in /anthropic',
    { env: { MINIMAX_API_KEY: KEY } },
    '@minimax:MiniMax-M2.7',
    'anthropic_messages',
    'https://api.minimax.io/anthropic',
  ],
  [
    'OpenAI itself',
    { env: { OPENAI_API_KEY: KEY } },
    '@openai:gpt-5.4',
    'codex_responses',
    'https://api.openai.com/v1',
  ],
  [
    'OpenAI elsewhere',
    { env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: 'http://localhost:1/v1' } },
    '@openai:gpt-5.4',
    'chat_completions',
    'http://localhost:1/v1',
  ],
  [
    'OpenAI, as the configuration says',
    {
      env: { OPENAI_API_KEY: KEY },
      config: { model: { provider: 'openai', api_mode: 'chat_completions' } },
    },
    'gpt-5.4',
    'chat_completions',
    'https://api.openai.com/v1',
  ],
  [
    'a sign-in at OpenAI',
    { auth: { providers: { 'openai-codex': { tokens: { access_token: KEY } } } } },
    '@openai-codex:gpt-5.4',
    'codex_responses',
    'https://chatgpt.com/backend-api/codex',
  ],
  [
    'by model: Claude',
    zen,
    '@opencode-zen:claude-opus-4-6',
    'anthropic_messages',
    'https://opencode.ai/zen/v1',
  ],
  [
    'by model: GPT-5',
    zen,
    '@opencode-zen:gpt-5-codex',
    'codex_responses',
    'https://opencode.ai/zen/v1',
  ],
  [
    'by model: another',
    zen,
    '@opencode-zen:glm-5',
    'chat_completions',
    'https://opencode.ai/zen/v1',
  ],
  [
    'a custom endpoint that says so',
    {
      config: {
        custom_providers: [
          { name: 'Box', base_url: 'http://box/v1', api_mode: 'anthropic_messages' },
        ],
      },
    },
    '@custom:box:m',
    'anthropic_messages',
    'http://box/v1',
  ],
]
for (const [name, given, id, wire, baseUrl] of WIRES) {
  test(`the format of ${name}`, () => {
    const found = endpointOf(given, id)
    assert.equal([found.apiMode, found.baseUrl], [wire, baseUrl])
    assert.ok(found.apiKey === null || found.apiKey === KEY)
  })
}

test('prompt cache lifetimes', () => {
  const env = { ANTHROPIC_API_KEY: KEY }
  const ttl = (cache_ttl: unknown) =>
    endpointOf({ env, config: { prompt_caching: { cache_ttl } } }, '@anthropic:m').cacheTtl
  const facts = () => ({ contextLength: 0, price: { input: 3, output: 15, cacheWrite: 3.75 } })
  const priced = (cache_ttl: string) => {
    const home = homeOf({ env, config: { prompt_caching: { cache_ttl } } })
    return resolveEndpoint(home, bare, resolveFor(home, '@anthropic:m'), facts).price?.cacheWrite
  }
  assert.equal([priced('1h'), priced('5m')], [6, 3.75])
  assert.equal([ttl('1h'), ttl('5m'), ttl('nonsense'), ttl(7)], ['1h', ...Array(3).fill(undefined)])
})

test('context windows, output limits and effort', () => {
  const model = {
    provider: 'openai',
    default: 'openai/gpt-5.4',
    context_length: '400_000',
    max_tokens: 5000,
  }
  const config = {
    model,
    agent: { reasoning_effort: ' HIGH ' },
    custom_providers: [
      {
        name: 'Box',
        base_url: 'http://box/v1',
        model: 'm',
        context_length: 32000,
        models: { n: { context_length: 64000 } },
      },
    ],
    providers: { zai: { models: { 'glm-5': { context_length: 9 } } } },
  }
  const given = { config, env: { OPENAI_API_KEY: KEY, GLM_API_KEY: KEY } }
  const brief = (id: string) => {
    const { contextLength, maxTokens, effort } = endpointOf(given, id)
    return [contextLength, maxTokens, effort]
  }
  assert.equal(brief(''), [400_000, 5000, 'high'])
  assert.equal(brief('gpt-5.4'), [400_000, 5000, 'high'])
  assert.equal(brief('gpt-4.1'), [128_000, 5000, 'high'])
  assert.equal(brief('@custom:box:m'), [32_000, undefined, 'high'])
  assert.equal(brief('@custom:box:n'), [64_000, undefined, 'high'])
  assert.equal(brief('@zai:glm-5'), [9, undefined, 'high'])
  assert.equal(brief('@zai:glm-4.7'), [202_752, undefined, 'high'])
  model.context_length = '-5'
  config.agent.reasoning_effort = 'ultra'
  assert.equal(brief(''), [128_000, 5000, 'xhigh'])
  config.agent.reasoning_effort = 'whatever'
  assert.is(brief('')[2], undefined)
})

test.run()
