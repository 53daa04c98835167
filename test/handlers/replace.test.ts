/** Editing and repeating a message: one request and one append, versions that are kept, and refusals that change nothing. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { addConversation, addMessage, createStateDb } from '../_state-db.ts'
import { startChat } from './_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
type Message = { id: string; role: string; content: string; _versions?: string[] }

const test = suite<{ chat: Chat }>('replace')
test.before.each(async context => {
  context.chat = await startChat()
})
test.after.each(({ chat }) => chat.close())

/** The answers of the model; the title of a new chat takes the second one. */
const script = ({ provider }: Chat, ...texts: string[]) =>
  provider.push(...texts.map(text => ({ text })))

const journal = ({ app }: Chat, id: string): string =>
  readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')

const shown = async (chat: Chat, id: string): Promise<string[]> =>
  (await chat.messages(id)).map(({ content }) => String(content))

const messagesOf = async (chat: Chat, id: string) => (await chat.messages(id)) as Message[]

test('one request hides a message with all that follows and starts the turn of the new one', async ({
  chat,
}) => {
  script(chat, 'answer 1', 'A title', 'answer 2', 'answer 3')
  const session_id = await chat.newSession()
  await chat.turn(session_id, 'first')
  await chat.turn(session_id, 'swordfish')
  const before = journal(chat, session_id)
  const [first] = await messagesOf(chat, session_id)
  const start = { session_id, message: 'first again', replace: first!.id }
  const { status, body } = await chat.app.post('/api/chat/start', start)
  assert.is(status, 200)
  const seen = await chat.follow(body.stream_id)
  assert.equal(await shown(chat, session_id), ['first again', 'answer 3'])
  assert.ok(journal(chat, session_id).startsWith(before))
  const added = journal(chat, session_id).slice(before.length).split('\n').slice(0, 4)
  assert.equal(
    added.map(line => JSON.parse(line).t),
    ['cut', 'meta', 'message', 'turn_started'],
  )
  const [message, ...others] = seen.filter(({ event }) => event === 'message')
  assert.is(message!.data.replaces, first!.id)
  assert.ok(others.every(({ data }) => data.replaces === undefined))
  const sent = chat.provider.requests.at(-1)!.body.messages as { content: string }[]
  assert.not.ok(sent.some(({ content }) => String(content).includes('swordfish')))
})

test('without a text, those of the replaced message are sent again', async ({ chat }) => {
  script(chat, 'answer 1', 'A title', 'answer 2')
  const session_id = await chat.newSession()
  const message = 'first\n\n[Attached files: a.txt]'
  const attachments = ['a.txt']
  const first = await chat.app.post('/api/chat/start', { session_id, message, attachments })
  await chat.follow(first.body.stream_id)
  const [asked] = await messagesOf(chat, session_id)
  await chat.app.post('/api/session/draft', { session_id, text: 'not sent yet' })
  const { body } = await chat.app.post('/api/chat/start', { session_id, replace: asked!.id })
  await chat.follow(body.stream_id)
  const { session } = (await chat.app.get(`/api/session?session_id=${session_id}`)).body
  const [again, answer] = session.messages
  assert.equal([again.content, again.attachments], [message, attachments])
  assert.is(answer.content, 'answer 2')
  assert.is(session.composer_draft.text, 'not sent yet')
})

test('a refused start changes nothing', async ({ chat }) => {
  script(chat, 'answer 1', 'A title', 'answer 2', 'A title', 'answer 3')
  const { app } = chat
  const session_id = await chat.newSession()
  await chat.turn(session_id, 'first')
  const other = await chat.newSession()
  await chat.turn(other, 'elsewhere')
  await chat.turn(other, 'elsewhere')
  const [asked, answer] = await messagesOf(chat, session_id)
  const elsewhere = (await messagesOf(chat, other)).at(-1)!.id
  const before = journal(chat, session_id)
  const refused = async (change: Record<string, unknown>, expected: [number, string]) => {
    const input = { session_id, message: 'x', replace: asked!.id, ...change }
    const { status, body } = await app.post('/api/chat/start', input)
    const what = JSON.stringify(change).slice(0, 80)
    assert.equal([status, body.code], expected, what)
    assert.ok(body.error)
    assert.is(journal(chat, session_id), before, what)
  }
  await refused({ replace: 'm999' }, [404, 'message_not_found'])
  await refused({ replace: elsewhere }, [404, 'message_not_found'])
  await refused({ replace: answer!.id }, [400, 'message_not_yours'])
  await refused({ replace: 7 }, [400, 'invalid_request'])
  await refused({ replace: '' }, [400, 'invalid_request'])
  await refused({ workspace: '/nowhere' }, [400, 'workspace_missing'])
  await refused({ message: 'x'.repeat(30_000_000) }, [400, 'body_too_large'])
  await refused({ session_id: 'unknown' }, [404, 'session_not_found'])

  chat.provider.push({ end: 'body' })
  const stream_id = await chat.send(session_id, 'second')
  await chat.follow(stream_id, 'message')
  const running = journal(chat, session_id)
  const busy = { session_id, message: 'x', replace: asked!.id }
  assert.is((await app.post('/api/chat/start', busy)).status, 409)
  assert.is(journal(chat, session_id), running)
  await app.post('/api/chat/cancel', { stream_id })
})

test('sent twice with the id of the client, it replaces once', async ({ chat }) => {
  script(chat, 'answer 1', 'A title', 'answer 2')
  const session_id = await chat.newSession()
  await chat.turn(session_id, 'first')
  const [asked] = await messagesOf(chat, session_id)
  const input = { session_id, replace: asked!.id, client_message_id: 'client-1' }
  const both = await Promise.all([
    chat.app.post('/api/chat/start', input),
    chat.app.post('/api/chat/start', input),
  ])
  assert.equal(both.map(({ body }) => body.repeated).filter(Boolean), [true])
  assert.is(both[0]!.body.stream_id, both[1]!.body.stream_id)
  await chat.follow(both[0]!.body.stream_id)
  assert.equal(await shown(chat, session_id), ['first', 'answer 2'])
})

test('clear, truncate, undo and retry tell the pages that show the chat; what changes nothing tells nothing', async ({
  chat,
}) => {
  script(
    chat,
    'answer 1',
    'A title',
    ...['answer 2', 'answer 3', 'answer 4', 'answer 5', 'answer 6'],
  )
  const { app } = chat
  const session_id = await chat.newSession()
  const cursorOf = async () =>
    (await app.get(`/api/session?session_id=${session_id}`)).body.session.cursor
  const firstAfter = async (cursor: string) => {
    for await (const { event, data } of app.events(`/api/events?watch=${session_id}@${cursor}`))
      if ((data as { source?: string }).source === `session:${session_id}`) return event
    return ''
  }
  for (const [path, input] of [
    ['truncate', { keep_count: 1 }],
    ['undo', {}],
    ['retry', {}],
    ['clear', {}],
  ] as const) {
    await chat.turn(session_id, 'first')
    const cursor = await cursorOf()
    await app.post(`/api/session/${path}`, { session_id, ...input })
    assert.is(await firstAfter(cursor), 'reset', path)
  }
  const cursor = await cursorOf()
  await app.post('/api/session/truncate', { session_id, keep_count: 5 })
  await app.post('/api/session/undo', { session_id })
  await chat.turn(session_id, 'first')
  assert.is(await firstAfter(cursor), 'message')
})

test('versions are named, and each shows what had followed it', async ({ chat }) => {
  script(chat, 'answer 1', 'A title', 'answer 2', 'answer 3', 'answer 4')
  const { app } = chat
  const session_id = await chat.newSession()
  await chat.turn(session_id, 'first')
  await chat.turn(session_id, 'and more')
  const [first] = await messagesOf(chat, session_id)
  const start = { session_id, message: 'second', replace: first!.id }
  const seen = await chat.follow((await app.post('/api/chat/start', start)).body.stream_id)
  const [second] = await messagesOf(chat, session_id)
  const ids = [first!.id, second!.id]
  const event = seen.find(({ event: type }) => type === 'message')
  assert.equal((event!.data.message as Message)._versions, ids)
  for (const query of ['', '&limit=5', `&before=${(await messagesOf(chat, session_id))[1]!.id}`]) {
    const { session } = (await app.get(`/api/session?session_id=${session_id}${query}`)).body
    assert.equal(session.messages[0]._versions, ids, query)
  }
  const one = `/api/session/message?session_id=${session_id}&id=${second!.id}`
  assert.equal((await app.get(one)).body.message._versions, ids)

  const show = (message_id: unknown, id = session_id) =>
    app.post('/api/session/version', { session_id: id, message_id })
  const cursor = (await app.get(`/api/session?session_id=${session_id}`)).body.session.cursor
  assert.is((await show(first!.id)).body.session.message_count, 4)
  for await (const change of app.events(`/api/events?watch=${session_id}@${cursor}`)) {
    const frame = change.data as { source?: string }
    if (frame.source === `session:${session_id}`) {
      assert.is(change.event, 'reset')
      break
    }
  }
  assert.equal(await shown(chat, session_id), ['first', 'answer 1', 'and more', 'answer 2'])
  await app.restart()
  assert.equal(await shown(chat, session_id), ['first', 'answer 1', 'and more', 'answer 2'])

  // The turn after that reads this version only.
  await chat.turn(session_id, 'third')
  const sent = JSON.stringify(chat.provider.requests.at(-1)!.body.messages)
  assert.match(sent, 'and more')
  assert.not.match(sent, 'answer 3')
  await show(second!.id)
  assert.equal(await shown(chat, session_id), ['second', 'answer 3'])
  await show(first!.id)
  assert.is((await shown(chat, session_id)).length, 6)

  const before = journal(chat, session_id)
  const other = await chat.newSession()
  assert.is((await show(first!.id, other)).status, 404)
  assert.is((await show('m999')).body.code, 'message_not_found')
  assert.is((await show('')).status, 400)
  assert.is((await show(null)).status, 400)
  assert.is(journal(chat, session_id), before)
  chat.provider.push({ end: 'body' })
  const stream_id = await chat.send(session_id, 'fourth')
  await chat.follow(stream_id, 'message')
  const running = journal(chat, session_id)
  assert.equal([(await show(second!.id)).status, journal(chat, session_id)], [409, running])
  await app.post('/api/chat/cancel', { stream_id })
})

test('a session of the command line is imported by the start that replaces one of its messages', async ({
  chat,
}) => {
  script(chat, 'answer 1', 'A title')
  const { app } = chat
  const id = '20260101_000000_abc123'
  const db = createStateDb(app.home, 30)
  try {
    addConversation(db, id)
    addMessage(db, id, 'user', 'again', { timestamp: 2_000 })
    addMessage(db, id, 'assistant', 'answer of the terminal', { timestamp: 2_001 })
    const known = await messagesOf(chat, id)
    const before = known.map(({ content }) => content)
    const asked = known.findLast(({ role }) => role === 'user')!
    const start = {
      session_id: id,
      replace: asked.id,
      message: '',
      client_message_id: 'client-1',
    }
    const refused = await app.post('/api/chat/start', { ...start, workspace: '/nowhere' })
    assert.is(refused.body.code, 'workspace_missing')
    assert.equal(await shown(chat, id), before)
    const { body } = await app.post('/api/chat/start', start)
    await chat.follow(body.stream_id)
    assert.equal(await shown(chat, id), [...before.slice(0, -1), 'answer 1'])
    assert.is((await app.post('/api/chat/start', start)).body.repeated, true)
    const unknown = { ...start, replace: 'c999', client_message_id: 'client-2' }
    assert.is((await app.post('/api/chat/start', unknown)).status, 404)
  } finally {
    db.close()
  }
})

test.run()
