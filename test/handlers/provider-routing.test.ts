/** `provider_routing` of config.yaml: with every request to OpenRouter, of whatever kind, and with no other; refused where it cannot be understood. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { createProvider, type Scripted } from '../_provider.ts'

const test = suite<{ app: TestApp; provider: Scripted }>('provider routing')
test.before.each(async context => {
  context.provider = await createProvider()
  context.provider.otherwise = () => ({ text: 'Orders of a shop' })
  context.app = await startApp()
})
test.after.each(async ({ app, provider }) => {
  await app.close()
  await provider.close()
})

const ROUTING = {
  sort: 'throughput',
  only: ['anthropic', 'google-vertex'],
  ignore: 'deepinfra',
  order: ['anthropic'],
  require_parameters: true,
  data_collection: 'deny',
  zdr: true,
}

const configure = (app: TestApp, config: Record<string, unknown>): void =>
  writeFileSync(join(app.home, 'config.yaml'), JSON.stringify(config))

const model = (url: string, more: Record<string, unknown> = {}) => ({
  provider: 'openrouter',
  base_url: url,
  api_key: 'sk-or-0123456789abcdef',
  default: 'anthropic/claude-opus-4.6',
  ...more,
})

const ask = async (app: TestApp) => {
  const { session } = (await app.post('/api/session/new', {})).body
  return app.post('/api/chat', { session_id: session.session_id, message: 'Count the orders' })
}

for (const api_mode of ['chat_completions', 'codex_responses', 'anthropic_messages'])
  test(`sends routing with each request in the format ${api_mode}, including the title’s`, async ({
    app,
    provider,
  }) => {
    configure(app, { model: model(provider.url, { api_mode }), provider_routing: ROUTING })
    const answer = await ask(app)
    assert.is(answer.status, 200, answer.text)
    await provider.arrived(2)
    const sent = provider.requests.map(({ body }) => body.provider)
    assert.equal(sent, Array(sent.length).fill({ ...ROUTING, ignore: ['deepinfra'] }))
  })

test('sends no routing to other providers, or when none is configured', async ({
  app,
  provider,
}) => {
  for (const config of [
    { model: model(provider.url, { provider: 'custom' }), provider_routing: ROUTING },
    { model: model(provider.url), provider_routing: { only: [], sort: '' } },
    { model: model(provider.url) },
  ]) {
    configure(app, config)
    assert.is((await ask(app)).status, 200)
  }
  assert.ok(provider.requests.length >= 3)
  for (const { body } of provider.requests) assert.not('provider' in body)
})

const SLIPS: [unknown, RegExp][] = [
  [{ data_collection: 'forbid' }, /provider_routing\.data_collection must be allow or deny/],
  [{ data_collection: false }, /data_collection must be/],
  [{ data_colection: 'deny' }, /provider_routing\.data_colection is not a setting/],
  [{ only: { a: 1 } }, /provider_routing\.only must be a list/],
  [{ require_parameters: 'perhaps' }, /require_parameters must be true or false/],
  [{ sort: 'beauty' }, /sort must be/],
  [['deny'], /provider_routing must be a mapping/],
]

test('rejects invalid routing by key name and sends nothing', async ({ app, provider }) => {
  for (const [provider_routing, words] of SLIPS) {
    configure(app, { model: model(provider.url), provider_routing })
    const { text } = await ask(app)
    assert.match(text, words)
  }
  assert.is(provider.requests.length, 0)
})

/** The page offers to add a key for `auth_mismatch`, which would mend none of these. */
for (const [name, broken] of [
  ['an invalid setting', { provider_routing: { sort: 'beauty' } }],
  ['a misspelled setting', { model: { 'base-url': 'http://127.0.0.1:1' } }],
  ['an unreadable file', 'model: [\n\t'],
] as const)
  test(`reports ${name} in config.yaml as a failure, not as a missing key`, async ({
    app,
    provider,
  }) => {
    const config = typeof broken === 'string' ? {} : { model: model(provider.url), ...broken }
    const text = typeof broken === 'string' ? broken : JSON.stringify(config)
    writeFileSync(join(app.home, 'config.yaml'), text)
    // A file that breaks while the service runs stays in force as it was read last.
    await app.restart()
    const { session } = (await app.post('/api/session/new', {})).body
    const start = { session_id: session.session_id, message: 'Count the orders' }
    const { body } = await app.post('/api/chat/start', start)
    let failure: Record<string, unknown> | undefined
    for await (const { event, data } of app.events(
      `/api/chat/stream?stream_id=${body.stream_id}`,
    )) {
      if (event === 'apperror') failure = data as Record<string, unknown>
      if (event === 'stream_end') break
    }
    assert.is(failure?.type, 'error', JSON.stringify({ body, failure }))
    assert.match(String(failure?.message), /config\.yaml/)
    assert.is(failure?.hint, undefined)
  })

test.run()
