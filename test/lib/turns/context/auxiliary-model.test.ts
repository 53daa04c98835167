/** Who answers the questions beside a conversation, with whose key, and what happens when it cannot. */
import { systemClock } from '../../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createProviders } from '../../../../lib/agent/providers/registry.ts'
import type { ModelEndpoint } from '../../../../lib/agent/types.ts'
import { unavailable } from '../../../../lib/errors.ts'
import type { ModelServices } from '../../../../lib/models/models.ts'
import type { Home } from '../../../../lib/profiles/home.ts'
import {
  AuxiliaryModels,
  auxiliarySettings,
} from '../../../../lib/turns/context/auxiliary-model.ts'
import { createProvider, type Scripted, type Step } from '../../../_provider.ts'
import { configOf } from '../../../_config.ts'

const test = suite<{ one: Scripted; two: Scripted }>('auxiliary', {
  one: null as never,
  two: null as never,
})
test.before.each(async context => {
  context.one = await createProvider()
  context.two = await createProvider()
})
test.after.each(async ({ one, two }) => {
  await one.close()
  await two.close()
})

const homeOf = (values: Record<string, unknown>): Home =>
  ({ config: () => configOf(values), values: () => values }) as Home
const endpointAt = (baseUrl: string, more: Partial<ModelEndpoint> = {}): ModelEndpoint => ({
  provider: 'custom',
  model: 'own',
  apiMode: 'chat_completions',
  baseUrl,
  apiKey: 'own-key',
  contextLength: 0,
  effort: 'high',
  ...more,
})
const none = (): never => {
  throw unavailable('No model is set up.')
}
const maker = (endpoint: (home: Home, model: string) => ModelEndpoint = none) =>
  new AuxiliaryModels(
    { endpoint, windows: { apply: (own: ModelEndpoint) => own } } as unknown as ModelServices,
    createProviders(undefined, systemClock),
    { ...systemClock, delay: async (_, signal) => signal?.throwIfAborted() },
  )
const ask = { messages: [{ role: 'user' as const, content: 'name it' }] }
const signal = () => new AbortController().signal
const broken: Step = { status: 400, body: { error: { message: 'broken' } } }

test('settings: auto is no provider, older keys work, timeouts depend on the task', () => {
  const of = (config: Record<string, unknown>, task: 'compression' | 'web_extract' | 'vision') =>
    auxiliarySettings(configOf(config), task)
  assert.equal(of({}, 'vision'), {
    provider: null,
    model: '',
    baseUrl: '',
    apiKey: null,
    timeoutMs: 30_000,
  })
  assert.is(of({}, 'compression').timeoutMs, 120_000)
  assert.is(of({}, 'web_extract').timeoutMs, 360_000)
  assert.is(
    of({ auxiliary: { vision: { provider: 'Auto', timeout: 7 } } }, 'vision').timeoutMs,
    7_000,
  )
  const older = {
    compression: { summary_model: 'x', summary_provider: 'auto', summary_base_url: 'http://a/v1/' },
  }
  assert.equal(of(older, 'compression'), {
    provider: null,
    model: 'x',
    baseUrl: 'http://a/v1',
    apiKey: null,
    timeoutMs: 120_000,
  })
  assert.is(of(older, 'vision').model, '')
  assert.is(of({ auxiliary: 'nonsense' }, 'vision').model, '')
})

test('without configuration uses the session’s model, without its reasoning effort', async ({
  one,
}) => {
  one.push({ text: ' an ark ', usage: { prompt_tokens: 9, completion_tokens: 3 } })
  const auxiliary = maker().for('compression', homeOf({}), endpointAt(one.url))
  const used: number[] = []
  const said = await auxiliary.ask(ask.messages, {
    signal: signal(),
    maxTokens: 50,
    onUsage: usage => used.push(usage.input_tokens, usage.output_tokens),
  })
  assert.is(said, 'an ark')
  assert.equal(used, [9, 3])
  const { body, headers } = one.requests[0] ?? { body: {}, headers: {} }
  assert.is(headers.authorization, 'Bearer own-key')
  assert.not.ok('reasoning_effort' in body)
  assert.not.ok(body.tools?.length)
})

test('a custom base URL gets its own key and never that of another host', async ({ one, two }) => {
  const said = (more: Record<string, unknown>) =>
    maker().for(
      'vision',
      homeOf({ auxiliary: { vision: { base_url: two.url, model: 'eyes', ...more } } }),
      endpointAt(one.url),
    ).endpoint
  assert.is(said({}).apiKey, null)
  assert.is(said({ api_key: 'other' }).apiKey, 'other')
  assert.is(said({}).model, 'eyes')
  assert.is(said({ base_url: one.url }).apiKey, 'own-key')
})

test('falls back to the session’s model when the configured one fails or is not set up', async ({
  one,
  two,
}) => {
  const home = homeOf({ auxiliary: { compression: { model: 'taker', provider: 'p' } } })
  const ids: string[] = []
  const named = maker((_, id) => {
    ids.push(id)
    return endpointAt(two.url, { model: 'taker' })
  }).for('compression', home, endpointAt(one.url))
  assert.is(named.endpoint.model, 'taker')
  assert.equal(ids, ['@p:taker'])
  two.push(broken)
  one.push({ text: 'own' })
  assert.is(await named.ask(ask.messages, { signal: signal() }), 'own')
  const missing = maker().for('compression', home, endpointAt(one.url))
  assert.is(missing.endpoint.model, 'own')
})

test('a summary by a model in the own network is not cut', async ({ one }) => {
  // Less than any answer takes.
  const home = homeOf({ auxiliary: { compression: { timeout: 0.001 } } })
  one.push({ text: 'notes' })
  const auxiliary = maker().for('compression', home, endpointAt(one.url))
  assert.is(await auxiliary.ask(ask.messages, { signal: signal() }), 'notes')
})

test.run()
