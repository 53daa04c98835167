/** Files of a message: as many as are allowed are kept, and the rest is left out. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate } from '../_provider.ts'
import { startChat } from './_chat.ts'

const test = suite('attachments over HTTP')

const names = (count: number) => Array.from({ length: count }, (_, at) => `file${at}.txt`)

test('keeps the first twenty attachments wherever a message is sent', async () => {
  const { opened, open } = gate()
  const chat = await startChat({ text: 'one', gate: opened }, { text: 'two' }, { text: 'three' })
  const { app, provider } = chat
  const session_id = await chat.newSession()
  const post = async (path: string, more = {}) => {
    const input = { session_id, message: 'look', attachments: names(21), ...more }
    const { status, body, text } = await app.post(path, input)
    assert.is(status, 200, text)
    return body
  }
  await post('/api/chat/start')
  await provider.arrived(1)
  const { item } = await post('/api/queue/add')
  await post('/api/queue/edit', { id: item.id, message: 'look again' })
  await post('/api/chat/steer')
  const { queued } = (await app.get(`/api/queue?session_id=${session_id}`)).body
  const [first] = await chat.messages(session_id)
  for (const { attachments } of [first, ...queued]) assert.equal(attachments, names(20))
  assert.is(queued.length, 2)
  open()
  await chat.close()
})

test.run()
