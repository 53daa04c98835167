/** The model list in groups: what is in it, with which ids. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { builtinModels } from '../../../lib/models/builtin-models.ts'
import { modelGroups } from '../../../lib/models/model-groups.ts'
import { resolveFor } from '../../../lib/models/resolve.ts'
import { ModelList } from '../../../lib/schema/model.ts'
import { bare, homeOf } from './_home.ts'

type Given = Parameters<typeof homeOf>[0]
const test = suite('model groups')
const KEY = 'sk-test-1234'

const listOf = (given: Given, config = bare) => ModelList.parse(modelGroups(homeOf(given), config))
/** `id: first, second, …` per group. */
const brief = (given: Given, config = bare) =>
  listOf(given, config).groups.map(
    ({ provider_id, models }) => `${provider_id}: ${models.map(({ id }) => id).join(' ')}`,
  )
const ids = (provider: string, prefix = '') =>
  (builtinModels(provider) ?? []).map(({ id }) => (id.startsWith('@') ? id : prefix + id)).join(' ')

test('without configuration: the demo, and no default', () => {
  assert.equal(listOf({}), {
    active_provider: null,
    default_model: '',
    groups: [
      {
        provider: 'Demo model (offline, scripted)',
        provider_id: 'demo',
        models: [{ id: 'demo', label: 'Demo model (offline, scripted)' }],
      },
    ],
  })
})

test('the key of a server of one’s own is not offered for OpenAI, though it is in the variable of OpenAI', () => {
  const providersAt = (model: Record<string, unknown>) => {
    const given = { config: { model: { default: 'm', ...model } }, dotenv: { OPENAI_API_KEY: KEY } }
    return listOf(given).groups.map(({ provider_id }) => provider_id)
  }
  const far = { provider: 'custom', base_url: 'https://far.example/v1' }
  assert.not.ok(providersAt(far).includes('openai'))
  // These have another key, or need none, so the variable is OpenAI's.
  for (const model of [
    { ...far, api_key: 'sk-of-far-1' },
    { ...far, base_url: 'http://127.0.0.1:9/v1' },
    { ...far, base_url: 'https://api.openai.com/v1' },
    { provider: 'openai' },
  ])
    assert.ok(providersAt(model).includes('openai'), JSON.stringify(model))
})

test('a default model without a provider gets a group of its own', () => {
  const config = { defaultModel: 'vendor/some-model', modelOverride: '' }
  const { groups, default_model } = listOf({}, config)
  assert.is(default_model, 'vendor/some-model')
  assert.equal(groups.at(-1), {
    provider: 'Default',
    provider_id: 'default',
    models: [{ id: 'vendor/some-model', label: 'some-model' }],
  })
})

test('model.provider demo lists it beside the other providers', () => {
  const given = {
    config: { model: { provider: 'demo', default: 'demo' } },
    env: { OPENAI_API_KEY: KEY },
  }
  assert.equal(brief(given), ['demo: demo', `openai: ${ids('openai', '@openai:')}`])
  assert.is(listOf(given).active_provider, 'demo')
})

test('without an active provider nothing is prefixed', () => {
  assert.equal(brief({ env: { OPENAI_API_KEY: KEY, OPENROUTER_API_KEY: KEY } }), [
    `openai: ${ids('openai')}`,
    `openrouter: ${ids('openrouter')}`,
  ])
})

test('only ids of inactive providers have a prefix, also ids with slashes', () => {
  const given = {
    config: { model: { provider: 'claude', default: 'claude-opus-4-6' } },
    env: { OPENAI_API_KEY: KEY, OPENROUTER_API_KEY: KEY },
    auth: { credential_pool: { nous: [{ agent_key: KEY }] } },
  }
  assert.equal(brief(given), [
    `anthropic: ${ids('anthropic')}`,
    `nous: ${ids('nous')}`,
    `openai: ${ids('openai', '@openai:')}`,
    `openrouter: ${ids('openrouter', '@openrouter:')}`,
  ])
  assert.is(listOf(given).active_provider, 'anthropic')
})

test('the aliases x-ai and qwen have their lists', () => {
  assert.equal(brief({ config: { model: { provider: 'x-ai' } } }), ['xai: grok-4.20'])
  assert.equal(brief({ config: { model: { provider: 'qwen' } } }), [
    'alibaba: qwen3-coder qwen3.6-plus',
  ])
  assert.equal(brief({ env: { GOOGLE_API_KEY: KEY } }), [`gemini: ${ids('gemini')}`])
})

test('configured models replace the list; an empty list omits the group', () => {
  const config = {
    model: { provider: 'openai' },
    providers: {
      anthropic: { models: ['one', 'two/three'] },
      mine: { models: { four: {} } },
      zai: {},
    },
  }
  assert.equal(brief({ config, env: { HF_TOKEN: KEY } }), [
    'anthropic: @anthropic:one @anthropic:two/three',
    'mine: @mine:four',
    `openai: ${ids('openai')}`,
  ])
  assert.is(listOf({ config }).groups[0]?.models[1]?.label, 'two/three')
})

test('custom providers: named ones by name, unnamed ones together', () => {
  const config = {
    model: { provider: 'My Box' },
    custom_providers: [
      { name: 'My Box', model: 'vendor/a', models: { b: { context_length: 5 } } },
      { name: 'Other', model: 'c' },
      { model: 'd' },
      { model: 'e' },
      { name: 'Empty' },
    ],
  }
  assert.equal(listOf({ config }), {
    active_provider: 'custom:my-box',
    default_model: '',
    groups: [
      {
        provider: 'Custom',
        provider_id: 'custom',
        models: [
          { id: '@custom:d', label: 'd' },
          { id: '@custom:e', label: 'e' },
        ],
      },
      {
        provider: 'My Box',
        provider_id: 'custom:my-box',
        models: [
          { id: 'b', label: 'b' },
          { id: 'vendor/a', label: 'a' },
        ],
      },
      {
        provider: 'Other',
        provider_id: 'custom:other',
        models: [{ id: '@custom:other:c', label: 'c' }],
      },
    ],
  })
})

/** Provider and id of the default, its group, and the group's first model and size. */
const DEFAULTS: [name: string, provider: string, id: string, found: string][] = [
  ['absent: on top of its group', 'openai', 'gpt-9', 'openai gpt-9 3'],
  ['present', 'openai', 'gpt-5.4', 'openai gpt-5.4-mini 2'],
  [
    'present with other signs',
    'anthropic',
    'anthropic/claude-opus-4-6',
    'anthropic claude-opus-4.6 4',
  ],
  [
    'of another provider’s group',
    'openai',
    'anthropic/claude-9',
    'openrouter anthropic/claude-9 20',
  ],
  [
    'present in another provider’s group',
    'openai',
    'anthropic/claude-opus-4.6',
    'openrouter @openrouter:openai/gpt-5.4-mini 19',
  ],
  ['with a hint', 'openai', '@openrouter:a/b', 'openrouter @openrouter:a/b 20'],
  ['of a group that is not shown', 'huggingface', 'a/b', 'default a/b 1'],
  ['of an endpoint without a model list', '', 'llama3', 'default llama3 1'],
]
for (const [name, provider, id, expected] of DEFAULTS)
  test(`the default model: ${name}`, () => {
    const place = provider ? { provider } : { base_url: 'http://127.0.0.1:1/v1' }
    const config = { model: { ...place, default: id } }
    const { groups } = listOf({ config, env: { OPENROUTER_API_KEY: KEY } })
    const [group] = expected.split(' ')
    const models = groups.find(({ provider_id }) => provider_id === group)?.models ?? []
    assert.is(`${group} ${models[0]?.id} ${models.length}`, expected)
  })

test('every listed id resolves to the provider that lists it', () => {
  const names =
    'OPENAI OPENROUTER ANTHROPIC GEMINI GLM KIMI MINIMAX DEEPSEEK OPENCODE_ZEN OPENCODE_GO MISTRAL XAI DASHSCOPE'.split(
      ' ',
    )
  const env = Object.fromEntries(names.map(name => [`${name}_API_KEY`, KEY]))
  const auth = { credential_pool: { nous: [{ agent_key: KEY }], copilot: [{ access_token: KEY }] } }
  for (const provider of ['openai', 'openrouter', 'gemini', 'nous', 'opencode-zen', 'xai']) {
    const home = homeOf({ config: { model: { provider } }, env, auth })
    const { groups } = modelGroups(home, bare)
    assert.is(groups.length, 15)
    for (const { provider_id, models } of groups)
      for (const { id } of models)
        assert.is(resolveFor(home, id).provider, provider_id, `${provider}: ${id}`)
  }
})

test.run()
