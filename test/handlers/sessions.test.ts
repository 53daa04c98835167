/** Sessions over HTTP: rejections first, then every operation; list order, and cut messages are never shown. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const test = suite<{ app: TestApp }>('sessions')
test.before.each(async context => {
  context.app = await startApp()
})
test.after.each(({ app }) => app.close())

const create = async (app: TestApp): Promise<string> =>
  (await app.post('/api/session/new', {})).body.session.session_id

/** A session with these texts, alternately of the person and the agent. */
const imported = async (app: TestApp, ...texts: string[]): Promise<string> => {
  const messages = texts.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content }))
  const { body } = await app.post('/api/session/import', { title: 'Talk', messages })
  return body.session.session_id
}
const contents = async (app: TestApp, id: string): Promise<string[]> =>
  (await app.get(`/api/session?session_id=${id}`)).body.session.messages.map(
    (message: { content: string }) => message.content,
  )
const titles = async (app: TestApp): Promise<string[]> =>
  (await app.get('/api/sessions')).body.sessions.map((row: { title: string }) => row.title)

const C_KEYS =
  'session_id title workspace model message_count created_at updated_at pinned archived project_id profile input_tokens output_tokens estimated_cost personality compression_anchor_visible_idx compression_anchor_message_key active_stream_id is_streaming'.split(
    ' ',
  )

test('an unknown session is 404 "Session not found" everywhere, a missing id is 400', async ({
  app,
}) => {
  const id = 'ffffffffffff'
  for (const verb of [
    'rename',
    'update',
    'clear',
    'retry',
    'undo',
    'pin',
    'archive',
    'purge',
    'restore',
    'duplicate',
    'branch',
    'draft',
    'truncate',
  ]) {
    const body = { session_id: id, title: 'x', keep_count: 0 }
    const unknown = await app.post(`/api/session/${verb}`, body)
    assert.equal([verb, unknown.status, unknown.body.error], [verb, 404, 'Session not found'])
    const { session_id: _, ...rest } = body
    assert.equal([verb, (await app.post(`/api/session/${verb}`, rest)).status], [verb, 400])
  }
  for (const path of ['session', 'session/status', 'session/usage', 'session/export']) {
    const unknown = await app.get(`/api/${path}?session_id=${id}`)
    assert.equal([path, unknown.status, unknown.body.error], [path, 404, 'Session not found'])
    assert.is((await app.get(`/api/${path}`)).status, 400)
  }
  assert.is((await app.get('/api/session')).body.error, 'session_id is required')
  assert.is((await app.get('/api/session/status')).body.error, 'Missing session_id')
})

test('new: nineteen keys and no messages; invalid profile and workspace are 400; untitled empty ones are not listed', async ({
  app,
}) => {
  for (const profile of ['../x', 'Upper', 'a\n', '']) {
    if (profile === '') continue
    assert.is((await app.post('/api/session/new', { profile })).status, 400, profile)
  }
  const nowhere = await app.post('/api/session/new', { workspace: '/does/not/exist' })
  assert.equal([nowhere.status, nowhere.body.error], [400, 'Path does not exist: /does/not/exist'])
  const system = await app.post('/api/session/new', { workspace: '/etc' })
  assert.match(system.body.error, 'Path points to a system directory')
  const { body } = await app.post('/api/session/new', {})
  for (const key of C_KEYS) assert.ok(key in body.session, key)
  assert.equal(body.session.messages, [])
  assert.match(body.session.session_id, /^[0-9a-f]{12}$/)
  assert.is(body.session.profile, 'default')
  assert.equal((await app.get('/api/sessions')).body, { sessions: [], cli_count: 0 })
})

test('rename trims, truncates to 80 and is never blank; pin, archive and rename do not move a row', async ({
  app,
}) => {
  const first = await imported(app, 'one')
  const second = await imported(app, 'two')
  assert.equal((await titles(app)).length, 2)
  const renamed = await app.post('/api/session/rename', {
    session_id: first,
    title: `  ${'é'.repeat(100)}  `,
  })
  assert.is([...renamed.body.session.title].length, 80)
  for (const path of ['/api/session/pin', '/api/session/archive'])
    assert.is((await app.post(path, { session_id: first })).body.ok, true)
  const rows = (await app.get('/api/sessions')).body.sessions
  assert.equal(
    rows.map((row: { session_id: string }) => row.session_id),
    [second, first],
  )
  assert.equal([rows[1].pinned, rows[1].archived], [true, true])
  const off = await app.post('/api/session/pin', { session_id: first, pinned: false })
  assert.is(off.body.session.pinned, false)
  const blank = await app.post('/api/session/rename', { session_id: first, title: '   ' })
  assert.is(blank.body.session.title, 'Untitled')
})

test('truncate rejects an invalid count, then keeps the first messages', async ({ app }) => {
  const id = await imported(app, 'a', 'b', 'c', 'd')
  for (const keep_count of [-1, 1.5, '2', null, undefined]) {
    const { status } = await app.post('/api/session/truncate', { session_id: id, keep_count })
    assert.is(status, 400)
  }
  const kept = await app.post('/api/session/truncate', { session_id: id, keep_count: 2 })
  assert.equal([kept.body.ok, kept.body.session.message_count], [true, 2])
  assert.equal(await contents(app, id), ['a', 'b'])
  assert.is(
    (await app.post('/api/session/truncate', { session_id: id, keep_count: 9 })).status,
    200,
  )
  await app.post('/api/session/truncate', { session_id: id, keep_count: 0 })
  assert.equal(await contents(app, id), [])
})

test('retry and undo remove the last message, and return 200 with an error when there is none', async ({
  app,
}) => {
  const empty = await create(app)
  const retry = await app.post('/api/session/retry', { session_id: empty })
  assert.equal([retry.status, retry.body], [200, { error: 'No previous message to retry.' }])
  const undo = await app.post('/api/session/undo', { session_id: empty })
  assert.equal([undo.status, undo.body], [200, { error: 'Nothing to undo.' }])
  const long = 'x'.repeat(60)
  const id = await imported(app, 'a', 'b', long, 'd')
  const undone = await app.post('/api/session/undo', { session_id: id })
  assert.equal(undone.body, { ok: true, removed_count: 2, removed_preview: `${'x'.repeat(40)}...` })
  const retried = await app.post('/api/session/retry', { session_id: id })
  assert.equal(retried.body, { ok: true, last_user_text: 'a', removed_count: 2 })
  assert.equal(await contents(app, id), [])
})

test('clear removes messages and title; reads, search and exports omit cut text, and purge erases it from the file', async ({
  app,
}) => {
  const id = await imported(app, 'the zebra secret', 'noted')
  const file = join(app.state, 'sessions', `${id}.jsonl`)
  const find = async () => (await app.get('/api/sessions/search?q=zebra')).body.sessions.length
  assert.is(await find(), 1)
  const { body } = await app.post('/api/session/clear', { session_id: id })
  assert.equal([body.session.title, body.session.message_count], ['Untitled', 0])
  assert.is(await find(), 0)
  for (const format of ['json', 'md', 'html']) {
    const { text } = await app.get(`/api/session/export?session_id=${id}&format=${format}`)
    assert.not.match(text, 'zebra')
  }
  assert.match(readFileSync(file, 'utf8'), 'zebra')
  assert.is((await app.post('/api/session/purge', { session_id: id })).status, 200)
  assert.not.match(readFileSync(file, 'utf8'), 'zebra')
  assert.is((await app.get(`/api/session?session_id=${id}`)).status, 200)
})

test('delete rejects invalid ids, is ok for unknown ones, and can be undone; permanent deletion leaves nothing', async ({
  app,
}) => {
  assert.is((await app.post('/api/session/delete', {})).body.error, 'session_id is required')
  for (const session_id of ['../x', 'a/b', 'a.b', ' '])
    assert.equal(
      (await app.post('/api/session/delete', { session_id })).body.error,
      'Invalid session_id',
    )
  assert.equal((await app.post('/api/session/delete', { session_id: 'ffffffffffff' })).body, {
    ok: true,
  })
  const id = await imported(app, 'precious', 'yes')
  await app.post('/api/session/delete', { session_id: id })
  assert.is((await app.get(`/api/session?session_id=${id}`)).status, 404)
  assert.equal(await titles(app), [])
  assert.is((await app.get('/api/sessions/search?q=precious')).body.count, 0)
  await app.restart()
  assert.is((await app.post('/api/session/restore', { session_id: id })).status, 200)
  assert.equal(await contents(app, id), ['precious', 'yes'])
  assert.is((await app.get('/api/sessions/search?q=precious')).body.count, 1)
  await app.post('/api/session/delete', { session_id: id, permanent: true })
  assert.is((await app.post('/api/session/restore', { session_id: id })).status, 404)
  assert.not.ok(readdirSync(join(app.state, 'sessions')).some(name => name.startsWith(id)))
  assert.not.ok(existsSync(join(app.state, 'trash', id)))
})

test('the tail is paged by message id; a long tool result is truncated and can be fetched whole', async ({
  app,
}) => {
  const output = 'o'.repeat(9_000)
  const { body } = await app.post('/api/session/import', {
    messages: [
      ...Array.from({ length: 30 }, (_, i) => ({
        role: i % 2 ? 'assistant' : 'user',
        content: `${i}`,
      })),
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'c', type: 'function', function: { name: 'terminal', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c', content: output },
    ],
  })
  const id = body.session.session_id
  const page = async (query: string) =>
    (await app.get(`/api/session?session_id=${id}&${query}`)).body.session
  const tail = await page('limit=4')
  assert.equal(
    [tail.messages.length, tail._messages_offset, tail._messages_truncated],
    [4, 28, true],
  )
  const tool = tail.messages.at(-1)
  assert.equal([tool.content.length, tool._content_length], [4_000, 9_000])
  const whole = await app.get(`/api/session/message?session_id=${id}&id=${tool.id}`)
  assert.is(whole.body.message.content, output)
  const before = await page(`limit=10&before=${tail.messages[0].id}`)
  assert.equal(
    before.messages.map((m: { content: string }) => m.content),
    Array.from({ length: 10 }, (_, i) => `${18 + i}`),
  )
  const first = await page(`limit=50&before=${before.messages[0].id}`)
  assert.equal(
    [first.messages.length, first._messages_offset, first._messages_truncated],
    [18, 0, false],
  )
  assert.is((await app.get(`/api/session?session_id=${id}&limit=5&before=m99999`)).status, 404)
  assert.is((await app.get(`/api/session?session_id=${id}&limit=0`)).status, 400)
  assert.equal((await page('messages=0')).messages, [])
})

test('a page can omit scheduled runs, except waiting or pinned ones; the full list has them', async ({
  app,
}) => {
  mkdirSync(join(app.state, 'sessions'), { recursive: true })
  const write = (id: string, at: number, meta: object): void => {
    const lines = [
      { n: 1, t: 'session', at, v: 1, id, meta: { title: id, workspace: '/w', ...meta } },
      { n: 2, t: 'message', at, message: { role: 'user', content: id } },
    ]
    const text = lines.map(line => `${JSON.stringify(line)}\n`).join('')
    writeFileSync(join(app.state, 'sessions', `${id}.jsonl`), text)
  }
  for (let at = 0; at < 40; at++)
    write(`run${at}`, 2_000 + at, { source_tag: 'cron', profile: at % 2 ? 'default' : 'work' })
  for (let at = 0; at < 5; at++) write(`talk${at}`, 1_000 + at, { profile: 'default' })
  const ids = (rows: { session_id: string }[]) => rows.map(row => row.session_id)
  const pages = async (query: string): Promise<string[]> => {
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path = `/api/sessions?${query}&cursor=${encodeURIComponent(cursor)}`
      const { body } = await app.get(path)
      seen.push(...ids(body.sessions))
      cursor = body.next
    }
    return seen
  }
  await app.post('/api/session/pin', { session_id: 'run3', pinned: true })
  await app.post('/api/approval/inject_test', { session_id: 'run5' })
  const talks = ['talk4', 'talk3', 'talk2', 'talk1', 'talk0']
  for (const limit of [2, 100])
    for (const profile of ['', '&profile=default'])
      assert.equal(
        (await pages(`limit=${limit}&scheduled=0${profile}`)).toSorted(),
        ['run3', 'run5', ...talks].toSorted(),
      )
  assert.equal((await pages('limit=3&scheduled=0')).slice(-5), talks)
  assert.is((await pages('limit=7')).length, 45)
  for (const same of ['1', 'true', '', '%20'])
    assert.is((await pages(`limit=7&scheduled=${same}`)).length, 45, same)
  assert.is((await app.get('/api/sessions')).body.sessions.length, 45)
  assert.is((await app.get('/api/sessions?scheduled=0')).body.sessions.length, 7)
})

test('the first page also has pinned rows of later pages, and only those', async ({ app }) => {
  const list = (query: string, etag = '') =>
    app.request('GET', `/api/sessions?${query}`, { headers: { 'if-none-match': etag } })
  const ids = (rows: { session_id: string }[] = []) => rows.map(row => row.session_id)
  const old = await imported(app, 'old')
  const older = await imported(app, 'other')
  for (let i = 0; i < 3; i++) await imported(app, `text ${i}`)
  const none = await list('limit=2')
  assert.equal(none.body.pinned, [])
  for (const session_id of [old, older]) {
    assert.is((await app.post('/api/session/pin', { session_id, pinned: true })).status, 200)
  }
  const newest = ids((await list('limit=1')).body.sessions)[0]
  await app.post('/api/session/pin', { session_id: newest, pinned: true })

  const first = await list('limit=2')
  assert.is(first.body.sessions.length, 2)
  assert.equal(
    ids(first.body.pinned).sort(),
    [old, older].sort(),
    'what the page holds is not repeated',
  )
  const etag = String(first.headers.etag)
  assert.is((await list('limit=2', etag)).status, 304)
  await app.post('/api/session/pin', { session_id: old, pinned: false })
  const after = await list('limit=2', etag)
  assert.equal([after.status, ids(after.body.pinned)], [200, [older]])

  const second = await list(`limit=2&cursor=${encodeURIComponent(first.body.next)}`)
  assert.not.ok('pinned' in second.body, 'with the first page only')
  assert.not.ok('pinned' in (await list('limit=50')).body, 'everything is there')
  assert.not.ok('pinned' in (await list('')).body)
  assert.equal((await list('limit=2&profile=other')).body.pinned, undefined)
  await app.post('/api/session/rename', { session_id: older, title: 'named anew' })
  assert.is((await list('limit=2')).body.pinned[0].title, 'named anew')
})

test('search matches titles, then text with a highlighted snippet', async ({ app }) => {
  const inText = await imported(app, 'an armadillo crossed the road', 'indeed')
  const inTitle = await imported(app, 'nothing here')
  await app.post('/api/session/rename', { session_id: inTitle, title: 'Armadillo facts' })
  const { body } = await app.get('/api/sessions/search?q=armad')
  assert.equal(
    body.sessions.map((hit: { session_id: string; match_type: string }) => [
      hit.session_id,
      hit.match_type,
    ]),
    [
      [inTitle, 'title'],
      [inText, 'content'],
    ],
  )
  const marked = body.sessions[1].snippet.find((part: { mark: boolean }) => part.mark)
  assert.match(marked.text, /armad/i)
  const blank = await app.get('/api/sessions/search?q=')
  assert.is(blank.body.sessions.length, 2)
  assert.is((await app.get('/api/sessions/search?q=x&depth=many')).status, 400)
})

test('duplicate and branch copy messages into separate sessions', async ({ app }) => {
  const id = await imported(app, 'a', 'b', 'c', 'd')
  const copy = (await app.post('/api/session/duplicate', { session_id: id })).body.session
  assert.is(copy.title, 'Talk (copy)')
  assert.equal(await contents(app, copy.session_id), ['a', 'b', 'c', 'd'])
  const fork = (await app.post('/api/session/branch', { session_id: id, keep_count: 2 })).body
  assert.equal([fork.title, fork.parent_session_id], ['Talk (branch)', id])
  assert.equal(await contents(app, fork.session_id), ['a', 'b'])
  await app.post('/api/session/clear', { session_id: id })
  assert.equal(await contents(app, copy.session_id), ['a', 'b', 'c', 'd'])
  assert.is((await app.post('/api/session/branch', { session_id: id, keep_count: -1 })).status, 400)
})

test('stores a draft on the server; an unchanged one writes nothing', async ({ app }) => {
  const id = await imported(app, 'a')
  const saved = await app.post('/api/session/draft', { session_id: id, text: 'half a thought' })
  assert.equal(saved.body, { ok: true, draft: { text: 'half a thought', files: [] } })
  const size = readFileSync(join(app.state, 'sessions', `${id}.jsonl`)).length
  const again = await app.post('/api/session/draft', { session_id: id, text: 'half a thought' })
  assert.is(again.body.unchanged, true)
  assert.is(readFileSync(join(app.state, 'sessions', `${id}.jsonl`)).length, size)
  await app.restart()
  const { session } = (await app.get(`/api/session?session_id=${id}&limit=5`)).body
  assert.is(session.composer_draft.text, 'half a thought')
  const long = await app.post('/api/session/draft', { session_id: id, text: 'x'.repeat(50_001) })
  assert.is(long.status, 400)
})

test('export has the whole record, and its import gives the same conversation', async ({ app }) => {
  const id = await imported(app, 'héllo', 'wörld')
  const { headers, body } = await app.get(`/api/session/export?session_id=${id}`)
  assert.is(headers['content-disposition'], `attachment; filename="agent-${id}.json"`)
  assert.is(headers['cache-control'], 'no-store')
  for (const key of [...C_KEYS, 'messages', 'tool_calls']) assert.ok(key in body, key)
  const again = await app.post('/api/session/import', body)
  assert.equal(await contents(app, again.body.session.session_id), ['héllo', 'wörld'])
  for (const bad of [{}, { messages: 'x' }, { messages: [{ role: 'alien' }] }])
    assert.is((await app.post('/api/session/import', bad)).status, 400)
  assert.match(
    (await app.get(`/api/session/export?session_id=${id}&format=html`)).text,
    /<!doctype html>/i,
  )
  assert.is((await app.get(`/api/session/export?session_id=${id}&format=exe`)).status, 400)
})

test('cleanup deletes empty untitled sessions, the zero-message variant all without messages', async ({
  app,
}) => {
  await create(app)
  const named = await create(app)
  await app.post('/api/session/rename', { session_id: named, title: 'Named' })
  const kept = await imported(app, 'words')
  assert.equal((await app.post('/api/sessions/cleanup', {})).body, { ok: true, cleaned: 1 })
  assert.equal((await app.post('/api/sessions/cleanup_zero_message', {})).body, {
    ok: true,
    cleaned: 1,
  })
  assert.equal(await contents(app, kept), ['words'])
})

test('update sets model and workspace; counts usage', async ({ app }) => {
  const id = await imported(app, 'a')
  const bad = await app.post('/api/session/update', { session_id: id, workspace: '/nope' })
  assert.is(bad.status, 400)
  const good = await app.post('/api/session/update', { session_id: id, model: 'some/model' })
  assert.is(good.status, 200)
  assert.equal((await app.get(`/api/session/usage?session_id=${id}`)).body.total_tokens, 0)
})

test.run()
