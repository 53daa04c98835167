/** Import over HTTP: who may, what is refused, and imported chats as any other chat: list, search, versions, files, going on. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ImportState } from '../../lib/schema/import.ts'
import { type ImportBench, openImports } from '../lib/sessions/imports/_bench.ts'
import { PASSWORD, setPerson, signIn } from '../_people.ts'
import { startChat } from './_chat.ts'
import { form, FORM_TYPE } from './_form.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
type Test = { chat: Chat; bench: ImportBench }

const test = suite<Test>('imports over HTTP')
test.before.each(async context => {
  context.chat = await startChat()
  context.bench = openImports()
})
test.after.each(async ({ chat, bench }) => {
  await chat.close()
  bench.close()
})

type Sent = { name?: string; headers?: Record<string, string> }

const send = ({ app }: Chat, data: unknown, { name = 'export.json', headers }: Sent = {}) => {
  const bytes = Buffer.isBuffer(data) || typeof data === 'string' ? data : JSON.stringify(data)
  const body = form({ name: 'file', filename: name, data: bytes })
  return app.request('POST', '/api/import', { body, headers: { ...FORM_TYPE, ...headers } })
}

const finish = async ({ app }: Chat, more: object = {}): Promise<ImportState> => {
  while (true) {
    const { body } = await app.get('/api/import', more)
    if (body.status !== 'running') return body
  }
}

const run = async (chat: Chat, data: unknown, sent: Sent = {}): Promise<ImportState> => {
  const { status, text } = await send(chat, data, sent)
  assert.is(status, 200, text)
  return finish(chat)
}

const node = (id: string, parent: string | null, role: string, text: string) => ({
  id,
  parent,
  message: {
    author: { role },
    create_time: 1_700_000_000,
    content: { content_type: 'text', parts: [text] },
    metadata: {},
  },
})
const tree = (title: string) => ({
  title,
  conversation_id: `c-${title}`,
  create_time: 1_700_000_000,
  update_time: 1_700_000_100,
  current_node: 'a2',
  mapping: {
    q: node('q', null, 'user', 'Where is the needle'),
    a1: node('a1', 'q', 'assistant', 'In the haystack'),
    a2: node('a2', 'q', 'assistant', 'On the table'),
  },
})

test('refuses what is no form and no file; a file that is no export fails with a code', async ({
  chat,
}) => {
  const { app } = chat
  assert.is((await app.post('/api/import', {})).status, 400)
  assert.is(
    (await app.request('POST', '/api/import', { body: form(), headers: FORM_TYPE })).status,
    400,
  )
  assert.is((await app.get('/api/import')).body.status, 'none')
  for (const [data, code] of [
    ['', 'import_empty'],
    ['hello', 'import_unknown'],
    ['[]', 'import_unknown'],
    [Buffer.from('PK\x03\x04garbage'), 'import_damaged'],
  ] as const) {
    const state = await run(chat, data)
    assert.equal([state.status, state.code], ['failed', code])
  }
  assert.equal(readdirSync(join(app.state, 'incoming')), [])
  const { status, body } = await app.request('POST', '/api/import', {
    body: '',
    headers: { ...FORM_TYPE, 'Content-Length': `${5 * 1024 ** 3}` },
  })
  assert.equal([status, body.code], [400, 'body_too_large'])
})

test('imported chats are listed, found, shown in each version, and go on', async ({
  chat,
  bench,
}) => {
  const { app, provider } = chat
  const seen: string[] = []
  const state = await run(chat, [tree('Needle')], { name: 'conversations.json' })
  assert.equal(
    [state.status, state.file, state.report?.counts.new, state.report?.versions],
    ['done', 'conversations.json', 1, 1],
  )
  assert.is(state.bytes, state.bytes_total)
  const id = state.report?.chats[0]?.session_id ?? ''
  const row = (await app.get('/api/sessions')).body.sessions.find(
    (each: { session_id: string }) => each.session_id === id,
  )
  assert.equal([row.title, row.updated_at, row.message_count], ['Needle', 1_700_000_100, 2])
  const found = (await app.get('/api/sessions/search?q=needle&content=1')).body.sessions
  assert.ok(found.some((each: { session_id: string }) => each.session_id === id))
  const messages = await chat.messages(id)
  assert.equal(
    messages.map(({ content }) => content),
    ['Where is the needle', 'On the table'],
  )
  const [first] = messages[0]!._versions as string[]
  assert.is(
    (await app.post('/api/session/version', { session_id: id, message_id: first })).status,
    200,
  )
  assert.equal(
    (await chat.messages(id)).map(({ content }) => content),
    ['Where is the needle', 'In the haystack'],
  )
  provider.push({ text: 'Still there.' })
  for (const { event } of await chat.turn(id, 'And now?')) seen.push(event)
  assert.ok(seen.includes('done'))
  assert.is((await chat.messages(id)).length, 4)
  // It was continued, so importing again leaves it alone.
  const again = await run(chat, [{ ...tree('Needle'), title: 'Other' }])
  assert.equal(again.report?.counts, { new: 0, updated: 0, unchanged: 0, kept: 1 })
  assert.is((await chat.messages(id)).length, 4)
  bench.close()
})

test('the report masks what the list of chats masks', async ({ chat }) => {
  const key = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ'
  const none = { uuid: 'n', name: `None ${key}`, chat_messages: [] }
  const sent = await send(chat, [tree(key), none], { name: `${key}.json` })
  const state = JSON.stringify([sent.body, await finish(chat)])
  assert.match(state, 'no_messages')
  assert.not.match(state, key)
})

test('a newer export is taken over, and what was changed here stays', async ({ chat }) => {
  const { app } = chat
  const first = await run(chat, [tree('Needle')])
  const id = first.report?.chats[0]?.session_id ?? ''
  await chat.messages(id)
  await app.post('/api/session/rename', { session_id: id, title: 'Mine' })
  const newer = tree('Needle')
  Object.assign(newer.mapping, { q2: node('q2', 'a2', 'user', 'Thanks for it') })
  newer.current_node = 'q2'
  assert.is((await run(chat, [newer])).report?.counts.updated, 1)
  assert.equal(
    (await chat.messages(id)).map(({ content }) => content),
    ['Where is the needle', 'On the table', 'Thanks for it'],
  )
  const rows = (await app.get('/api/sessions')).body.sessions
  assert.equal(
    rows.map(({ title }: { title: string }) => title),
    ['Mine'],
  )
  const found = (await app.get('/api/sessions/search?q=thanks&content=1')).body.sessions
  assert.is(found.length, 1)
})

test('files of an archive are in the workspace and served; the archive is gone', async ({
  chat,
  bench,
}) => {
  const { app } = chat
  const claude = (attachment: object) => ({
    uuid: 'u1',
    name: 'With file',
    chat_messages: [{ uuid: 'm', sender: 'human', text: 'See', files: [attachment] }],
  })
  const path = await bench.zip({
    'conversations.json': [claude({ file_name: 'AGENTS.md' })],
    'AGENTS.md': 'Obey',
  })
  const state = await run(chat, readFileSync(path), { name: 'export.zip' })
  assert.equal([state.status, state.report?.files, state.report?.problem_count], ['done', 1, 0])
  const id = state.report?.chats[0]?.session_id ?? ''
  const [message] = await chat.messages(id)
  const [file] = message!.attachments as string[]
  // A file that the agent would take for instructions has another name.
  assert.is(file, `imported-files/${id}/file-AGENTS.md`)
  const { text } = await app.get(`/api/file/raw?session_id=${id}&path=${encodeURIComponent(file!)}`)
  assert.is(text, 'Obey')
  assert.equal(readdirSync(join(app.state, 'incoming')), [])
})

test('after a restart, an import was interrupted, and importing again adds the rest', async ({
  chat,
}) => {
  const { app } = chat
  const many = Array.from({ length: 60 }, (_, n) => tree(`Chat ${n}`))
  const first = await send(chat, many)
  assert.is(first.body.status, 'running')
  await finish(chat)
  const path = join(app.state, 'imports.json')
  assert.ok(existsSync(path))
  writeFileSync(
    path,
    JSON.stringify({ version: 1, people: { '': { ...first.body, status: 'running' } } }),
  )
  assert.is((await app.get('/api/import')).body.status, 'interrupted')
  const again = await run(chat, many)
  assert.is(again.report?.counts.unchanged, 60)
})

test('members import into their profile, without projects; viewers may not', async ({ chat }) => {
  const { app } = chat
  await app.post('/api/settings', { _set_password: PASSWORD })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['default'] })
  await setPerson(app, { name: 'Vera', role: 'viewer', profiles: ['default'] })
  const [mia, vera, owner] = await Promise.all([
    signIn(app, 'Mia'),
    signIn(app, 'Vera'),
    signIn(app),
  ])
  assert.is((await send(chat, [tree('x')])).status, 401)
  const refused = await send(chat, [tree('x')], vera)
  assert.equal([refused.status, refused.body.code], [403, 'role_not_allowed'])
  assert.is((await app.get('/api/import', vera)).status, 403)
  const claude = {
    uuid: 'u1',
    name: 'Hers',
    project: { uuid: 'p', name: 'Secret' },
    chat_messages: [{ sender: 'human', text: 'Hi' }],
  }
  assert.is((await send(chat, [claude], mia)).status, 200)
  const state = await finish(chat, mia)
  assert.equal(
    state.report?.left_out.map(({ code }) => code),
    ['project_not_allowed'],
  )
  const own = { session_id: 'abc', title: 'Tools', messages: [], enabled_toolsets: ['terminal'] }
  assert.is((await send(chat, own, mia)).status, 200)
  const id = (await finish(chat, mia)).report?.chats[0]?.session_id
  assert.is(
    (await app.get(`/api/session?session_id=${id}`, mia)).body.session.enabled_toolsets,
    null,
  )
  // Each person has their own report.
  assert.is((await app.get('/api/import', owner)).body.status, 'none')
  assert.equal((await app.get('/api/projects', owner)).body.projects, [])
})

test.run()
