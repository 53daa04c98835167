/** The model list over HTTP: computed from the current files of the request's home. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { idsOf, type ListServer, startLists } from '../lib/models/_lists.ts'

const test = suite<{ app: TestApp; lists: ListServer }>('models over HTTP')
test.before.each(async context => {
  context.lists = await startLists()
  context.app = await startApp({ env: { GITHUB_TOKEN: 'ghp-ambient-token' } })
})
test.after.each(async ({ app, lists }) => {
  await lists.close()
  await app.close()
})

const shown = async (app: TestApp, cookie = '') => {
  const { body } = await app.get('/api/models', cookie ? { headers: { Cookie: cookie } } : {})
  return body.groups.map((group: { provider_id: string }) => group.provider_id)
}

test('unreadable files give an empty list: no model of another provider, and no error', async ({
  app,
}) => {
  writeFileSync(join(app.home, 'config.yaml'), 'model: {\n')
  writeFileSync(join(app.home, 'auth.json'), '{"x')
  assert.equal(await shown(app), [])
})

test('a new home offers the demo only; an unrelated token offers nothing', async ({ app }) => {
  const { body } = await app.get('/api/models')
  assert.equal([body.active_provider, body.default_model, body.groups.length], [null, '', 1])
  assert.equal(await shown(app), ['demo'])
})

test('a key added to .env at runtime counts at once, for its profile only', async ({ app }) => {
  const work = join(app.home, 'profiles', 'work')
  mkdirSync(work, { recursive: true })
  writeFileSync(join(app.home, '.env'), 'OPENAI_API_KEY=sk-secret-of-base\n')
  writeFileSync(join(work, '.env'), 'GLM_API_KEY=sk-secret-of-work\n')
  assert.equal(await shown(app), ['openai'])
  assert.equal(await shown(app, 'agent_profile=work'), ['zai'])
  writeFileSync(
    join(app.home, 'config.yaml'),
    'model: {provider: anthropic, default: claude-opus-4.6}\n',
  )
  const { body, text } = await app.get('/api/models')
  assert.is(body.active_provider, 'anthropic')
  assert.ok(body.groups[1].models.every(({ id }: { id: string }) => id.startsWith('@openai:')))
  assert.not.match(text, /sk-secret/)
})

test('GET /api/models/live: always 200: without a provider, for an unknown one, and for a live list', async ({
  app,
  lists,
}) => {
  const none = await app.get('/api/models/live')
  assert.equal([none.status, none.body.error, none.body.models], [200, 'no_provider', []])
  const unknown = await app.get('/api/models/live?provider=nobody')
  assert.equal(unknown.body, { provider: 'nobody', models: [], ids: [], count: 0 })
  lists.answer = idsOf('claude-sonnet-4-5')
  writeFileSync(
    join(app.home, 'config.yaml'),
    `model: {provider: claude, base_url: "${lists.url}", api_key: sk-ant-test-1}\n`,
  )
  const { body } = await app.get('/api/models/live')
  assert.equal(body, {
    provider: 'anthropic',
    models: [{ id: 'claude-sonnet-4-5', label: 'Claude Sonnet 4 5' }],
    ids: ['claude-sonnet-4-5'],
    count: 1,
  })
  assert.is(lists.asked[0]?.headers['x-api-key'], 'sk-ant-test-1')
})

test('caches a live list until it is refreshed, per profile', async ({ app, lists }) => {
  lists.answer = idsOf('first')
  const work = join(app.home, 'profiles', 'work')
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'config.yaml'), `model: {base_url: "${lists.url}/v1"}\n`)
  const cookie = { headers: { Cookie: 'agent_profile=work' } }
  const ids = (body: { groups: { models: { id: string }[] }[] }) =>
    body.groups.flatMap(({ models }) => models.map(({ id }) => id))
  const first = await app.get('/api/models', cookie)
  assert.equal(ids(first.body), ['first'])
  // One model on one's own machine needs no choosing.
  assert.is(first.body.default_model, 'first')
  lists.answer = idsOf('second', 'third')
  assert.equal(ids((await app.get('/api/models', cookie)).body), ['first'])
  assert.equal(await shown(app), ['demo'])
  const { body } = await app.post('/api/models/refresh', {}, cookie)
  assert.equal(
    [body.ok, ids(body.models), body.models.default_model],
    [true, ['second', 'third'], ''],
  )
  // The others asked for the window in use.
  const fetched = lists.asked.filter(({ headers }) => headers['user-agent'] !== undefined)
  assert.equal(fetched.length, 2)
})

test('GET /api/models/local returns an empty list where no server runs', async ({ app }) => {
  const { status, body } = await app.get('/api/models/local')
  assert.is(status, 200)
  assert.ok(Array.isArray(body.servers))
})

test.run()
