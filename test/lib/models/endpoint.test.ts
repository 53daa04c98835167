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

const key = (...names: string[]): Given => ({
  env: Object.fromEntries(names.map(name => [name, KEY])),
})
const model = (section: Record<string, unknown>, more: Given = {}): Given => ({
  config: { model: section },
  ...more,
})
const box = (more: Record<string, unknown>): Given => ({
  config: { custom_providers: [{ name: 'My Box', base_url: 'https://box.example/v1', ...more }] },
})
const custom = (base_url: string) => model({ provider: 'custom', base_url })

const REFUSED: [name: string, given: Given, id: string, code: string][] = [
  ['no model anywhere', key('OPENAI_API_KEY'), '', 'model_missing'],
  ['only an ambient token', key('COPILOT_GITHUB_TOKEN'), 'x', 'provider_missing'],
  ['a key without an owner', model({ api_key: KEY }), 'x', 'provider_missing'],
  ['a router without a key', {}, 'anthropic/claude-opus-4.6', 'key_missing'],
  [
    'a router without a key, never another provider',
    model({ provider: 'openai' }, key('ANTHROPIC_API_KEY')),
    'anthropic/x',
    'key_missing',
  ],
  ['a hint without a key', {}, '@openai:gpt-5.4', 'key_missing'],
  ['a placeholder', { dotenv: { OPENAI_API_KEY: 'your_api_key' } }, '@openai:m', 'key_missing'],
  ['not signed in', {}, '@nous:x', 'provider_not_signed_in'],
  [
    'a key that may not go there',
    model({ provider: 'openai', base_url: 'https://proxy.example/v1' }, key('OPENAI_API_KEY')),
    'x',
    'key_not_for_host',
  ],
  [
    'a stale address of another provider',
    model(
      { provider: 'openrouter', base_url: 'http://localhost.example:1/v1' },
      { dotenv: { OPENROUTER_API_KEY: KEY } },
    ),
    'x',
    'key_not_for_host',
  ],
  [
    'a sign-in that belongs to another program',
    { dotenv: { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-1234' } },
    '@anthropic:claude-opus-4.6',
    'key_of_other_program',
  ],
  ['an external program', {}, '@copilot-acp:x', 'agent_not_installed'],
  ['no address', model({ provider: 'custom' }), 'x', 'provider_no_address'],
  ['an unknown provider', key('OPENAI_API_KEY'), '@who:x', 'provider_no_address'],
  ['not http', custom('file:///etc'), 'x', 'provider_address_invalid'],
  ['no address at all', custom('nonsense'), 'x', 'provider_address_invalid'],
  ['user info in the address', custom('http://a:b@host/v1'), 'x', 'provider_address_invalid'],
]
for (const [name, given, id, code] of REFUSED)
  test(`rejected with a reason: ${name}`, () => {
    const error = refusal(given, id)
    assert.is(error.code, code)
    assert.not.match(error.message, KEY)
  })

test('the demo is used only when selected or when nothing is configured', () => {
  const openai = key('OPENAI_API_KEY')
  for (const [given, id] of [
    [{}, ''],
    [{}, 'demo'],
    [key('GH_TOKEN'), ''],
    [model({ provider: 'demo' }, openai), 'gpt-5.4'],
    [openai, '@demo:demo'],
  ] as const) {
    const { apiMode, baseUrl, apiKey } = endpointOf(given, id)
    assert.equal([apiMode, baseUrl, apiKey], ['demo', '', null])
  }
  assert.is(refusal(openai).kind, 'unavailable')
})

/** Provider, model, address; `+`: with the key. */
const CALLED: [name: string, given: Given, id: string, called: string][] = [
  [
    'the default model',
    model({ provider: 'openai', default: 'gpt-5.4' }, key('OPENAI_API_KEY')),
    '',
    'openai gpt-5.4 https://api.openai.com/v1 +',
  ],
  ['a spelling', key('XAI_API_KEY'), '@grok:grok-4.20', 'xai grok-4.20 https://api.x.ai/v1 +'],
  [
    'the router',
    key('OPENROUTER_API_KEY'),
    'x-ai/a',
    'openrouter x-ai/a https://openrouter.ai/api/v1 +',
  ],
  [
    'an address of the environment',
    { env: { GLM_API_KEY: KEY, GLM_BASE_URL: 'https://open.bigmodel.cn/api/paas/v4/' } },
    '@zai:glm-5',
    'zai glm-5 https://open.bigmodel.cn/api/paas/v4 +',
  ],
  [
    'the configured address before it',
    model(
      { provider: 'zai', base_url: 'https://api.z.ai/other' },
      { env: { GLM_API_KEY: KEY, GLM_BASE_URL: 'https://open.bigmodel.cn' } },
    ),
    'glm-5',
    'zai glm-5 https://api.z.ai/other +',
  ],
  ['a local server', custom('http://127.0.0.1:8/v1/'), 'a/b', 'custom a/b http://127.0.0.1:8/v1'],
  [
    'a local server under a known name',
    model({ provider: 'openai', base_url: 'http://localhost:8080/v1' }),
    'x',
    'openai x http://localhost:8080/v1',
  ],
  [
    'only an address',
    model({ base_url: 'http://box:1/v1', default: 'a/b' }),
    '',
    'custom a/b http://box:1/v1',
  ],
  ['ollama', {}, '@ollama:llama3:8b', 'ollama llama3:8b http://127.0.0.1:11434/v1'],
  [
    'a named endpoint',
    box({ api_key: KEY }),
    '@custom:my-box:m',
    'custom:my-box m https://box.example/v1 +',
  ],
  [
    'a named endpoint keeps its address when another was left behind',
    {
      config: {
        ...box({ api_key: KEY }).config,
        model: { provider: 'custom:my-box', base_url: 'https://api.openai.com/v1' },
      },
    },
    'm',
    'custom:my-box m https://box.example/v1 +',
  ],
  [
    'a provider of one’s own',
    { config: { providers: { mine: { base_url: 'https://mine.example/v1', api_key: KEY } } } },
    '@mine:m',
    'mine m https://mine.example/v1 +',
  ],
  [
    'an address for a hint',
    custom('http://127.0.0.1:1/v1'),
    '@custom:m',
    'custom m http://127.0.0.1:1/v1',
  ],
  [
    'the first with a key',
    key('GLM_API_KEY', 'DEEPSEEK_API_KEY'),
    'm',
    'zai m https://api.z.ai/api/paas/v4 +',
  ],
  [
    'the one that lists the model',
    key('OPENAI_API_KEY', 'GLM_API_KEY'),
    'glm-5',
    'zai glm-5 https://api.z.ai/api/paas/v4 +',
  ],
  [
    'an address in the environment',
    { env: { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' } },
    'm',
    'openai m http://127.0.0.1:1/v1',
  ],
  [
    'the agent’s own variable',
    { env: { AGENT_INFERENCE_PROVIDER: 'deepseek', DEEPSEEK_API_KEY: KEY, OPENAI_API_KEY: KEY } },
    'm',
    'deepseek m https://api.deepseek.com/v1 +',
  ],
  [
    'no provider but a custom one',
    box({ base_url: 'http://box:1/v1' }),
    'm',
    'custom:my-box m http://box:1/v1',
  ],
  [
    'a key with an address of its own',
    { env: { KIMI_API_KEY: 'sk-kimi-1234' } },
    '@kimi:kimi-k2.5',
    'kimi-coding kimi-k2.5 https://api.kimi.com/coding/v1 +',
  ],
  ['copilot', key('GH_TOKEN'), '@copilot:gpt-4o', 'copilot gpt-4o https://api.githubcopilot.com +'],
  [
    'signed in',
    { auth: { active_provider: 'nous', providers: { nous: { agent_key: KEY } } } },
    'a/b',
    'nous a/b https://inference-api.nousresearch.com/v1 +',
  ],
  [
    'a format that the configuration names',
    box({ base_url: 'http://box/anthropic', api_mode: 'chat_completions' }),
    '@custom:my-box:m',
    'custom:my-box m http://box/anthropic',
  ],
]
for (const [name, given, id, called] of CALLED)
  test(`can be called: ${name}`, () => {
    const { provider, model: found, baseUrl, apiKey } = endpointOf(given, id)
    assert.is([provider, found, baseUrl, ...(apiKey ? ['+'] : [])].join(' '), called)
    assert.ok([null, KEY, 'sk-kimi-1234'].includes(apiKey))
  })

test('names the provider: its display name, its name in the configuration, the program at its address, or its address', () => {
  const nameOf = (given: Given, id: string) => endpointOf(given, id).providerName
  assert.is(nameOf(key('OPENAI_API_KEY'), '@openai:gpt-5.4'), 'OpenAI')
  assert.is(nameOf(box({ api_key: KEY }), '@custom:my-box:m'), 'My Box')
  assert.is(nameOf(custom('http://box:8000/v1'), '@custom:m'), 'vLLM')
  assert.is(nameOf(custom('https://models.example:8443/v1'), '@custom:m'), 'models.example:8443')
})

test('every provider with its own key can be called or gives the reason', () => {
  for (const [id, { keys }] of PROVIDERS) {
    const [name] = keys
    const given = { env: name ? { [name]: KEY } : {} }
    if (!name) refusal(given, `@${id}:m`)
    else assert.is(endpointOf(given, `@${id}:m`).apiKey, KEY, id)
  }
})

const zen = key('OPENCODE_ZEN_API_KEY')
const WIRES: [name: string, given: Given, id: string, wire: string][] = [
  ['Anthropic', key('ANTHROPIC_API_KEY'), '@anthropic:claude-opus-4.6', 'anthropic_messages'],
  [
    'an API key beside a sign-in',
    { ...key('ANTHROPIC_API_KEY'), dotenv: { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-1' } },
    '@anthropic:claude-opus-4.6',
    'anthropic_messages',
  ],
  [
    'an address that ends in /anthropic',
    key('MINIMAX_API_KEY'),
    '@minimax:m',
    'anthropic_messages',
  ],
  ['OpenAI itself', key('OPENAI_API_KEY'), '@openai:gpt-5.4', 'codex_responses'],
  [
    'OpenAI elsewhere',
    { env: { OPENAI_BASE_URL: 'http://localhost:1/v1' } },
    '@openai:m',
    'chat_completions',
  ],
  [
    'OpenAI, as the configuration says',
    model({ provider: 'openai', api_mode: 'chat_completions' }, key('OPENAI_API_KEY')),
    'gpt-5.4',
    'chat_completions',
  ],
  [
    'a sign-in at OpenAI',
    { auth: { providers: { 'openai-codex': { tokens: { access_token: KEY } } } } },
    '@openai-codex:gpt-5.4',
    'codex_responses',
  ],
  ['Claude at an aggregator', zen, '@opencode-zen:claude-opus-4-6', 'anthropic_messages'],
  ['GPT-5 at an aggregator', zen, '@opencode-zen:gpt-5-codex', 'codex_responses'],
  ['another at an aggregator', zen, '@opencode-zen:glm-5', 'chat_completions'],
  [
    'a custom endpoint that says so',
    box({ api_mode: 'anthropic_messages', api_key: KEY }),
    '@custom:my-box:m',
    'anthropic_messages',
  ],
]
for (const [name, given, id, wire] of WIRES)
  test(`the format of ${name}`, () => {
    const found = endpointOf(given, id)
    assert.is(found.apiMode, wire)
    assert.ok(found.apiKey === null || found.apiKey === KEY)
  })

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
