/** Conversations whose profile is gone: read as ever, never run with the keys of another profile, given to one by the person. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat } from './_chat.ts'

const deleted = suite('deleted profile')

/** A conversation of a profile that had its own model, and is gone; the base home has a model as well. */
const withGone = async (
  run: (chat: Awaited<ReturnType<typeof startChat>>, id: string) => Promise<void>,
) => {
  await using chat = await startChat()
  chat.provider.otherwise = () => ({ text: 'An answer.' })
  const { app } = chat
  assert.is(
    (await app.post('/api/profile/create', { name: 'work', clone_config: true })).status,
    200,
  )
  const made = await app.post('/api/session/new', { profile: 'work' })
  const id = made.body.session.session_id
  await chat.turn(id, 'the first words')
  await app.post('/api/profile/delete', { name: 'work' })
  assert.is(existsSync(join(app.home, 'profiles', 'work')), false)
  await run(chat, id)
}

deleted('a new session in a profile that does not exist is 404 and creates nothing', async () => {
  await using chat = await startChat()
  const before = readdirSync(join(chat.app.state, 'sessions'))
  for (const profile of ['ghost', 'work2', 'profiles']) {
    const { status, body } = await chat.app.post('/api/session/new', { profile })
    assert.equal([status, body.error], [404, `Profile '${profile}' does not exist.`])
  }
  assert.is((await chat.app.post('/api/session/new', { profile: '../x' })).status, 400)
  assert.equal(readdirSync(join(chat.app.state, 'sessions')), before)
  assert.is((await chat.app.post('/api/session/new', { profile: 'default' })).status, 200)
})

deleted(
  'can be read and copied; every kind of turn is rejected with the missing profile’s name',
  async () => {
    await withGone(async ({ app, provider, turn, messages }, id) => {
      const asked = provider.requests.length
      const { session } = (await app.get(`/api/session?session_id=${id}`)).body
      assert.equal([session.profile, session.messages.length >= 2], ['work', true])
      const copies = [
        (await app.post('/api/session/branch', { session_id: id })).body.session_id,
        (await app.post('/api/session/duplicate', { session_id: id })).body.session?.session_id,
      ].filter(Boolean)
      for (const one of [id, ...copies]) {
        await turn(one, 'and more words')
        const all = await messages(one)
        assert.is(all.findLast(({ role }) => role === 'user')?.content, 'and more words')
        assert.match(String(all.at(-1)?.content), /profile, 'work', no longer exists/)
      }
      const sync = await app.post('/api/chat', { session_id: id, message: 'at once' })
      assert.match(JSON.stringify(sync.body), /profile, 'work'/)
      const aside = await app.post('/api/btw', { session_id: id, question: 'x' })
      assert.ok(aside.status >= 400)
      assert.match(aside.body.error, /profile, 'work'/)
      const compress = await app.post('/api/session/compress', { session_id: id })
      assert.ok(compress.status >= 400)
      await app.post('/api/background', { session_id: id, prompt: 'x' })
      const queued = await app.post('/api/queue', { session_id: id, text: 'later' })
      assert.ok(queued.status < 500, queued.text)
      await app.restart()
      await turn(id, 'after a restart')
      assert.is(provider.requests.length, asked, 'a model was asked')
      assert.is(existsSync(join(app.home, 'profiles', 'work')), false, 'the profile came back')
    })
  },
)

deleted(
  'can be assigned another profile once its own is deleted, and continues there',
  async () => {
    await withGone(async ({ app, provider, turn, messages }, id) => {
      const give = (profile: string, session_id = id) =>
        app.post('/api/session/update', { session_id, profile })
      assert.is((await give('nobody')).status, 404)
      assert.is((await give('../x')).status, 400)
      const asked = provider.requests.length
      const given = await give('default')
      assert.equal([given.status, given.body.session.profile], [200, 'default'])
      await turn(id, 'go on')
      assert.ok(provider.requests.length > asked)
      assert.is((await messages(id)).at(-1)?.content, 'An answer.')
      // A conversation of a profile that exists is not moved.
      mkdirSync(join(app.home, 'profiles', 'other'))
      writeFileSync(join(app.home, 'profiles', 'other', 'config.yaml'), '')
      assert.is((await give('other')).status, 409)
      assert.is((await give('default')).status, 200)
    })
  },
)

deleted.run()
