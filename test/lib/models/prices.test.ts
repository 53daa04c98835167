/** How much a model reads and costs: the person's configuration first, then the table, then the family. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { fetchModelList } from '../../../lib/models/fetch-model-list.ts'
import { ModelCatalog } from '../../../lib/models/model-catalog.ts'
import { RemoteModels } from '../../../lib/models/remote-models.ts'
import { Prices } from '../../../lib/models/prices.ts'
import { resolveFor } from '../../../lib/models/resolve.ts'
import { resolveEndpoint } from '../../../lib/models/endpoint.ts'
import { bare, homeOf } from './_home.ts'

const test = suite('context windows and prices')

const loaded = async () => {
  const prices = new Prices()
  await prices.ready()
  return prices
}

test('a failure to load the price table breaks nothing else', async () => {
  const prices = new Prices(() => Promise.reject(new Error('gone')))
  await prices.ready()
  assert.is(prices.find('openai', 'gpt-5.4'), null)
})

test('loads the table on first use, once', async () => {
  let loads = 0
  const prices = new Prices(async () => {
    loads += 1
    return import('@pydantic/genai-prices')
  })
  assert.is(prices.find('openai', 'gpt-5.4'), null)
  assert.is(loads, 0)
  await Promise.all([prices.ready(), prices.ready()])
  assert.is(loads, 1)
})

test('finds our provider and model names in the table', async () => {
  const prices = await loaded()
  const known: [string, string][] = [
    ['openai', 'gpt-5.4-mini'],
    ['anthropic', 'claude-sonnet-4.6'],
    ['openrouter', 'anthropic/claude-opus-4.6'],
    ['gemini', 'gemini-2.5-pro'],
    ['xai', 'grok-4.20'],
    ['deepseek', 'deepseek-reasoner'],
    ['kimi-coding', 'kimi-k2.5'],
  ]
  for (const [provider, model] of known) {
    const facts = prices.find(provider, model)
    assert.ok((facts?.price?.input ?? 0) > 0, `${provider} ${model}`)
    assert.ok((facts?.price?.output ?? 0) >= (facts?.price?.input ?? 0), model)
  }
  assert.equal(prices.find('anthropic', 'claude-sonnet-4.6'), {
    contextLength: 1_000_000,
    price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  })
})

test('a reseller’s context window is the maker’s, its price is not', async () => {
  const prices = await loaded()
  assert.equal(prices.find('copilot', 'claude-sonnet-4-5'), { contextLength: 200_000 })
  assert.equal(prices.find('custom:proxy', 'openai/gpt-5.4-mini'), { contextLength: 400_000 })
  assert.is(prices.find('ollama', 'my-own-model'), null)
})

test('the user’s configuration has precedence', async () => {
  const prices = await loaded()
  const env = { dotenv: { OPENAI_API_KEY: 'sk-open-ai' } }
  const endpointOf = (config: Record<string, unknown>, id: string) => {
    const home = homeOf({ config, ...env })
    return resolveEndpoint(home, bare, resolveFor(home, id), (...of) => prices.find(...of))
  }
  const model = { provider: 'openai', default: 'gpt-5.4-mini' }
  const plain = endpointOf({ model }, 'gpt-5.4-mini')
  assert.is(plain.contextLength, 400_000)
  assert.equal(plain.price, { input: 0.75, output: 4.5, cacheRead: 0.075 })
  const own = endpointOf({ model: { ...model, context_length: 50_000 } }, 'gpt-5.4-mini')
  assert.is(own.contextLength, 50_000)
  const unknown = endpointOf({ model }, 'of-no-family')
  assert.equal([unknown.contextLength, unknown.price], [128_000, undefined])
})

test('list options have known values only', async () => {
  const clock = createTestClock()
  const live = new RemoteModels(fetchModelList, clock)
  const catalog = new ModelCatalog({ clock, live, prices: new Prices(), config: bare })
  const home = homeOf({
    config: {
      model: { provider: 'openai' },
      providers: {
        openai: { models: { 'gpt-5.4': { context_length: 7 }, secret: {}, 'gpt-5': {} } },
      },
    },
    dotenv: { OPENAI_API_KEY: 'sk-open-ai' },
  })
  const { groups } = await catalog.list(home)
  const sizes = groups[0]?.models.map(({ id, context_length }) => [id, context_length])
  assert.equal(sizes, [
    ['gpt-5.4', 7],
    ['secret', undefined],
    ['gpt-5', 400_000],
  ])
})

test.run()
