/** Personalities over HTTP. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const test = suite<{ app: TestApp; id: string }>('personalities over HTTP')
test.before.each(async context => {
  context.app = await startApp()
  writeFileSync(
    join(context.app.home, 'config.yaml'),
    'agent:\n  personalities:\n    pirate: Arr, matey.\n    teacher: {description: Patient, system_prompt: Explain., tone: warm}\n    hollow: {}\n',
  )
  context.id = (await context.app.post('/api/session/new')).body.session.session_id
})
test.after.each(({ app }) => app.close())

test('a rejected request changes nothing', async ({ app, id }) => {
  const cases: [body: Record<string, unknown>, status: number][] = [
    [{ session_id: id }, 400],
    [{ name: 'pirate' }, 400],
    [{ session_id: 'gone00000000', name: 'pirate' }, 404],
    [{ session_id: id, name: 'a b' }, 400],
    [{ session_id: id, name: 5 }, 400],
    [{ session_id: id, name: 'Pirate' }, 404],
    [{ session_id: id, name: 'hollow' }, 400],
  ]
  for (const [body, status] of cases) {
    const answer = await app.post('/api/personality/set', body)
    assert.is(answer.status, status, JSON.stringify(body))
    assert.ok(answer.body.error)
  }
  const { body } = await app.get(`/api/session?session_id=${id}`)
  assert.is(body.session.personality, null)
})

test('lists, sets, shows and clears a personality', async ({ app, id }) => {
  assert.equal((await app.get('/api/personalities')).body.personalities, [
    { name: 'pirate', description: 'Arr, matey.' },
    { name: 'teacher', description: 'Patient' },
    { name: 'hollow', description: '' },
  ])
  const set = await app.post('/api/personality/set', { session_id: id, name: 'teacher' })
  assert.equal(set.body, { ok: true, personality: 'teacher', prompt: 'Explain.\nTone: warm' })
  const read = async () => (await app.get(`/api/session?session_id=${id}`)).body.session.personality
  assert.is(await read(), 'teacher')
  for (const name of ['', '  ', null]) {
    await app.post('/api/personality/set', { session_id: id, name: 'pirate' })
    const cleared = await app.post('/api/personality/set', { session_id: id, name })
    assert.equal(cleared.body, { ok: true, personality: null, prompt: '' })
    assert.is(await read(), null)
  }
})

test('a session uses the personalities of its own profile, whichever profile the request is in', async ({
  app,
}) => {
  const work = join(app.home, 'profiles', 'work')
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'config.yaml'), 'agent: {personalities: {clerk: At your service.}}\n')
  const made = await app.post('/api/session/new', { profile: 'work' })
  const session_id = made.body.session.session_id
  assert.is((await app.post('/api/personality/set', { session_id, name: 'pirate' })).status, 404)
  assert.is(
    (await app.post('/api/personality/set', { session_id, name: 'clerk' })).body.prompt,
    'At your service.',
  )
  const headers = { Cookie: 'agent_profile=work' }
  assert.is((await app.get('/api/personalities', { headers })).body.personalities[0].name, 'clerk')
})

test.run()
