/** Notifications over HTTP: the address of the page, and what the audit log says about notifications. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'
import { PASSWORD, setPerson, signIn } from '../_people.ts'
import { startPushService } from '../_push-service.ts'

const test = suite('notification settings')

const HARMLESS = 'command that can change something'
const onLoopback = { allowPush: (host: string) => host === '127.0.0.1', firstDelayMs: 20 }

test('an address of the page that is none is refused; one that was stored before holds no push message back', async () => {
  await using push = await startPushService()
  await using app = await startApp({ notificationTests: onLoopback })
  for (const base_url of [
    'https://a b/',
    'https://[x/',
    'https://x.example:99999/',
    'https://a\n/',
    'https://me:secret@x.example/',
    'https://x.example/?a=/',
  ]) {
    const reply = await app.post('/api/notifications', { settings: { base_url } })
    assert.equal([reply.status, reply.body.code], [400, 'invalid_address'], base_url)
  }
  for (const base_url of [
    'https://agent.example/app/',
    'http://[::1]:8080/',
    'https://münchen.example/',
    '',
  ])
    assert.is((await app.post('/api/notifications', { settings: { base_url } })).status, 200)

  const { key } = (await app.get('/api/notifications/key')).body
  const subscription = push.subscribe(key)
  const { body } = await app.post('/api/notifications/devices', { subscription })
  const path = join(app.state, 'notifications.json')
  await app.restart(() => {
    const file = JSON.parse(readFileSync(path, 'utf8'))
    file.settings.base_url = 'https://a b/'
    writeFileSync(path, JSON.stringify(file))
  })
  const { id } = body.devices[0]
  assert.is((await app.post('/api/notifications/test', { id })).status, 200)
  assert.is((await push.message(1)).title, 'Test notification')
})

test('the audit log says who answered in a notification, and what changed where notifications go', async () => {
  await using push = await startPushService()
  await using app = await startApp({
    notificationTests: onLoopback,
    env: { AGENT_WEBUI_PASSWORD: PASSWORD },
  })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['default'] })
  const [owner, mia] = [await signIn(app), await signIn(app, 'Mia')]
  const { key } = (await app.get('/api/notifications/key', mia)).body
  const device = { subscription: push.subscribe(key), name: 'Mia’s phone' }
  const added = await app.post('/api/notifications/devices', device, mia)
  await app.post('/api/notifications/devices', { ...device, refresh: true }, mia)
  const service = { type: 'webhook', url: `${push.url}/secret-path` }
  const { body } = await app.post('/api/notifications/services', service, owner)
  await app.post('/api/notifications/kinds', { id: body.id, kinds: [] }, owner)
  await app.post('/api/notifications', { settings: { allow_risky: true, content: true } }, owner)
  await app.post('/api/notifications', { profile: 'default', kinds: null }, owner)
  const { session_id } = (await app.post('/api/session/new', {}, owner)).body.session
  const question = { session_id, command: 'deploy', pattern_key: HARMLESS }
  await app.post('/api/approval/inject_test', question, owner)
  const [allow] = (await push.message(1)).actions
  const german = { headers: { 'accept-language': 'de' } }
  await setPerson(app, { name: 'Mia', role: 'viewer', profiles: ['default'] })
  const refused = await app.post('/api/notifications/answer', { token: allow?.token }, german)
  assert.equal(
    [refused.status, refused.body.error],
    [403, 'This notification is no longer valid. Open the chat to answer there.'],
    'in the language of the device',
  )
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['default'] })
  assert.is((await app.post('/api/notifications/answer', { token: allow?.token })).status, 200)
  for (const id of [body.id, added.body.devices[0].id])
    await app.post('/api/notifications/remove', { id }, owner)
  const { entries } = (await app.get('/api/auth/audit?kinds=settings,approval', owner)).body
  assert.equal(
    entries.map((entry: Record<string, string>) => [entry.person, entry.detail]),
    [
      ['Olga', 'notifications removed Mia’s phone'],
      ['Olga', 'notifications removed webhook'],
      ['Mia', `once ${session_id}`],
      ['Olga', 'notifications profile default'],
      ['Olga', 'notifications content allow_risky'],
      ['Olga', 'notifications added webhook'],
      ['Mia', 'notifications added Mia’s phone'],
    ],
  )
  for (let i = 0; i < 5; i += 1)
    assert.is((await app.post('/api/notifications/answer', { token: `${i}` }, german)).status, 404)
  const late = await app.post('/api/notifications/answer', { token: '5' }, german)
  assert.equal(
    [late.status, late.body.error],
    [429, 'Deine Antwort konnte nicht gesendet werden. Öffne den Chat, um dort zu antworten.'],
  )
})

test.run()
