/** The model list over HTTP: computed from the home of the request, as its files stand. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const test = suite<{ app: TestApp }>('models over HTTP')
test.before.each(async context => {
  context.app = await startApp({ env: { GITHUB_TOKEN: 'ghp-ambient-token' } })
})
test.after.each(({ app }) => app.close())

const shown = async (app: TestApp, cookie = '') => {
  const { body } = await app.get('/api/models', cookie ? { headers: { Cookie: cookie } } : {})
  return body.groups.map((group: { provider_id: string }) => group.provider_id)
}

test('broken files show what is left, never an error', async ({ app }) => {
  writeFileSync(join(app.home, 'config.yaml'), 'model: {\n')
  writeFileSync(join(app.home, 'auth.json'), '{"x')
  assert.equal(await shown(app), ['demo'])
})

test('a fresh home offers the demo only; a lying-around token offers nothing', async ({ app }) => {
  const { body } = await app.get('/api/models')
  assert.equal([body.active_provider, body.default_model, body.groups.length], [null, '', 1])
  assert.equal(await shown(app), ['demo'])
})

test('a key added to .env while we run is seen at once, and only by its profile', async ({
  app,
}) => {
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

test.run()
