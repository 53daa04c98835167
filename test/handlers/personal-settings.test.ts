/** Settings that each person chooses for themselves, over those of the server. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { PASSWORD, peopleIn, setPerson, signIn } from '../_people.ts'

type Headers = { headers: { cookie: string } }
type Context = { app: TestApp; owner: Headers; member: Headers; viewer: Headers }

const test = suite<Context>('personal settings')
const PERSONAL = '/api/settings/personal'

test.before(async context => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['default'] })
  await setPerson(app, { name: 'Vera', role: 'viewer', profiles: ['default'] })
  const owner = await signIn(app)
  Object.assign(context, { app, owner })
  context.member = await signIn(app, 'Mia')
  context.viewer = await signIn(app, 'Vera')
})
test.after(({ app }) => app.close())

const LOOK = ['theme', 'font_size', 'density', 'language', 'language_from'] as const
const lookOf = async ({ app }: Context, who: Headers) => {
  const { body } = await app.get('/api/settings', who)
  return LOOK.map(key => body[key])
}

test('what belongs to the server, and values that do not exist, are ignored; without a sign-in nothing is', async context => {
  const { app, viewer } = context
  const patch = {
    ...{ bot_name: 'Mine', onboarding_completed: true, _set_password: 'x', profiles: ['team'] },
    ...{ theme: ['x'], font_size: 'giant', language: '../x' },
  }
  const { status, body } = await app.post(PERSONAL, patch, viewer)
  assert.is(status, 200)
  assert.equal(body.ignored.toSorted(), Object.keys(patch).toSorted())
  assert.is(peopleIn(app).find(({ name }) => name === 'Vera')?.settings, undefined)
  assert.is((await app.post(PERSONAL, { theme: 'nord' })).status, 401)
  await app.post('/api/tokens/enable', { enabled: true }, context.owner)
  const given = { name: 'all', approvals: 'deny', paths: ['api'], scope: 'work' }
  const { secret } = (await app.post('/api/tokens/create', given, context.owner)).body
  const program = { headers: { authorization: `Bearer ${secret}` } }
  assert.is((await app.post(PERSONAL, { theme: 'nord' }, program)).status, 403)
})

test('a viewer and a member see their own choices, and those of the server for the rest', async context => {
  const { app, owner, member, viewer } = context
  await app.post(PERSONAL, { theme: 'mist', language: 'fr' }, owner)
  assert.is(JSON.parse(readFileSync(join(app.state, 'settings.json'), 'utf8')).theme, 'mist')
  const chosen = await app.post(PERSONAL, { theme: 'nord', font_size: 'large' }, viewer)
  assert.equal([chosen.body.theme, chosen.body.ignored], ['nord', []])
  await app.post(PERSONAL, { language: 'de', density: 'compact' }, member)
  assert.equal(await lookOf(context, owner), ['mist', 'default', 'comfortable', 'fr', 'setting'])
  assert.equal(await lookOf(context, viewer), ['nord', 'large', 'comfortable', 'fr', 'setting'])
  assert.equal(await lookOf(context, member), ['mist', 'default', 'compact', 'de', 'setting'])
  // The page itself, before anything is loaded.
  const page = async (who: Headers) => (await app.get('/settings', who)).text
  assert.match(
    await page(viewer),
    /<html lang="fr"[^>]* data-theme="nord"[^>]* data-font-size="large"/s,
  )
  assert.match(await page(member), /<html lang="de"[^>]* data-theme="mist"/s)
  // The language of the browser again, for one of them.
  await app.post(PERSONAL, { language_from: 'browser' }, member)
  const spanish = { headers: { ...member.headers, 'accept-language': 'es' } }
  assert.match((await app.get('/settings', spanish)).text, /<html lang="es"/)
  await app.post('/api/settings', { theme: 'light' }, owner)
  assert.is((await lookOf(context, member))[0], 'light')
  assert.is((await lookOf(context, viewer))[0], 'nord')
})

test('an owner beside the first one chooses for themselves; a broken entry counts as none; a restart keeps the rest', async context => {
  const { app, owner } = context
  await setPerson(app, { name: 'Olaf', role: 'owner' })
  const olaf = await signIn(app, 'Olaf')
  await app.post(PERSONAL, { theme: 'contrast' }, olaf)
  assert.is((await lookOf(context, owner))[0], 'light')
  const path = join(app.state, 'people.json')
  const file = JSON.parse(readFileSync(path, 'utf8'))
  for (const person of file.people)
    if (person.name === 'Vera') person.settings = { theme: {}, font_size: 'larger', made_up: 1 }
    else if (person.name === 'Mia') person.settings = 'broken'
  writeFileSync(path, JSON.stringify(file))
  await app.restart()
  const look = async (name: string) => (await lookOf(context, await signIn(app, name))).slice(0, 2)
  assert.equal(await look('Olaf'), ['contrast', 'default'])
  assert.equal(await look('Vera'), ['light', 'larger'])
  assert.equal(await look('Mia'), ['light', 'default'])
})

test.run()
