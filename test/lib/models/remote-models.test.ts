/** What providers say they serve: the chain of places, the keys that go there, and how long an answer is kept. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { fetchModelList } from '../../../lib/models/fetch-model-list.ts'
import { ModelCatalog } from '../../../lib/models/model-catalog.ts'
import { RemoteModels } from '../../../lib/models/remote-models.ts'
import { liveLabel, tagLabel } from '../../../lib/models/model-labels.ts'
import { Prices } from '../../../lib/models/prices.ts'
import { bare, homeOf } from './_home.ts'
import { idsOf, type ListServer, startLists } from './_lists.ts'
import { configOf } from '../../_config.ts'

const test = suite<{ lists: ListServer }>('live models')
test.before.each(async context => {
  context.lists = await startLists(idsOf('live-1', 'live-2'))
})
test.after.each(({ lists }) => lists.close())

const services = (lists: ListServer, clock = createTestClock()) => {
  const live = new RemoteModels(
    asked => fetchModelList(asked, { dispatcher: lists.dispatcher }),
    clock,
  )
  const catalog = new ModelCatalog({ clock, live, prices: new Prices(), config: bare })
  return { live, catalog }
}

const origins = (lists: ListServer) =>
  lists.asked.map(({ path, headers }) => `${headers['x-origin']}${path}`)
const keys = (lists: ListServer) =>
  lists.asked.map(({ headers }) => headers.authorization ?? headers['x-api-key'])

test('without a usable key nothing is fetched and the built-in list is used', async ({ lists }) => {
  const { catalog } = services(lists)
  const found = await catalog.of(homeOf({ env: { OPENROUTER_API_KEY: 'sk-or-other' } }), 'glm')
  assert.is(found.provider, 'zai')
  assert.is(found.ids[0], 'glm-5.1')
  assert.is(found.count, found.models.length)
  assert.equal(origins(lists), [])
  assert.equal((await catalog.of(homeOf({}), 'nobody')).ids, [])
})

test('queries a provider at its own address with its own key only', async ({ lists }) => {
  const { catalog } = services(lists)
  const home = homeOf({
    config: { model: { provider: 'openrouter', api_key: 'sk-model-key' }, api_key: 'sk-top-level' },
    dotenv: { DEEPSEEK_API_KEY: 'sk-deep-seek', OPENAI_API_KEY: 'sk-open-ai' },
  })
  const { models, ids } = await catalog.of(home, 'deep-seek')
  assert.equal(ids, ['live-1', 'live-2'])
  assert.equal(models[0], { id: 'live-1', label: 'Live 1' })
  await catalog.of(home, 'openai')
  assert.equal(origins(lists), [
    'https://api.deepseek.com/v1/models',
    'https://api.openai.com/v1/models',
  ])
  assert.equal(keys(lists), ['Bearer sk-deep-seek', 'Bearer sk-open-ai'])
})

test('queries Anthropic with its own API', async ({ lists }) => {
  const { catalog } = services(lists)
  await catalog.of(homeOf({ dotenv: { ANTHROPIC_API_KEY: 'sk-ant-api-1' } }), 'claude')
  assert.equal(origins(lists), ['https://api.anthropic.com/v1/models?limit=1000'])
  assert.is(lists.asked[0]?.headers['x-api-key'], 'sk-ant-api-1')
  assert.is(lists.asked[0]?.headers['anthropic-version'], '2023-06-01')
  assert.is(lists.asked[0]?.headers.authorization, undefined)
})

test('the known endpoint gets only a provider-scoped key or model.api_key', async ({ lists }) => {
  const { catalog } = services(lists)
  const only = (asked: { headers: Record<string, unknown> }) =>
    asked.headers['x-origin'] === 'https://api.minimax.chat' ? idsOf('mm') : { status: 404 }
  lists.answer = only
  const scoped = homeOf({ config: { providers: { minimax: { api_key: 'sk-scoped-key' } } } })
  assert.equal((await catalog.of(scoped, 'minimax')).ids, ['mm'])
  const asModel = homeOf({ config: { model: { provider: 'minimax', api_key: 'sk-model-key' } } })
  assert.equal((await catalog.of(asModel, 'minimax')).ids, ['mm'])
  assert.equal(keys(lists), ['Bearer sk-scoped-key', 'Bearer sk-model-key'])
  // A variable is not a provider-scoped key of config.yaml, nor is a key of another provider or of none.
  const others = homeOf({
    config: { api_key: 'sk-top-level', model: { provider: 'openai', api_key: 'sk-of-openai' } },
    env: { MINIMAX_API_KEY: 'sk-variable' },
  })
  assert.is((await catalog.of(others, 'minimax')).ids[0], 'MiniMax-M2.7')
  assert.is(lists.asked.length, 2)
})

test('custom_providers: queried at their address, else their configured models', async ({
  lists,
}) => {
  const { catalog } = services(lists)
  const home = homeOf({
    config: {
      custom_providers: [
        { name: 'My Box', base_url: `${lists.url}/v1`, api_key: 'sk-my-box', model: 'box/written' },
      ],
    },
  })
  assert.equal((await catalog.of(home, 'custom:my-box')).ids, ['live-1', 'live-2'])
  assert.equal(keys(lists), ['Bearer sk-my-box'])
  assert.equal((await catalog.of(home, 'custom')).models, [{ id: 'box/written', label: 'written' }])
  const { groups } = await catalog.list(home)
  assert.equal(
    groups[0]?.models.map(({ id }) => id),
    ['live-1', 'live-2', 'box/written'],
  )
  lists.answer = { status: 500 }
  const again = services(lists).catalog
  assert.equal((await again.of(home, 'custom:my-box')).ids, ['box/written'])
})

test('queries model.base_url under /v1/models and lists it in its group', async ({ lists }) => {
  const config = { model: { base_url: lists.url, api_key: 'sk-endpoint', default: 'live-2' } }
  const { catalog } = services(lists)
  const list = await catalog.list(homeOf({ config }))
  assert.equal(origins(lists), [`${lists.url}/v1/models`])
  assert.is(lists.asked[0]?.headers['user-agent'], 'OpenAI/Python 1.0')
  assert.is(list.active_provider, 'custom')
  assert.equal(list.groups, [
    {
      provider: 'Local server',
      provider_id: 'custom',
      models: [
        { id: 'live-1', label: 'Live 1' },
        { id: 'live-2', label: 'Live 2' },
      ],
    },
  ])
  const versioned = { model: { base_url: `${lists.url}/v1/` } }
  await services(lists).catalog.list(homeOf({ config: versioned }))
  assert.is(origins(lists)[1], `${lists.url}/v1/models`)
})

test('a provider without a static list has its live one, prefixed when another is active', async ({
  lists,
}) => {
  const { catalog } = services(lists)
  const home = homeOf({
    config: { model: { provider: 'openai', default: 'gpt-5.4' } },
    dotenv: { OPENAI_API_KEY: 'sk-open-ai', NVIDIA_API_KEY: 'nv-key-1' },
  })
  const { groups } = await catalog.list(home)
  assert.equal(
    groups.map(({ provider_id }) => provider_id),
    ['nvidia', 'openai'],
  )
  assert.equal(
    groups[0]?.models.map(({ id }) => id),
    ['@nvidia:live-1', '@nvidia:live-2'],
  )
  // openai has a built-in list: nothing is fetched.
  assert.equal(origins(lists), ['https://integrate.api.nvidia.com/v1/models'])
})

test('a local server with one model needs no default', async ({ lists }) => {
  lists.answer = idsOf('llama3.2:3b')
  const home = homeOf({ config: { model: { base_url: `${lists.url}/v1` } } })
  const { catalog } = services(lists)
  assert.is(catalog.defaultModel(home), '')
  await catalog.ready(home)
  assert.is(catalog.defaultModel(home), 'llama3.2:3b')
  assert.is((await catalog.list(home)).default_model, 'llama3.2:3b')
  lists.answer = idsOf('one', 'two')
  const two = services(lists).catalog
  await two.ready(home)
  assert.is(two.defaultModel(home), '')
})

test('lists with the renewed token of a sign-in, and never with a sign-in of Anthropic', async ({
  lists,
}) => {
  lists.answer = idsOf('hermes-4')
  const asked: unknown[] = []
  const live = new RemoteModels(
    asked => fetchModelList(asked, { dispatcher: lists.dispatcher }),
    createTestClock(),
    async (token, isRejected) => {
      asked.push(token, isRejected)
      return 'renewed-token'
    },
  )
  const state = { agent_key: 'old-token', access_token: 'other', refresh_token: 'r' }
  const auth = {
    providers: { nous: state },
    credential_pool: { anthropic: [{ id: 'a', access_token: 'sk-ant-oat01-1234' }] },
  }
  const home = {
    ...homeOf({ auth, env: { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-9' } }),
    dir: '/home',
  }
  assert.is((await live.load(home, 'nous'))?.[0]?.id, 'hermes-4')
  assert.is(lists.asked[0]?.headers.authorization, 'Bearer renewed-token')
  const signIn = { dir: '/home', provider: 'nous', id: 'sign-in' }
  assert.equal(asked, [{ apiKey: 'old-token', signIn }, false])
  assert.is(await live.load(home, 'anthropic'), null)
  assert.is(lists.asked.length, 1)
})

test('caches a response for 60 s, a failure for less, and drops both when a file changes', async ({
  lists,
}) => {
  const clock = createTestClock()
  const { live } = services(lists, clock)
  const auth = {}
  const env = { NVIDIA_API_KEY: 'nv-key-1' }
  let values: Record<string, unknown> = {}
  const home = {
    clock,
    values: () => values,
    config: () => configOf(values),
    env: () => env,
    dotenv: () => env,
    authJson: () => auth,
  }
  await live.load(home, 'nvidia')
  await clock.advance(59_999)
  await live.load(home, 'nvidia')
  assert.is(lists.asked.length, 1)
  await clock.advance(1)
  lists.answer = { status: 500 }
  assert.is(await live.load(home, 'nvidia'), null)
  assert.is(lists.asked.length, 2)
  await clock.advance(14_999)
  await live.load(home, 'nvidia')
  assert.is(lists.asked.length, 2)
  values = {}
  lists.answer = idsOf('new')
  assert.equal(
    (await live.load(home, 'nvidia'))?.map(({ id }) => id),
    ['new'],
  )
  live.forget(home, 'nim')
  assert.is(live.cached(home, 'nvidia'), null)
})

test('concurrent requests share one fetch; a slow server delays the list only briefly', async ({
  lists,
}) => {
  lists.answer = { silent: true }
  const clock = createTestClock()
  const { catalog } = services(lists, clock)
  const home = homeOf({ dotenv: { NVIDIA_API_KEY: 'nv-key-1', OPENAI_API_KEY: 'sk-open-ai' } })
  const listing = Promise.all([catalog.list(home), catalog.list(home)])
  await lists.arrived(1)
  await clock.advance(3_000)
  const [first, second] = await listing
  assert.equal(
    first.groups.map(({ provider_id }) => provider_id),
    ['openai'],
  )
  assert.equal(first, second)
  assert.is(lists.asked.length, 1)
})

test('labels of live ids', () => {
  const cases: [string, string][] = [
    ['claude-sonnet-4-5', 'Claude Sonnet 4 5'],
    ['openai/gpt-5-mini', 'GPT 5 Mini'],
    ['glm-4.5-air', 'GLM 4.5 Air'],
    ['qwen3-moe-xl', 'Qwen3 MoE XL'],
    ['llama3', 'Llama3'],
  ]
  for (const [id, label] of cases) assert.is(liveLabel(id), label)
})

test('labels of Ollama tags', () => {
  const cases: [string, string][] = [
    ['llama3.2:3b', 'Llama3.2 (3B)'],
    ['qwen3-vl:235b-instruct', 'Qwen3 VL (235B Instruct)'],
    ['gpt-oss:20b', 'GPT OSS (20B)'],
    ['nomic_embed-text', 'Nomic Embed Text'],
  ]
  for (const [id, label] of cases) assert.is(tagLabel(id), label)
})

test.run()
