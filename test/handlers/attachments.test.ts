/** Files of a message: as many as are allowed are kept, more are refused at every door and nothing is sent. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate } from '../_provider.ts'
import { startChat } from './_chat.ts'

const test = suite('attachments over HTTP')

const names = (count: number) => Array.from({ length: count }, (_, at) => `file${at}.txt`)

test('rejects more than twenty attachments wherever a message is sent', async () => {
  const { opened, open } = gate()
  const chat = await startChat({ text: 'one', gate: opened }, { text: 'two' }, { text: 'three' })
  const { app, provider } = chat
  const session_id = await chat.newSession()
  const post = (path: string, count: number, more = {}) =>
    app.post(path, { session_id, message: 'look', attachments: names(count), ...more })
  const refuse = async (path: string, more = {}) => {
    const { status, body } = await post(path, 21, more)
    assert.equal(
      [status, body.error],
      [400, 'A message takes at most 20 attachments; this one has 21.'],
      path,
    )
  }
  await refuse('/api/chat/start')
  assert.equal(await chat.messages(session_id), [])
  assert.is((await post('/api/chat/start', 20)).status, 200)
  await provider.arrived(1)
  const { item } = (await post('/api/queue/add', 20)).body
  for (const path of ['/api/queue/add', '/api/chat/steer', '/api/chat/interrupt'])
    await refuse(path)
  await refuse('/api/queue/edit', { id: item.id })
  const { queued } = (await app.get(`/api/queue?session_id=${session_id}`)).body
  assert.equal([queued.length, queued[0].attachments.length], [1, 20])
  const [first] = await chat.messages(session_id)
  assert.equal(first?.attachments, names(20))
  open()
  await chat.close()
})

test.run()
