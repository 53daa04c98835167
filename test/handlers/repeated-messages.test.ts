/** A message that is sent again because its reply was lost: one message, one turn. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat } from './_chat.ts'

const test = suite('repeated messages')

test('a message with a known id is stored once: at the same time, while its turn runs, after a restart, in the queue', async () => {
  await using chat = await startChat({ text: 'one' }, { text: 'A title' })
  const { app } = chat
  const session_id = await chat.newSession()
  const start = (id: string, message = `message ${id}`) =>
    app.post('/api/chat/start', { session_id, message, client_message_id: id })
  const add = (id: string) =>
    app.post('/api/queue/add', { session_id, message: `message ${id}`, client_message_id: id })
  const users = async () =>
    (await chat.messages(session_id)).filter(m => m.role === 'user').map(m => m.content)

  assert.is((await start('short')).status, 400)
  assert.is((await start('../../../../etc')).status, 400)
  assert.equal(await users(), [])

  const both = await Promise.all([start('client-1'), start('client-1')])
  assert.equal(
    both.map(({ status }) => status),
    [200, 200],
  )
  assert.equal(both.map(({ body }) => body.repeated).filter(Boolean), [true])
  assert.is(both[0]!.body.stream_id, both[1]!.body.stream_id)
  await chat.follow(both[0]!.body.stream_id)

  await app.restart()
  const again = await start('client-1', 'not looked at')
  assert.is(again.body.repeated, true)
  assert.is(again.body.stream_id, both[0]!.body.stream_id)

  chat.provider.push({ end: 'body' })
  const running = await start('client-2')
  assert.is(running.body.repeated, undefined)
  assert.is((await start('client-2')).body.repeated, true)
  // Another message still finds the session busy.
  assert.is((await start('client-3')).status, 409)
  const [first, second] = [await add('client-3'), await add('client-3')]
  assert.is(first.body.queued.length, 1)
  assert.is(second.body.queued.length, 1)
  const queued = await start('client-3')
  assert.is(queued.body.repeated, true)
  assert.is(queued.body.stream_id, '')
  assert.equal(await users(), ['message client-1', 'message client-2'])

  // The ids belong to this session: a copy accepts them.
  const copy = await app.post('/api/session/duplicate', { session_id })
  const id = copy.body.session.session_id
  const sent = { session_id: id, message: 'in the copy', client_message_id: 'client-1' }
  assert.is((await app.post('/api/chat/start', sent)).body.repeated, undefined)
})

test.run()
