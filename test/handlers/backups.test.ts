/** Backups of the running service over HTTP, and the chats of a restored one. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { restoreBackup } from '../../lib/operations/backups/restore.ts'
import { readTree } from '../lib/operations/backups/_places.ts'
import { startChat } from './_chat.ts'

type Test = { chat: Awaited<ReturnType<typeof startChat>> }

const test = suite<Test>('backups over HTTP')

test.before(async context => {
  context.chat = await startChat()
})
test.after(({ chat }) => chat.close())

test('refuses a folder in the home, and a file that is no backup', async ({ chat: { app } }) => {
  for (const dir of ['relative', app.home, join(app.state, 'x')]) {
    const { status, body } = await app.post('/api/backups', { dir })
    assert.is(status, 400)
    assert.match(body.error, /full path|gets saved/)
  }
  assert.is((await app.post('/api/backups/run', {})).status, 400)
  for (const name of ['../settings.json', 'x'])
    assert.is((await app.get(`/api/backups/file?name=${encodeURIComponent(name)}`)).status, 404)
})

test('a backup of real turns, made while the service runs, is restored byte for byte', async ({
  chat,
}) => {
  const { app, provider } = chat
  const session = await chat.newSession()
  const path = join(app.userHome, 'x.txt')
  provider.push(
    { toolCalls: [{ name: 'write_file', arguments: { path, content: 'x' } }] },
    { text: 'Done.' },
    { text: 'Title' },
    { text: 'Hello.' },
    { text: 'Another title' },
  )
  await chat.turn(session, 'Write x.')
  await chat.turn(await chat.newSession(), 'Another chat.')
  writeFileSync(join(app.home, 'SOUL.md'), 'You are careful.')

  const dir = join(app.userHome, 'backups')
  assert.is((await app.post('/api/backups', { dir })).body.settings.dir, dir)
  assert.is((await app.post('/api/backups/run', {})).status, 200)
  let state = (await app.get('/api/backups')).body
  while (state.running) state = (await app.get('/api/backups')).body
  assert.equal(state.last.error, '')
  const [{ name }] = state.files
  const { status, headers } = await app.get(`/api/backups/file?name=${name}`)
  assert.is(status, 200)
  assert.match(String(headers['content-disposition']), /^attachment; filename="agent-webui-/)

  const home = join(app.userHome, 'restored')
  const file = join(dir, name)
  await restoreBackup({ file, home, state: join(home, 'webui'), passphrase: async () => null })
  const found = readTree(join(home, 'webui'))
  const expected = readTree(app.state)
  const lines = Object.keys(expected).filter(path => path.startsWith('sessions/'))
  assert.ok(lines.length >= 2)
  for (const path of lines) assert.is(found[path], expected[path], path)
  assert.is(readFileSync(join(home, 'SOUL.md'), 'utf8'), 'You are careful.')
  assert.not(existsSync(join(home, 'webui/.signing_key')))
})

test.run()
