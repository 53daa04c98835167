/** Drafts: a message clears the draft that it was written in and no other, and a draft may be only a file. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate } from '../_provider.ts'
import { startChat } from './_chat.ts'
import { startApi } from './_client-api.ts'

const test = suite('drafts')

type Chat = Pick<Awaited<ReturnType<typeof startChat>>, 'app'>
type WholeChat = Awaited<ReturnType<typeof startChat>>
type Draft = { text?: string; files?: string[]; client_message_id?: string }

const withChat =
  (script: Parameters<typeof startChat>, run: (chat: WholeChat, id: string) => Promise<void>) =>
  async () => {
    await using chat = await startChat(...script)
    const id = await chat.newSession()
    await chat.app.post('/api/session/rename', { session_id: id, title: 'Named' })
    await run(chat, id)
  }

const save = ({ app }: Chat, session_id: string, draft: Draft) =>
  app.post('/api/session/draft', { session_id, ...draft })

const draftOf = async ({ app }: Chat, id: string, page = '') =>
  (await app.get(`/api/session?session_id=${id}${page}`)).body.session.composer_draft

const start = async ({ app }: Chat, session_id: string, message: string, more: object = {}) => {
  const { status, body } = await app.post('/api/chat/start', { session_id, message, ...more })
  assert.is(status, 200)
  return body.stream_id as string
}

test(
  'a message of another device, of the queue and a steering message leave the draft',
  withChat([], async (chat, id) => {
    const { opened, open } = gate()
    chat.provider.push({ text: 'one', gate: opened }, { text: 'two' }, { text: 'three' })
    const stream = await start(chat, id, 'from device 1', { client_message_id: 'device-1' })
    await save(chat, id, { text: 'half a thought', client_message_id: 'device-2' })
    await chat.app.post('/api/queue/add', { session_id: id, message: 'later' })
    await chat.app.post('/api/chat/steer', { session_id: id, message: 'left' })
    open()
    await chat.follow(stream)
    await chat.provider.arrived(2)
    assert.is((await draftOf(chat, id)).text, 'half a thought')
    await chat.app.restart()
    assert.is((await draftOf(chat, id, '&limit=5')).text, 'half a thought')
  }),
)

test('a message of a program in the same session leaves the draft', async () => {
  await using chat = await startApi({ text: 'one' }, { text: 'two' })
  const ask = (input: string, more: object = {}) =>
    chat.openai().responses.create({ model: 'test-model', input, ...more })
  const first = await ask('hello')
  const id = String((await chat.sessions())[0]?.session_id)
  await save(chat, id, { text: 'same' })
  await ask('same', { previous_response_id: first.id })
  assert.is((await chat.messages(id)).filter(({ role }) => role === 'user').length, 2)
  assert.is((await draftOf(chat, id)).text, 'same')
})

test(
  'a message clears the draft that it was written in: by its id, by the id it names, or by its content',
  withChat([], async (chat, id) => {
    const send = async (message: string, more: object = {}) => {
      chat.provider.push({ text: 'answer' })
      await chat.follow(await start(chat, id, message, more))
      return (await draftOf(chat, id)).text
    }
    // Saved before the last letters were written.
    await save(chat, id, { text: 'Hello wor', client_message_id: 'message-1' })
    assert.is(await send('Hello world', { client_message_id: 'message-1' }), '')
    await save(chat, id, { text: 'of the other', client_message_id: 'message-2' })
    assert.is(await send('of the other device', { draft: 'message-2' }), '')
    // Clients that do not name a draft.
    await save(chat, id, { text: ' same ', files: ['a.txt'] })
    assert.is(await send('other'), ' same ')
    assert.is(await send('same'), ' same ')
    assert.is(await send('same', { attachments: ['a.txt'] }), '')
    await save(chat, id, { text: 'see', files: ['a.txt'] })
    assert.is(await send('see\n\n[Attached files: a.txt]'), '')
  }),
)

test(
  'a queued and a steering message clear their draft at once, and a late save of it is ignored',
  withChat([], async (chat, id) => {
    const { opened, open } = gate()
    chat.provider.push({ text: 'one', gate: opened }, { text: 'two' }, { text: 'three' })
    const stream = await start(chat, id, 'first', { client_message_id: 'message-0' })
    for (const [path, name] of [
      ['/api/queue/add', 'message-1'],
      ['/api/chat/steer', 'message-2'],
    ] as const) {
      const draft = { text: `text of ${name}`, client_message_id: name }
      await save(chat, id, draft)
      const input = { session_id: id, message: draft.text, client_message_id: name }
      assert.is((await chat.app.post(path, input)).status, 200)
      assert.is((await draftOf(chat, id)).text, '')
      assert.is((await chat.app.post(path, input)).status, 200)
      const { body } = await save(chat, id, draft)
      assert.equal(body, { ok: true, draft: { text: '', files: [] }, unchanged: true })
    }
    const { queued } = (await chat.app.get(`/api/queue?session_id=${id}`)).body
    assert.is(queued.length, 2)
    await save(chat, id, { text: 'first', client_message_id: 'message-0' })
    assert.is((await draftOf(chat, id)).text, '')
    open()
    await chat.follow(stream)
  }),
)

test(
  'a draft that is only a file is kept, and its session is not empty',
  withChat([], async (chat, id) => {
    await save(chat, id, { text: '', files: ['contract.pdf'] })
    const file = { text: '', files: ['contract.pdf'] }
    assert.equal(await draftOf(chat, id), file)
    assert.equal(await draftOf(chat, id, '&limit=5'), file)
    assert.is((await chat.app.post('/api/sessions/cleanup_zero_message', {})).body.cleaned, 0)
    await chat.app.restart()
    assert.equal(await draftOf(chat, id), file)
    await save(chat, id, { files: [] })
    assert.is((await chat.app.post('/api/sessions/cleanup_zero_message', {})).body.cleaned, 1)
  }),
)

test.run()
