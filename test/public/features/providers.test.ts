/** Models and keys: providers, keys, test results, the list of models, and connecting one. */
import '../../_jsx.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { App } from '../../../public/app.ts'
import { connectOf } from '../../../public/features/models/connect.ts'
import { modelGroups } from '../../../public/features/models/model-list.tsx'
import { Models } from '../../../public/features/models/models.ts'
import { Providers, providersOf } from '../../../public/features/models/providers.ts'
import { Toasts } from '../../../public/features/shell/toast.ts'
import { fakePlatform } from '../_page.ts'

const demo = {
  active_provider: null,
  default_model: '',
  groups: [
    {
      provider: 'Demo model (offline, scripted)',
      provider_id: 'demo',
      models: [{ id: 'demo', label: 'Demo' }],
    },
  ],
}
const row = (id: string, patch: Record<string, unknown> = {}) => ({
  id,
  display_name: id.toUpperCase(),
  has_key: false,
  configurable: true,
  key_source: 'none',
  key_name: null,
  env_var: `${id}_KEY`,
  key_page: `https://${id}.example/keys`,
  needs_sign_in: false,
  base_url: null,
  alias_of: null,
  models: [],
  ...patch,
})
const quick = (id: string, patch: Record<string, unknown> = {}) => ({
  id,
  label: id,
  env_var: `${id}_KEY`,
  default_model: `${id}-model`,
  default_base_url: '',
  requires_base_url: false,
  models: [],
  quick: false,
  ...patch,
})
const server = {
  id: 'ollama',
  name: 'Ollama',
  base_url: 'http://127.0.0.1:11434/v1',
  models: [{ id: 'a:1b', label: 'A (1B)' }],
  configured: false,
}

const build = (answers: Parameters<typeof fakePlatform>[0] = {}) => {
  const { platform, service, clock } = fakePlatform({
    'GET /api/models': () => demo,
    'GET /api/providers': () => ({
      active_provider: 'openai',
      providers: [
        row('openai', { has_key: true, key_source: 'env_file', key_name: 'OPENAI_API_KEY' }),
        row('google', { has_key: true, alias_of: 'gemini' }),
        row('gemini', { has_key: true }),
        row('copilot', { configurable: false }),
        row('zai'),
      ],
    }),
    'GET /api/models/local': () => ({ servers: [server] }),
    'GET /api/onboarding/status': () => ({
      completed: false,
      setup: {
        providers: [
          quick('openrouter'),
          quick('openai'),
          quick('custom', { requires_base_url: true }),
        ],
      },
    }),
    'POST /api/onboarding/complete': () => ({}),
    'POST /api/providers/self-hosted': () => ({ ok: true }),
    ...answers,
  })
  const toasts = new Toasts(platform)
  const models = new Models(platform)
  const { onboarding } = models
  const app = { shell: { api: platform.api, platform, toasts }, models } as unknown as App
  return { app, service, toasts, models, onboarding, clock }
}

const test = suite('page: models and keys')

test('labels the model chip with the demo model when none is configured', async () => {
  const { models } = build()
  await models.load()
  assert.is(models.labelOf(null), 'Demo model (offline, scripted)')
  assert.is(models.labelOf(''), 'Demo model (offline, scripted)')
  assert.is(models.labelOf('demo'), 'Demo model (offline, scripted)')
  assert.is(models.labelOf('@openai:gpt-5.4'), 'gpt-5.4')
})

test('lists each provider once without aliases; offers keys only where configurable', async () => {
  const { app } = build()
  const providers = new Providers(app.shell, app.models)
  await providers.load()
  assert.equal(
    providers.connected.value.map(({ id }) => id),
    ['openai', 'gemini'],
  )
  assert.equal(
    providers.addable.value.map(({ id }) => id),
    ['gemini', 'openai', 'zai'],
  )
})

test('lists a provider whose sign-in has expired', async () => {
  const { app } = build({
    'GET /api/providers': () => ({
      active_provider: null,
      providers: [row('nous', { needs_sign_in: true }), row('xai')],
    }),
  })
  const providers = new Providers(app.shell, app.models)
  await providers.load()
  assert.equal(
    providers.connected.value.map(({ id }) => id),
    ['nous'],
  )
})

test('shows a failed list, and keeps a loaded one', async () => {
  const { app, service } = build({ 'GET /api/providers': () => Promise.reject(new Error('down')) })
  const providers = new Providers(app.shell, app.models)
  await providers.load()
  assert.is(providers.state.value, 'failed')
  service.answers['GET /api/providers'] = () => ({ active_provider: null, providers: [] })
  await providers.load()
  service.answers['GET /api/providers'] = () => Promise.reject(new Error('down'))
  await providers.load()
  assert.is(providers.state.value, 'ready')
})

test('shows test results in place, also when the server is unreachable', async () => {
  const { app, service } = build({
    'POST /api/providers/test': () => ({ ok: false, message: 'No', hint: 'Top it up' }),
  })
  const providers = new Providers(app.shell, app.models)
  const testing = providers.test('zai', { provider: 'zai', key: '' })
  assert.equal(providers.tests.value.zai, { busy: true })
  assert.is(await testing, false)
  assert.equal(providers.tests.value.zai, {
    busy: false,
    ok: false,
    message: 'No',
    hint: 'Top it up',
  })
  assert.equal(service.of('POST /api/providers/test'), [{ provider: 'zai' }])
  service.answers['POST /api/providers/test'] = () => Promise.reject(new Error('away'))
  await providers.test('zai', { provider: 'zai', key: 'k' })
  assert.equal(providers.tests.value.zai, { busy: false, ok: false, message: 'away' })
})

test('reloads keys and models after saving a key', async () => {
  const { app, service, toasts } = build({
    'POST /api/providers': () => ({ display_name: 'Z.AI' }),
  })
  await new Providers(app.shell, app.models).save('zai', 'the-key')
  assert.equal(service.of('POST /api/providers'), [{ provider: 'zai', api_key: 'the-key' }])
  assert.is(service.of('GET /api/models').length, 1)
  assert.is(toasts.list.value[0]?.text, 'Z.AI key saved')
})

test('asks for onboarding once, and never after it was skipped', async () => {
  const { onboarding, service } = build()
  await onboarding.load()
  await onboarding.load()
  assert.is(onboarding.needed.value, true)
  assert.is(service.of('GET /api/onboarding/status').length, 1)
  await onboarding.skip()
  assert.is(onboarding.needed.value, false)
  assert.is(service.of('POST /api/onboarding/complete').length, 1)
})

test('lists found sources first; a running server needs no key', async () => {
  const { app, service, onboarding } = build()
  const providers = connectOf(app)
  await providers.load()
  assert.equal(
    providers.found.value.map(({ id }) => id),
    ['local:ollama', 'openai', 'gemini'],
  )
  // Nothing is chosen for the person.
  assert.equal([providers.source.value, providers.ready.value], [undefined, false])
  providers.choose('local:ollama')
  assert.equal([providers.typed.model.value, providers.missing.value], ['a:1b', null])
  onboarding.open.value = true
  await providers.start({ overwrite: false })
  assert.equal(service.of('POST /api/providers/self-hosted'), [
    { name: 'Ollama', base_url: server.base_url, model: 'a:1b', use: true },
  ])
  assert.is(onboarding.open.value, false)
})

test('offers every provider that takes a key: the popular ones first, each with its key page', async () => {
  const { app, service } = build({
    'POST /api/providers': () => ({ display_name: 'ZAI' }),
    'POST /api/default-model': () => ({ ok: true, model: 'glm-5' }),
    'POST /api/onboarding/probe': ({ api_key }) =>
      api_key === 'right-key'
        ? { ok: true, models: [{ id: 'glm-5', label: 'GLM 5' }], message: '1 models' }
        : { ok: false, models: [], message: 'The key was rejected.' },
  })
  const connect = connectOf(app)
  await connect.load()
  assert.equal(
    [connect.popular.value, connect.more.value].map(list => list.map(({ id }) => id)),
    [['openrouter', 'custom'], ['zai']],
  )
  connect.choose('zai')
  assert.is(connect.source.value?.keyPage, 'https://zai.example/keys')
  connect.type('key', 'wrong')
  await connect.listModels()
  assert.equal(providersOf(app).tests.value.connect, {
    busy: false,
    ok: false,
    message: 'The key was rejected.',
  })
  assert.equal(connect.offered.value, [])
  connect.type('key', 'right-key')
  await connect.listModels()
  assert.equal([connect.typed.model.value, connect.ready.value], ['glm-5', true])
  await connect.start({ overwrite: false })
  assert.equal(service.of('POST /api/providers'), [{ provider: 'zai', api_key: 'right-key' }])
  assert.equal(service.of('POST /api/default-model'), [{ model: '@zai:glm-5' }])
  assert.is(service.of('POST /api/onboarding/setup').length, 0)
})

test('a model list that arrives after another provider was chosen is ignored', async () => {
  const late = Promise.withResolvers<unknown>()
  const { app } = build({ 'POST /api/onboarding/probe': () => late.promise })
  const connect = connectOf(app)
  await connect.load()
  connect.choose('zai')
  connect.type('key', 'a-key')
  const listing = connect.listModels()
  connect.choose('openrouter')
  late.resolve({ ok: true, models: [{ id: 'glm-5', label: 'GLM 5' }], message: '' })
  await listing
  assert.is(connect.typed.model.value, 'openrouter-model')
  assert.equal(
    connect.offered.value.map(({ id }) => id),
    ['openrouter-model'],
  )
})

test('lists the models of an address and a key as soon as both are typed; an open server needs no key', async () => {
  const late: ((reply: unknown) => void)[] = []
  const { app, service, clock } = build({
    'POST /api/onboarding/probe': () => new Promise(resolve => late.push(resolve)),
  })
  const connect = connectOf(app)
  await connect.load()
  connect.choose('custom')
  connect.type('model', '')
  assert.is(connect.missing.value, 'address')
  for (const text of ['h', 'http://127.0.0.1:9', 'http://127.0.0.1:9/v1'])
    connect.type('address', text)
  assert.is(connect.missing.value, 'model')
  await clock.advance(400)
  assert.equal(service.of('POST /api/onboarding/probe'), [
    { provider: 'custom', base_url: 'http://127.0.0.1:9/v1' },
  ])
  assert.is(connect.isListing.value, true)
  late[0]!({ ok: true, models: [{ id: 'm1', label: 'M1' }], message: '' })
  await clock.advance(0)
  assert.equal(
    [connect.isListing.value, connect.typed.model.value, connect.ready.value],
    [false, 'm1', true],
  )
  // Another server has other models, and may need a key.
  connect.type('address', 'http://127.0.0.1:10/v1')
  assert.equal([connect.typed.model.value, connect.offered.value], ['', []])
  await clock.advance(400)
  late[1]!({ ok: false, models: [], message: 'The key was rejected.' })
  await clock.advance(0)
  assert.equal(providersOf(app).tests.value.connect, {
    busy: false,
    ok: false,
    message: 'The key was rejected.',
  })
})

test('what cannot be saved is said beside the buttons', async () => {
  const { app, onboarding } = build({
    'POST /api/onboarding/setup': () => Promise.reject(new Error('The key is too short.')),
  })
  const connect = connectOf(app)
  await connect.load()
  onboarding.open.value = true
  connect.choose('openrouter')
  connect.type('key', 'k')
  await connect.start({ overwrite: false })
  assert.equal(providersOf(app).tests.value.connect, {
    busy: false,
    ok: false,
    message: 'The key is too short.',
  })
  assert.is(onboarding.open.value, true)
})

test('a key that two rows share is listed once', async () => {
  const shared = { has_key: true, key_source: 'env_file', key_name: 'OPENAI_API_KEY' }
  const { app } = build({
    'GET /api/providers': () => ({
      active_provider: 'custom',
      providers: [row('custom', { ...shared, base_url: 'http://h/v1' }), row('openai', shared)],
    }),
  })
  const providers = new Providers(app.shell, app.models)
  await providers.load()
  assert.equal(
    providers.connected.value.map(({ id }) => id),
    ['custom'],
  )
})

const model = (provider: string, id: string, label: string) => ({ provider, id, label })

test('the list of models: recent ones first, equal names told apart, an id that is in no list', () => {
  const all = [
    model('Anthropic', 'claude-opus-4-6', 'Claude Opus 4.6'),
    model('OpenRouter', '@openrouter:anthropic/claude-opus-4.6', 'Claude Opus 4.6'),
    model('OpenRouter', '@openrouter:anthropic/claude-opus-4.6:free', 'Claude Opus 4.6'),
  ]
  const shown = (query: string) =>
    modelGroups(all, all.slice(0, 1), query)
      .filter(({ options }) => options.length > 0)
      .map(({ label, options }) => [label, ...options.map(each => each.label)].join(' | '))
  assert.equal(shown(''), [
    'Recent | Claude Opus 4.6',
    'All models | anthropic/claude-opus-4.6 | anthropic/claude-opus-4.6:free',
  ])
  assert.equal(shown('claude-opus-4-6'), [' | Claude Opus 4.6'])
  assert.equal(shown('my/own-model'), [' | Use “my/own-model”'])
  assert.equal(shown('two words'), [])
})

test('requires a key, and a base URL where needed', async () => {
  const { app } = build()
  const providers = connectOf(app)
  await providers.load()
  providers.choose('openrouter')
  assert.is(providers.ready.value, false)
  providers.type('key', 'sk-or-1')
  assert.is(providers.ready.value, true)
  providers.choose('custom')
  providers.type('model', 'm')
  assert.is(providers.ready.value, false)
  providers.type('address', 'http://127.0.0.1:9/v1')
  assert.is(providers.ready.value, true)
  // What was typed for one place is never sent to another.
  assert.is(providers.typed.key.value, '')
})

test('changes an existing configuration only after confirmation', async () => {
  const { app, service, onboarding } = build()
  service.answers['POST /api/onboarding/setup'] = ({ confirm_overwrite }) =>
    confirm_overwrite ? { completed: true } : { error: 'config_exists', requires_confirm: true }
  const providers = connectOf(app)
  await providers.load()
  onboarding.open.value = true
  providers.choose('openai')
  await providers.start({ overwrite: false })
  assert.equal([providers.needsConfirmation.value, onboarding.open.value], [true, true])
  await providers.start({ overwrite: true })
  assert.equal([providers.needsConfirmation.value, onboarding.open.value], [false, false])
  assert.is(providersOf(app).state.value, 'ready')
})

test.run()
