/** Small promises of the contract, one test each. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate } from '../_provider.ts'
import { addConversation, createStateDb } from '../_state-db.ts'
import { startChat } from './_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
const test = suite<{ chat: Chat }>('as specified')
test.before.each(async context => {
  context.chat = await startChat()
})
test.after.each(({ chat }) => chat.close())

test('canceling an unknown stream is no error', async ({ chat: { app } }) => {
  for (const id of ['x', '0'.repeat(32), '../..', 'A'.repeat(500)]) {
    const answer = await app.get(`/api/chat/cancel?stream_id=${encodeURIComponent(id)}`)
    assert.equal([answer.status, answer.body.cancelled], [200, false], id)
    assert.is((await app.post('/api/chat/cancel', { stream_id: id })).body.cancelled, false)
  }
})

test('a range beyond the end returns the size of the file', async ({
  chat: { app, newSession },
}) => {
  const id = await newSession()
  await app.post('/api/file/create', { session_id: id, path: 'ten.txt', content: '0123456789' })
  const ask = (Range: string) =>
    app.get(`/api/file/raw?session_id=${id}&path=ten.txt`, { headers: { Range } })
  const cases: [string, number, string][] = [
    ['bytes=0-3', 206, '0123'],
    ['bytes=7-', 206, '789'],
    ['bytes=-2', 206, '89'],
    ['bytes=5-99', 206, '56789'],
    ['bytes=0-1,4-5', 200, '0123456789'],
    ['lines=1-2', 200, '0123456789'],
    ['bytes=9-2', 200, '0123456789'],
  ]
  for (const [range, status, text] of cases) {
    const answer = await ask(range)
    assert.equal([answer.status, answer.text], [status, text], range)
  }
  for (const range of ['bytes=10-', 'bytes=99-100', 'bytes=-0']) {
    const answer = await ask(range)
    assert.is(answer.status, 416, range)
    assert.is(answer.headers['content-range'], 'bytes */10')
    assert.match(answer.body.error, /10 bytes/)
  }
})

test('rejects an upload into a folder above the workspace', async ({
  chat: { app, newSession },
}) => {
  const id = await newSession()
  const send = (path: string) => {
    const part = (name: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
    const file = `--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx\r\n--b--\r\n`
    return app.post('/api/upload', `${part('session_id', id)}${part('path', path)}${file}`, {
      headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
    })
  }
  for (const path of ['../..', '..', 'a/../..', '/etc', '/', 'a/../../b/..'])
    assert.is((await send(path)).status, 400, path)
  assert.is((await send('a/../b')).status, 200)
})

test('an empty session does not hide a CLI session with its id', async ({ chat: { app } }) => {
  await app.post('/api/settings', { show_cli_sessions: true })
  const db = createStateDb(app.home, 6)
  addConversation(db, 'shared', { title: 'There' })
  const line = { n: 1, t: 'session', at: 1, v: 1, id: 'shared', meta: { workspace: app.userHome } }
  writeFileSync(join(app.state, 'sessions', 'shared.jsonl'), `${JSON.stringify(line)}\n`)
  const { sessions, cli_count } = (await app.get('/api/sessions')).body
  assert.equal([sessions.length, sessions[0]?.title, cli_count], [1, 'There', 1])
  assert.is((await app.get('/api/session?session_id=shared')).body.session.messages.length, 2)
  const taken = await app.post('/api/session/import_cli', { session_id: 'shared' })
  assert.equal([taken.body.imported, taken.body.session.title], [true, 'There'])
  assert.is((await app.get('/api/sessions')).body.cli_count, 0)
  db.close()
})

test('keeps the reasoning of a stopped turn and never sends it', async ({ chat }) => {
  const { app, provider, newSession, send, follow, messages, turn } = chat
  const id = await newSession()
  const { opened, open } = gate()
  provider.push({ reasoning: ['I wonder', ' about it'], text: ['never', 'said'], middle: opened })
  const stream = await send(id, 'think')
  await follow(stream, 'reasoning')
  await app.get(`/api/chat/cancel?stream_id=${stream}`)
  open()
  const [, partial, marker] = await messages(id)
  assert.equal([partial?.role, partial?.content, partial?._partial], ['assistant', '', true])
  assert.match(String(partial?.reasoning), /I wonder/)
  assert.is(marker?.content, '*Task cancelled.*')
  const before = provider.requests.length
  provider.clear()
  provider.push({ text: 'yes' }, { text: 'A title' })
  await turn(id, 'and now')
  const received = provider.requests[before]?.body.messages.filter(
    ({ role }: { role: string }) => role !== 'system',
  )
  assert.equal(
    received.map(({ role }: { role: string }) => role),
    ['user', 'user'],
  )
})

test.run()
