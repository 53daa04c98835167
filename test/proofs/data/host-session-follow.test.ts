/** Imported sessions follow the terminal until a message is written here; content parts are read as text. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import {
  addConversation,
  addMessage,
  addSession,
  createStateDb,
  listContent,
  SCHEMAS,
  type StateDb,
} from '../../_state-db.ts'

type Context = { app: TestApp; db: StateDb }
const ID = '20260101_000000_abc123'
type Message = { content: string; _error?: boolean }

const open = async (app: TestApp, id = ID) =>
  (await app.get(`/api/session?session_id=${id}`)).body.session
const contents = async (app: TestApp, id = ID): Promise<string[]> =>
  (await open(app, id)).messages.map(({ content }: Message) => content)
const take = (app: TestApp, id = ID) => app.post('/api/session/import_cli', { session_id: id })
const journal = (app: TestApp, id = ID) => join(app.state, 'sessions', `${id}.jsonl`)

for (const schema of SCHEMAS) {
  const test = suite<Context>(`following the terminal, schema ${schema}`)
  test.before.each(async context => {
    context.app = await startApp()
    context.db = createStateDb(context.app.home, schema)
  })
  test.after.each(async ({ app, db }) => {
    db.close()
    await app.close()
  })

  test('opening a session shows new terminal messages each time', async ({ app, db }) => {
    addConversation(db, ID, { title: 'Named there' })
    assert.is((await take(app)).body.session.title, 'Named there')
    for (let at = 0; at < 4; at += 1) {
      addMessage(db, ID, at % 2 ? 'assistant' : 'user', `more ${at}`, { timestamp: 2_000 + at })
      assert.is((await contents(app)).at(-1), `more ${at}`)
    }
    assert.is((await contents(app)).length, 6)
    const page = await app.get(`/api/session?session_id=${ID}&limit=3`)
    assert.is(page.body.session.messages.at(-1).content, 'more 3')
  })

  test('its title follows the terminal until the user renames it', async ({ app, db }) => {
    addConversation(db, ID, { title: 'First' })
    await take(app)
    db.prepare('update sessions set title = ? where id = ?').run('Second', ID)
    assert.is((await open(app)).title, 'Second')
    await app.post('/api/session/rename', { session_id: ID, title: 'Mine' })
    db.prepare('update sessions set title = ? where id = ?').run('Third', ID)
    addMessage(db, ID, 'user', 'more', { timestamp: 3_000 })
    assert.is((await open(app)).title, 'Mine')
    assert.is((await contents(app)).at(-1), 'more')
  })

  test('messages undone here do not come back', async ({ app, db }) => {
    addConversation(db, ID)
    await take(app)
    await app.post('/api/session/undo', { session_id: ID })
    assert.equal(await contents(app), [])
    await take(app)
    assert.equal(await contents(app), [])
  })

  test('follows a terminal compaction into its new row', async ({ app, db }) => {
    addConversation(db, ID)
    await take(app)
    db.prepare("update sessions set ended_at = 1100, end_reason = 'compression' where id = ?").run(
      ID,
    )
    addSession(db, 'tip', { parent_session_id: ID, started_at: 1_100.5 })
    addMessage(db, 'tip', 'user', 'after it', { timestamp: 1_200 })
    assert.equal(await contents(app), [`question of ${ID}`, `answer of ${ID}`, 'after it'])
  })

  test('an emptied or replaced database removes nothing', async ({ app, db }) => {
    addConversation(db, ID)
    await take(app)
    db.prepare('delete from messages where session_id = ?').run(ID)
    assert.is((await contents(app)).length, 2)
    db.prepare('delete from sessions where id = ?').run(ID)
    assert.is((await contents(app)).length, 2)
  })

  test('content parts are converted to text everywhere, and images never are', async ({
    app,
    db,
  }) => {
    const data = `data:image/png;base64,${'iVBORw0KGgo'.repeat(200)}`
    addSession(db, ID)
    addMessage(
      db,
      ID,
      'user',
      listContent([
        { type: 'text', text: 'für dich: wherewithal' },
        { type: 'image_url', image_url: { url: data } },
      ]),
    )
    addMessage(db, ID, 'assistant', listContent([{ type: 'text', text: 'I see it' }]), {
      timestamp: 1_002,
    })
    addMessage(db, ID, 'user', '\0json:[{"broken', { timestamp: 1_003 })
    const expected = ['für dich: wherewithal\n[image]', 'I see it', '[unreadable content]']
    assert.equal(await contents(app), expected)
    const { session } = (await take(app)).body
    assert.is(session.title, 'für dich: wherewithal [image]')
    assert.equal(await contents(app), expected)
    const exported = await app.get(`/api/session/export?session_id=${ID}`)
    assert.not.match(exported.text, 'iVBORw0KGgoiVBOR')
    const { sessions } = (await app.get('/api/sessions/search?q=wherewithal&content=1')).body
    assert.ok(sessions.some((row: { session_id: string }) => row.session_id === ID))
  })

  // What follows does not depend on the schema, or is in the current one only.
  if (schema === 30) {
    test('messages written here keep their position whatever the terminal adds', async ({
      app,
      db,
    }) => {
      writeFileSync(join(app.home, 'config.yaml'), 'model: {provider: demo, default: demo}\n')
      addConversation(db, ID)
      await take(app)
      await app.post('/api/chat', { session_id: ID, message: 'hello from the page' })
      const before = await contents(app)
      assert.ok(before.includes('hello from the page'))
      addMessage(db, ID, 'user', 'and from the terminal', { timestamp: 9e9 })
      const after = await contents(app)
      assert.equal(after.slice(0, before.length), before)
      assert.is(after.at(-1), 'and from the terminal')
      assert.is(after.length, before.length + 2)
      assert.is((await contents(app)).length, after.length)
    })

    test('pages receive the updated row and the journal grows without opening the session', async ({
      app,
      db,
    }) => {
      await app.post('/api/settings', { show_cli_sessions: true })
      addConversation(db, ID)
      await take(app)
      const stream = app.events(`/api/events?watch=${ID}`)
      await stream.until(({ event }) => event === 'ready')
      addMessage(db, ID, 'user', 'while you look', { timestamp: 4_000 })
      await stream.until(({ event, data }) => event === 'gateway' && data.data?.changed === true)
      stream.close()
      assert.is((await app.get(`/api/session/status?session_id=${ID}`)).body.message_count, 3)
    })

    test('messages rewound at the terminal are hidden but stay in the journal', async ({
      app,
      db,
    }) => {
      addConversation(db, ID)
      addMessage(db, ID, 'user', 'a mistake', { timestamp: 1_010 })
      await take(app)
      db.prepare("update messages set active = 0 where content = 'a mistake'").run()
      addMessage(db, ID, 'user', 'better', { timestamp: 1_011 })
      assert.equal(await contents(app), [`question of ${ID}`, `answer of ${ID}`, 'better'])
      assert.match(readFileSync(journal(app), 'utf8'), /a mistake/)
    })

    test('compaction in place keeps earlier messages', async ({ app, db }) => {
      addConversation(db, ID)
      await take(app)
      db.prepare('update messages set active = 0, compacted = 1 where session_id = ?').run(ID)
      addMessage(db, ID, 'user', 'SUMMARY', { timestamp: 1_050 })
      addMessage(db, ID, 'assistant', `answer of ${ID}`, { timestamp: 1_051 })
      addMessage(db, ID, 'user', 'next', { timestamp: 1_052 })
      const wanted = [`question of ${ID}`, `answer of ${ID}`, 'SUMMARY', 'next']
      assert.equal(await contents(app), wanted)
      addMessage(db, ID, 'assistant', 'and on', { timestamp: 1_053 })
      assert.equal(await contents(app), [...wanted, 'and on'])
    })

    test('archived, pinned and hidden flags of the terminal apply here', async ({ app, db }) => {
      await app.post('/api/settings', { show_cli_sessions: true })
      addConversation(db, 'away', { archived: 1 })
      addConversation(db, 'top', { pinned: 1 })
      addConversation(db, 'gone', { hidden: 1 })
      const { sessions } = (await app.get('/api/sessions')).body
      assert.equal(
        Object.fromEntries(
          sessions.map((row: { session_id: string; archived: boolean; pinned: boolean }) => [
            row.session_id,
            [row.archived, row.pinned],
          ]),
        ),
        { away: [true, false], top: [false, true] },
      )
      assert.is((await take(app, 'away')).body.session.archived, true)
    })
  }

  test.run()
}
