/** CLI sessions over HTTP, from real databases of every schema: list, read, import, delete, restore. */
import { appendFileSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import {
  addConversation,
  addMessage,
  addSession,
  createStateDb,
  SCHEMAS,
  type StateDb,
} from '../_state-db.ts'

type Context = { app: TestApp; db: StateDb }
const ID = '20260101_000000_abc123'

const listOf = async (app: TestApp, query = '') => (await app.get(`/api/sessions${query}`)).body
const idsOf = async (app: TestApp, query = ''): Promise<string[]> =>
  (await listOf(app, query)).sessions.map((row: { session_id: string }) => row.session_id)
const show = (app: TestApp) => app.post('/api/settings', { show_cli_sessions: true })

/** A web conversation. */
const talk = async (app: TestApp): Promise<string> => {
  const messages = [{ role: 'user', content: 'hello there' }]
  const reply = await app.post('/api/session/import', { title: 'Web', messages })
  assert.is(reply.status, 200)
  return reply.body.session.session_id
}

for (const schema of SCHEMAS) {
  const test = suite<Context>(`command-line sessions, schema ${schema}`)
  test.before.each(async context => {
    context.app = await startApp()
    context.db = createStateDb(context.app.home, schema)
  })
  test.after.each(async ({ app, db }) => {
    db.close()
    await app.close()
  })

  test('CLI sessions appear only when show_cli_sessions is true', async ({ app, db }) => {
    addConversation(db, ID)
    assert.equal(await listOf(app), { sessions: [], cli_count: 0 })
    await show(app)
    const { sessions, cli_count } = await listOf(app)
    assert.is(cli_count, 1)
    const [row] = sessions
    const wanted = {
      session_id: ID,
      title: 'Cli Session',
      model: null,
      message_count: 2,
      created_at: 1_000,
      updated_at: 1_002,
      pinned: false,
      archived: false,
      project_id: null,
      profile: 'default',
      source_tag: 'cli',
      is_cli_session: true,
    }
    for (const [key, value] of Object.entries(wanted)) assert.equal(row[key], value, key)
    assert.type(row.workspace, 'string')
  })

  test('lists at most 200 sessions, newest activity first, none of them ours', async ({
    app,
    db,
  }) => {
    await show(app)
    addConversation(db, 'web', { source: 'webui' })
    addSession(db, 'empty')
    addSession(db, '../passwd', { title: 'bad id' })
    addSession(db, 'titled', { title: 'Title only', source: 'my_bot', started_at: 1 })
    db.transaction(() => {
      for (let at = 0; at < 205; at += 1)
        addConversation(db, `s${at}`, { started_at: 2_000 + at, source: 'telegram' })
    })()
    addMessage(db, 's3', 'user', 'again', { timestamp: 9_000 })
    const { sessions, cli_count } = await listOf(app)
    assert.is(cli_count, 201)
    assert.is(sessions.at(-1).title, 'Title only')
    assert.is(sessions[0].session_id, 's3')
    assert.is(sessions[1].session_id, 's204')
    assert.is(sessions[1].title, 'Telegram Session')
    assert.not.ok(
      sessions.some((row: { session_id: string }) =>
        ['web', 'empty', '../passwd'].includes(row.session_id),
      ),
    )
  })

  test('rows of one source do not push out those of another', async ({ app, db }) => {
    await show(app)
    addConversation(db, ID, { started_at: 100 })
    addConversation(db, 'chat1', { started_at: 90, source: 'telegram' })
    db.transaction(() => {
      for (let at = 0; at < 410; at += 1)
        addConversation(db, `s${at}`, { started_at: 2_000 + at, source: 'cron' })
    })()
    const ids = await idsOf(app)
    assert.ok(ids.includes(ID) && ids.includes('chat1'))
    assert.is(ids.length, 202)
  })

  test('a busy database is not an absent one: list, open, import, delete and restore say so', async ({
    app,
    db,
  }) => {
    await show(app)
    addConversation(db, ID)
    addConversation(db, 'other')
    assert.equal((await idsOf(app)).toSorted(), [ID, 'other'].toSorted())
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec("update sessions set title = 'Renamed' where id = 'other'")
    db.pragma('wal_checkpoint(truncate)')
    db.exec('begin exclusive')
    db.exec("update sessions set title = 'Renamed again' where id = 'other'")
    assert.equal((await idsOf(app)).toSorted(), [ID, 'other'].toSorted(), 'the last known rows')
    const busy = [
      await app.get(`/api/session?session_id=${ID}`),
      await app.post('/api/session/import_cli', { session_id: ID }),
      await app.post('/api/session/delete', { session_id: ID }),
    ]
    for (const { status, body } of busy)
      assert.equal([status, body.code], [503, 'agent_database_busy'])
    // A chat of ours is deleted whatever the database is doing.
    const own = await talk(app)
    assert.is((await app.get(`/api/session?session_id=${own}`)).status, 200)
    assert.is((await app.post('/api/session/delete', { session_id: own })).status, 200)
    db.exec('commit')
    db.pragma('locking_mode = NORMAL')
    db.prepare('select 1 from sessions').get()
    const { sessions } = await listOf(app)
    assert.is(
      sessions.find((row: { session_id: string }) => row.session_id === 'other').title,
      'Renamed again',
    )
    assert.is((await app.get(`/api/session?session_id=${ID}`)).status, 200)
    assert.is((await app.post('/api/session/delete', { session_id: ID })).status, 200)
    assert.equal(await idsOf(app), ['other'])
  })

  test('a delete waits for another program that writes', async ({ app, db }) => {
    await show(app)
    addConversation(db, ID)
    db.exec('begin immediate')
    const deleted = app.post('/api/session/delete', { session_id: ID })
    await app.get('/api/sessions')
    db.exec('commit')
    assert.is((await deleted).status, 200)
    assert.equal(await idsOf(app), [])
  })

  test('a database without columns that a list needs is read as far as possible, and named once', async ({
    app,
    db,
  }) => {
    await show(app)
    addConversation(db, ID)
    db.exec('drop index idx_sessions_source; drop index idx_messages_session')
    db.exec('alter table sessions drop column source')
    assert.equal(await idsOf(app), [ID])
    assert.is((await app.get(`/api/session?session_id=${ID}`)).body.session.messages.length, 2)
    db.exec('alter table sessions drop column started_at')
    assert.equal(await idsOf(app), [ID])
    await idsOf(app)
    assert.is(app.lines.filter(line => line.includes('lacks columns')).length, 2)
    db.exec(
      'drop trigger messages_fts_insert; drop trigger messages_fts_delete; drop table messages_fts',
    )
    db.exec("update sessions set title = 'Only a title'; drop table messages")
    assert.equal(await idsOf(app), [ID])
  })

  test('the web record wins over a CLI record with the same id', async ({ app, db }) => {
    await show(app)
    const id = await talk(app)
    addConversation(db, id)
    addConversation(db, ID)
    const { sessions, cli_count } = await listOf(app)
    assert.is(cli_count, 1)
    const own = sessions.filter((row: { session_id: string }) => row.session_id === id)
    assert.is(own.length, 1)
    assert.not.ok(own[0].is_cli_session)
  })

  test('with a limit, pages are merged in order and each has the counts', async ({ app, db }) => {
    await show(app)
    const now = Date.now() / 1_000
    const web = [await talk(app), await talk(app)]
    for (const at of [1, 2, 3]) addConversation(db, `old${at}`, { started_at: now - 1_000 * at })
    addConversation(db, 'future', { started_at: now + 1_000 })
    const wanted = ['future', web[1], web[0], 'old1', 'old2', 'old3']
    assert.equal(await idsOf(app), wanted)
    const seen: string[] = []
    for (let cursor = '', rounds = 0; rounds < 9; rounds += 1) {
      const page = await listOf(app, `?limit=2${cursor && `&cursor=${cursor}`}`)
      assert.is(page.cli_count, 4)
      seen.push(...page.sessions.map((row: { session_id: string }) => row.session_id))
      cursor = page.next ?? ''
      if (!cursor) break
    }
    assert.equal(seen, wanted)
    assert.equal(await idsOf(app, '?profile=other'), [])
  })

  test('an unchanged list is a 304, a changed one is not', async ({ app, db }) => {
    await show(app)
    addConversation(db, ID)
    const { etag = '' } = (await app.get('/api/sessions')).headers
    const again = () => app.get('/api/sessions', { headers: { 'If-None-Match': etag } })
    assert.is((await again()).status, 304)
    addMessage(db, ID, 'user', 'more', { timestamp: 5_000 })
    assert.is((await again()).status, 200)
  })

  test('shows the latest session of a compacted lineage with its whole visible history, without duplicates', async ({
    app,
    db,
  }) => {
    await show(app)
    addSession(db, 'root', { ended_at: 1_100, end_reason: 'compression', title: 'Work' })
    const said = ['one', 'two', 'three', 'four']
    for (const [at, text] of said.entries()) {
      addMessage(db, 'root', at % 2 ? 'assistant' : 'user', text, { timestamp: 1_001 + at })
    }
    addSession(db, 'child', { source: 'cli', parent_session_id: 'root', started_at: 1_050 })
    addMessage(db, 'child', 'user', 'a task', { timestamp: 1_051 })
    addSession(db, 'tip', { parent_session_id: 'root', started_at: 1_100.5, title: 'Work #2' })
    const kept = ['one', 'SUMMARY', 'three', 'four', 'one', 'five']
    for (const [at, text] of kept.entries()) {
      addMessage(
        db,
        'tip',
        ['assistant', 'five'].includes(text) || text === 'four' ? 'assistant' : 'user',
        text,
        {
          timestamp: 1_101 + at,
        },
      )
    }
    assert.equal(await idsOf(app), ['tip'])
    const { session } = (await app.get('/api/session?session_id=tip')).body
    assert.is(session.title, 'Work #2')
    assert.equal(
      session.messages.map((message: { content: string }) => message.content),
      ['one', 'two', 'three', 'four', 'SUMMARY', 'one', 'five'],
    )
  })

  test('lists branches beside their origin', async ({ app, db }) => {
    await show(app)
    addConversation(db, 'trunk', { end_reason: 'branched', ended_at: 1_010 })
    addConversation(db, 'twig', { parent_session_id: 'trunk', started_at: 1_020 })
    assert.equal(await idsOf(app), ['twig', 'trunk'])
  })

  test('GET /api/session falls back to the CLI store, redacted and by pages', async ({
    app,
    db,
  }) => {
    assert.is((await app.get(`/api/session?session_id=${ID}`)).status, 404)
    addSession(db, ID, { title: null })
    addMessage(db, ID, 'user', 'my key is sk-abcdefghijklmnopqrstuvwx', { timestamp: 1_001.5 })
    const call = {
      id: 'c1',
      type: 'function',
      function: { name: 'terminal', arguments: '{"command":"ls"}' },
    }
    addMessage(db, ID, 'assistant', null, {
      timestamp: 1_002,
      tool_calls: JSON.stringify([call, { odd: 1 }]),
      reasoning: 'hm',
    })
    addMessage(db, ID, 'tool', 'a.txt', {
      timestamp: 1_003,
      tool_call_id: 'c1',
      tool_name: 'terminal',
    })
    addMessage(db, ID, 'session_meta', 'not for anybody', { timestamp: 1_004 })
    addMessage(db, ID, 'assistant', 'there is one', { timestamp: 1_005, tool_calls: '{broken' })
    const { session } = (await app.get(`/api/session?session_id=${ID}`)).body
    assert.is(session.title, 'CLI Session')
    assert.is(session.model, 'unknown')
    assert.is(session.is_cli_session, true)
    assert.equal(session.tool_calls, [])
    assert.is(session.message_count, 4)
    const [first, called, result, last] = session.messages
    assert.equal([first.role, first.timestamp], ['user', 1_001.5])
    assert.not.match(first.content, 'abcdefghijklmnop')
    assert.equal([called.content, called.tool_calls, called.reasoning], ['', [call], 'hm'])
    assert.equal([result.tool_call_id, result.name], ['c1', 'terminal'])
    assert.equal([last.content, last.tool_calls], ['there is one', undefined])
    const page = (await app.get(`/api/session?session_id=${ID}&limit=2`)).body.session
    assert.equal(
      [page.messages.length, page._messages_offset, page._messages_truncated],
      [2, 2, true],
    )
    const before = (await app.get(`/api/session?session_id=${ID}&limit=2&before=${result.id}`)).body
      .session
    assert.equal([before.messages.length, before._messages_offset], [2, 0])
    assert.is((await app.get(`/api/session?session_id=${ID}&before=c999`)).status, 404)
    assert.equal(
      (await app.get(`/api/session?session_id=${ID}&messages=0`)).body.session.messages,
      [],
    )
  })

  test('a message to a session that was never imported imports it', async ({ app, db }) => {
    for (const [at, path] of ['chat/start', 'chat', 'queue/add'].entries()) {
      const session_id = `${ID}${at}`
      addConversation(db, session_id)
      const message = { session_id, message: 'go on' }
      const { status, text } = await app.post(`/api/${path}`, message)
      assert.is(status, 200, `${path} ${text}`)
      const own = (await app.get(`/api/session?session_id=${session_id}`)).body.session
      assert.equal(
        own.messages
          .slice(0, 3)
          .map(({ content }: { content: string }) => content)
          .at(-1),
        'go on',
      )
      assert.is((await app.post(`/api/${path}`, { ...message, session_id: 'none' })).status, 404)
    }
  })

  test('an untitled session of a messenger is called in the list as when it is opened', async ({
    app,
    db,
  }) => {
    await show(app)
    addConversation(db, ID, { source: 'telegram' })
    const [row] = (await listOf(app)).sessions
    const { session } = (await app.get(`/api/session?session_id=${ID}`)).body
    assert.equal([row.title, session.title], ['Telegram Session', 'Telegram Session'])
  })

  test('GET /api/list works for CLI sessions', async ({ app, db }) => {
    assert.is((await app.get(`/api/list?session_id=${ID}`)).status, 404)
    addConversation(db, ID)
    const { status, body } = await app.get(`/api/list?session_id=${ID}`)
    assert.is(status, 200)
    assert.ok(Array.isArray(body.entries))
  })

  test('import_cli rejects an id that neither store has', async ({ app }) => {
    assert.is((await app.post('/api/session/import_cli')).status, 400)
    for (const session_id of ['nothing', '../../etc/passwd', 'a b']) {
      const answer = await app.post('/api/session/import_cli', { session_id })
      assert.equal(
        [answer.status, answer.body],
        [404, { error: 'Session not found in CLI store', code: 'session_not_found' }],
      )
    }
    assert.equal(app.errors, [])
  })

  test('import_cli is idempotent', async ({ app, db }) => {
    await show(app)
    addConversation(db, ID, { model: 'gpt-5', input_tokens: 70, output_tokens: 5 })
    const first = await app.post('/api/session/import_cli', { session_id: ID })
    assert.is(first.status, 200)
    assert.is(first.body.imported, true)
    const { session } = first.body
    assert.equal(
      [
        session.session_id,
        session.title,
        session.profile,
        session.is_cli_session,
        session._cli_origin,
      ],
      [ID, `question of ${ID}`, 'default', true, ID],
    )
    assert.equal([session.created_at, session.updated_at], [1_000, 1_002])
    assert.equal([session.input_tokens, session.output_tokens], [70, 5])
    const again = await app.post('/api/session/import_cli', { session_id: ID })
    assert.is(again.body.imported, false)
    assert.equal(again.body.session.messages, session.messages)
    const list = await listOf(app)
    assert.equal([list.sessions.length, list.cli_count], [1, 0])
    await app.restart()
    assert.is((await app.get(`/api/session?session_id=${ID}`)).body.session.messages.length, 2)
  })

  test('syncs an imported session; once it has messages of its own, new terminal messages follow them', async ({
    app,
    db,
  }) => {
    addConversation(db, ID)
    await app.post('/api/session/import_cli', { session_id: ID })
    addMessage(db, ID, 'user', 'and then', { timestamp: 2_000 })
    const { session, imported } = (await app.post('/api/session/import_cli', { session_id: ID }))
      .body
    assert.is(imported, false)
    assert.equal([session.messages.length, session.messages[2].content], [3, 'and then'])
    assert.is(session.updated_at, 1_002, 'it keeps its place')
    const said = { id: 'm90', role: 'user', content: 'said here' }
    appendFileSync(
      join(app.state, 'sessions', `${ID}.jsonl`),
      `${JSON.stringify({ n: 90, t: 'message', at: 2_001, message: said })}\n`,
    )
    addMessage(db, ID, 'assistant', 'elsewhere', { timestamp: 3_000 })
    addMessage(db, ID, 'user', 'elsewhere too', { timestamp: 3_001 })
    addMessage(db, ID, 'user', 'and too', { timestamp: 3_002 })
    const later = (await app.post('/api/session/import_cli', { session_id: ID })).body.session
    const contents = later.messages.map((message: { content: string }) => message.content)
    assert.equal(contents.slice(2, 4), ['and then', 'said here'])
    assert.match(contents[4], /also continued in the terminal/)
    assert.is(later.messages[4]._error, true, 'no model is sent it')
    assert.equal(contents.slice(5), ['elsewhere', 'elsewhere too', 'and too'])
    const once = (await app.post('/api/session/import_cli', { session_id: ID })).body.session
    assert.is(once.messages.length, 8)
  })

  test('delete removes the web session and the CLI session with its messages; restore puts both back', async ({
    app,
    db,
  }) => {
    await show(app)
    addConversation(db, 'root', { ended_at: 1_100, end_reason: 'compression', title: 'Work' })
    addConversation(db, ID, { parent_session_id: 'root', started_at: 1_100, title: 'Work #2' })
    addConversation(db, 'child', { parent_session_id: ID, started_at: 1_050 })
    addConversation(db, 'other')
    if (schema === 30) {
      db.prepare('insert into session_model_usage values (?, ?, ?, ?)').run(
        ID,
        'm',
        5,
        Buffer.from([0, 1, 255]),
      )
    }
    const dump = () => ({
      sessions: db.prepare('select * from sessions order by id').all(),
      messages: db.prepare('select * from messages order by id').all(),
      usage: schema === 30 ? db.prepare('select * from session_model_usage').all() : [],
    })
    const before = dump()
    await app.post('/api/session/import_cli', { session_id: ID })
    assert.equal((await app.post('/api/session/delete', { session_id: ID })).body, { ok: true })
    const left = db
      .prepare<[], { id: string; parent_session_id: string | null }>(
        'select id, parent_session_id from sessions order by id',
      )
      .all()
    assert.equal(left, [
      { id: 'child', parent_session_id: null },
      { id: 'other', parent_session_id: null },
    ])
    assert.is(db.prepare('select count(*) from messages').pluck().get(), 4)
    assert.is(
      db
        .prepare("select count(*) from messages_fts where messages_fts match 'question'")
        .pluck()
        .get(),
      2,
    )
    assert.equal((await idsOf(app)).toSorted(), ['child', 'other'])
    const restored = await app.post('/api/session/restore', { session_id: ID })
    assert.equal([restored.status, restored.body.session.session_id], [200, ID])
    assert.equal(dump(), before)
    assert.not.ok(existsSync(join(app.state, 'trash', ID)))
  })

  test('deletes and restores a session that only the command line has', async ({ app, db }) => {
    await show(app)
    addConversation(db, ID, { title: 'Named' })
    const stream = app.events('/api/events')
    await stream.until(({ event }) => event === 'ready')
    assert.is((await app.post('/api/session/delete', { session_id: ID })).status, 200)
    const said = await stream.until(({ event }) => event === 'gone')
    assert.is(said.at(-1)?.data.data.session_id, ID)
    stream.close()
    assert.equal(await idsOf(app), [])
    assert.is((await app.get(`/api/session?session_id=${ID}`)).status, 404)
    await app.restart()
    const restored = await app.post('/api/session/restore', { session_id: ID })
    assert.equal([restored.status, restored.body.session.title], [200, 'Named'])
    assert.equal(await idsOf(app), [ID])
    assert.is((await app.post('/api/session/restore', { session_id: ID })).status, 404)
  })

  test('permanent deletion leaves no byte of the session', async ({ app, db }) => {
    addConversation(db, ID, { title: 'a-very-secret-title' })
    await app.post('/api/session/import_cli', { session_id: ID })
    await app.post('/api/session/delete', { session_id: ID, permanent: true })
    assert.is(db.prepare('select count(*) from sessions').pluck().get(), 0)
    assert.is((await app.post('/api/session/restore', { session_id: ID })).status, 404)
    assert.not.ok(existsSync(join(app.state, 'trash', ID)))
  })

  test('keeps the schema of the database and leaves no connection open', async ({ app, db }) => {
    await show(app)
    addConversation(db, ID)
    const shape = () => db.prepare('select type, name, sql from sqlite_master order by name').all()
    const before = [
      shape(),
      db.pragma('user_version'),
      db.prepare('select * from schema_version').all(),
    ]
    await listOf(app)
    await app.get(`/api/session?session_id=${ID}`)
    await app.post('/api/session/import_cli', { session_id: ID })
    await app.post('/api/session/delete', { session_id: ID })
    await app.post('/api/session/restore', { session_id: ID })
    assert.equal(
      [shape(), db.pragma('user_version'), db.prepare('select * from schema_version').all()],
      before,
    )
    db.close()
    // The last one out takes the write-ahead log along: had we anything open, it would still be there.
    assert.equal(
      readdirSync(app.home).filter(name => name.startsWith('state.db')),
      ['state.db'],
    )
    await listOf(app)
    assert.equal(
      readdirSync(app.home).filter(name => name.startsWith('state.db')),
      ['state.db'],
    )
  })

  test.run()
}

const broken = suite<{ app: TestApp }>('CLI sessions without a valid database')
broken.before.each(async context => {
  context.app = await startApp()
  await show(context.app)
})
broken.after.each(({ app }) => app.close())

broken('opening a session that the peer has imported changes no file', async ({ app }) => {
  const db = createStateDb(app.home, 30)
  addConversation(db, ID)
  const { messages } = (await app.get(`/api/session?session_id=${ID}`)).body.session
  const file = join(app.state, 'sessions', `${ID}.json`)
  writeFileSync(
    file,
    JSON.stringify({
      ...{ session_id: ID, title: 'Imported', messages, is_cli_session: true },
      ...{ _cli_origin: ID, source_tag: 'cli', created_at: 1_000, updated_at: 1_002 },
    }),
  )
  const before = readdirSync(join(app.state, 'sessions')).toSorted()
  const stamp = statSync(file).mtimeMs
  await app.get('/api/sessions')
  const { session } = (await app.get(`/api/session?session_id=${ID}`)).body
  assert.is(session.messages.length, messages.length)
  await app.get(`/api/session?session_id=${ID}&limit=5`)
  assert.equal(readdirSync(join(app.state, 'sessions')).toSorted(), before)
  assert.is(statSync(file).mtimeMs, stamp)
  db.close()
})

broken('without a database the list is empty and none is created', async ({ app }) => {
  assert.equal(await listOf(app), { sessions: [], cli_count: 0 })
  await app.post('/api/session/delete', { session_id: ID })
  assert.not.ok(existsSync(join(app.home, 'state.db')))
})

broken('a file that is not a database gives an empty list and is not changed', async ({ app }) => {
  const path = join(app.home, 'state.db')
  writeFileSync(path, 'this is not a database'.repeat(100))
  assert.equal(await listOf(app), { sessions: [], cli_count: 0 })
  for (const { status, body } of [
    await app.get(`/api/session?session_id=${ID}`),
    await app.post('/api/session/import_cli', { session_id: ID }),
    await app.post('/api/session/delete', { session_id: ID }),
  ])
    assert.equal([status, body.code], [503, 'agent_database_unreadable'])
  assert.is(statSync(path).size, 2_200)
  assert.equal(app.errors, [])
})

broken('without a source column the list is empty', async ({ app }) => {
  const db = createStateDb(app.home, 6)
  db.exec(
    'drop table messages; drop index idx_sessions_source; drop index idx_sessions_title_unique',
  )
  db.exec(
    'alter table sessions rename to old; create table sessions (id text primary key, started_at real)',
  )
  db.exec("insert into sessions values ('x', 1)")
  db.close()
  assert.equal(await listOf(app), { sessions: [], cli_count: 0 })
  assert.equal(app.errors, [])
})

broken('each profile sees only its own sessions', async ({ app }) => {
  await app.post('/api/profile/create', { name: 'work' })
  const db = createStateDb(join(app.home, 'profiles', 'work'), 6)
  addConversation(db, ID)
  db.close()
  assert.equal(await idsOf(app), [])
  const there = { headers: { Cookie: 'agent_profile=work' } }
  const { sessions } = (await app.get('/api/sessions', there)).body
  assert.equal([sessions[0].session_id, sessions[0].profile], [ID, 'work'])
  assert.is((await app.get(`/api/session?session_id=${ID}`)).status, 404)
  assert.is((await app.get(`/api/session?session_id=${ID}`, there)).status, 200)
  assert.is((await app.post('/api/session/import_cli', { session_id: ID })).status, 404)
  const { session } = (await app.post('/api/session/import_cli', { session_id: ID }, there)).body
  assert.is(session.profile, 'work')
})

broken.run()
