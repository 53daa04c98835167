/** Steering over HTTP: the queue of a session, a word into the running turn, interrupting, side questions, background prompts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate } from '../_provider.ts'
import { startChat, textOf, types } from './_chat.ts'

const test = suite('steering')

type Chat = Awaited<ReturnType<typeof startChat>>
type Queued = { id: string; text: string; attachments: string[]; steer?: boolean }

const withChat =
  (script: Parameters<typeof startChat>, run: (chat: Chat) => Promise<void>) => async () => {
    await using chat = await startChat(...script)
    await run(chat)
  }

/** A session that has its name, so that no model is asked for one. */
const named = async (chat: Chat): Promise<string> => {
  const id = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: id, title: 'Named' })
  return id
}

const queueOf = async ({ app }: Chat, id: string): Promise<Queued[]> =>
  (await app.get(`/api/queue?session_id=${id}`)).body.queued
const words = async (chat: Chat, id: string) => (await queueOf(chat, id)).map(({ text }) => text)

const said = (chat: Chat, at: number): string[] =>
  chat.provider.requests[at]?.body.messages
    .filter(({ role }: { role: string }) => role === 'user')
    .map(({ content }: { content: string }) => content)

// Refusals first.

test(
  'rejects steering without a turn, unknown messages and empty text, with a reason',
  withChat([], async chat => {
    const { app } = chat
    const session_id = await named(chat)
    const steer = await app.post('/api/chat/steer', { session_id, message: 'left' })
    assert.equal([steer.status, steer.body.code], [409, 'no_running_turn'])
    const missing = [
      ['/api/queue/edit', { id: 'none', message: 'x' }],
      ['/api/queue/remove', { id: 'none' }],
      ['/api/queue/reorder', { ids: ['none'] }],
      ['/api/queue/send', {}],
    ] as const
    for (const [path, input] of missing) {
      assert.is((await app.post(path, { session_id, ...input })).status, 404, path)
    }
    const empty = ['/api/queue/add', '/api/chat/interrupt', '/api/btw', '/api/background']
    for (const path of empty) assert.is((await app.post(path, { session_id })).status, 400, path)
    const gone = { session_id: 'ffffffffffff', message: 'x', question: 'x', prompt: 'x' }
    for (const path of empty) assert.is((await app.post(path, gone)).status, 404, path)
    assert.equal((await app.get(`/api/background/status?session_id=${session_id}`)).body, {
      results: [],
    })
  }),
)

// The queue.

test('sends queued messages in order after a successful turn, without an open page', async () => {
  const { opened, open } = gate()
  await using chat = await startChat(
    { text: 'one', gate: opened },
    { text: 'two' },
    { text: 'three' },
  )
  const { app } = chat
  const session_id = await named(chat)
  await chat.send(session_id, 'first')
  await chat.provider.arrived(1)
  const add = async (message: string) =>
    (await app.post('/api/queue/add', { session_id, message, attachments: ['a.txt'] })).body
  const { item } = await add('third')
  assert.is((await add('away')).stream_id, null)
  await add('secnod')
  const list = await queueOf(chat, session_id)
  assert.equal(list[0]?.attachments, ['a.txt'])
  await app.post('/api/queue/remove', { session_id, id: list[1]!.id })
  await app.post('/api/queue/edit', { session_id, id: list[2]!.id, message: 'second' })
  const ids = [list[2]!.id, item.id]
  const sorted = await app.post('/api/queue/reorder', { session_id, ids })
  assert.equal(
    sorted.body.queued.map(({ text }: Queued) => text),
    ['second', 'third'],
  )
  const { session } = (await app.get(`/api/session?session_id=${session_id}`)).body
  assert.is(session.queued.length, 2)
  // A copy has a conversation of its own, and nothing waits in it.
  const copy = (await app.post('/api/session/duplicate', { session_id })).body.session
  assert.equal(await words(chat, copy.session_id), [])
  open()
  await chat.provider.arrived(3)
  assert.equal(
    said(chat, 2).map(text => text.split('\n').at(-1)),
    ['first', 'second', 'third'],
  )
  const { stream_id } = (await app.get(`/api/session/status?session_id=${session_id}`)).body
  if (stream_id) await chat.follow(stream_id)
  assert.equal(await words(chat, session_id), [])
  const messages = await chat.messages(session_id)
  assert.equal(
    messages.filter(({ role }) => role === 'user').map(({ content }) => content),
    ['first', 'second', 'third'],
  )
  assert.equal(messages[2]?.attachments, ['a.txt'])
})

test(
  'after a stopped turn queued messages wait, and can be sent by hand',
  withChat([{ text: 'never', end: 'headers' }, { text: 'here' }, { text: 'there' }], async chat => {
    const { app } = chat
    const session_id = await named(chat)
    const stream = await chat.send(session_id, 'first')
    await chat.provider.arrived(1)
    await app.post('/api/queue/add', { session_id, message: 'later' })
    await app.post('/api/chat/cancel', { stream_id: stream })
    await chat.follow(stream)
    assert.equal(await words(chat, session_id), ['later'])
    await app.post('/api/queue/add', { session_id, message: 'even later' })
    assert.is(chat.provider.requests.length, 1)
    const sent = await app.post('/api/queue/send', { session_id })
    assert.is(sent.status, 200)
    // That one ended well, so the next goes out by itself.
    await chat.provider.arrived(3)
    assert.equal(
      (await chat.messages(session_id))
        .filter(({ role }) => role === 'user')
        .map(({ content }) => content),
      ['first', 'later', 'even later'],
    )
  }),
)

test('a steering message is read before the next step and stored at that position', async () => {
  const { opened, open } = gate()
  const call = { id: 'c1', name: 'todo', arguments: {} }
  await using chat = await startChat({ toolCalls: [call], gate: opened }, { text: 'As you say.' })
  const { app } = chat
  const session_id = await named(chat)
  const stream = await chat.send(session_id, 'go')
  await chat.provider.arrived(1)
  await app.post('/api/queue/add', { session_id, message: 'behind' })
  const steer = await app.post('/api/chat/steer', { session_id, text: 'rather left' })
  assert.equal(
    [steer.status, steer.body.accepted, steer.body.fallback, steer.body.stream_id],
    [200, true, null, stream],
  )
  // Kept before it was acknowledged, in front of what waits for the end.
  const journal = readFileSync(join(app.state, 'sessions', `${session_id}.jsonl`), 'utf8')
  assert.match(journal, 'rather left')
  assert.equal(await words(chat, session_id), ['rather left', 'behind'])
  chat.provider.push({ text: 'Behind, too.' })
  open()
  const seen = await chat.follow(stream)
  assert.equal(
    seen
      .filter(({ event }) => event === 'message')
      .map(({ data }) => (data.message as { role: string }).role),
    ['user', 'assistant', 'tool', 'user', 'assistant'],
  )
  assert.match(said(chat, 1).at(-1) ?? '', /^\[Workspace: \/.*\]\nrather left$/)
  await chat.provider.arrived(3)
  const roles = (await chat.messages(session_id)).map(({ role, content }) => `${role} ${content}`)
  assert.is(roles[3], 'user rather left')
  assert.is(roles[5], 'user behind')
})

test('steering messages the turn did not read become the next message', async () => {
  const { opened, open } = gate()
  await using chat = await startChat({
    status: 400,
    body: { error: { message: 'no' } },
    gate: opened,
  })
  const session_id = await named(chat)
  const stream = await chat.send(session_id, 'go')
  await chat.provider.arrived(1)
  await chat.app.post('/api/chat/steer', { session_id, message: 'too late' })
  open()
  const seen = await chat.follow(stream)
  assert.ok(types(seen).includes('apperror'))
  // The turn failed: it waits where the person sees it.
  const [left] = await queueOf(chat, session_id)
  assert.equal([left?.text, left?.steer], ['too late', true])
  chat.provider.push({ text: 'Not too late.' })
  const sent = await chat.app.post('/api/queue/send', { session_id, id: left!.id })
  await chat.follow(sent.body.stream_id)
  assert.is((await chat.messages(session_id)).at(-1)?.content, 'Not too late.')
})

test(
  'interrupt stops the turn and sends at once; without a turn it only sends',
  withChat(
    [{ text: ['half', ' of it'], end: 'body' }, { text: 'other' }, { text: 'more' }],
    async chat => {
      const session_id = await named(chat)
      const stream = await chat.send(session_id, 'go')
      await chat.follow(stream, 'token')
      const { body } = await chat.app.post('/api/chat/interrupt', {
        session_id,
        message: 'no, that',
      })
      await chat.follow(body.stream_id)
      assert.equal(
        (await chat.messages(session_id))
          .map(({ role, content }) => `${role} ${content}`)
          .slice(-2),
        ['user no, that', 'assistant other'],
      )
      const plain = await chat.app.post('/api/chat/interrupt', { session_id, message: 'and that' })
      await chat.follow(plain.body.stream_id)
      assert.is((await chat.messages(session_id)).at(-1)?.content, 'more')
    },
  ),
)

// Beside it.

test('answers a side question during a turn, with the conversation as context, and stores nothing', async () => {
  const { opened, open } = gate()
  await using chat = await startChat(
    { text: 'The cat is gray.' },
    { text: 'Done.', gate: opened },
    { text: ['Gray', ', of course.'], usage: { prompt_tokens: 40, completion_tokens: 2 } },
  )
  const { app } = chat
  const session_id = await named(chat)
  await chat.turn(session_id, 'which cat?')
  const stream = await chat.send(session_id, 'work')
  await chat.provider.arrived(2)
  const { body } = await app.post('/api/btw', { session_id, question: 'what color?' })
  assert.equal([body.session_id, body.parent_session_id], [session_id, session_id])
  const seen = await chat.follow(body.stream_id)
  assert.equal(types(seen), ['token', 'token', 'done', 'stream_end'])
  assert.is(textOf(seen), 'Gray, of course.')
  const { data } = seen[2]!
  assert.equal([data.ephemeral, data.answer], [true, 'Gray, of course.'])
  const asked = chat.provider.requests[2]!.body
  assert.is(asked.tools, undefined)
  assert.match(JSON.stringify(asked.messages), 'The cat is gray.')
  open()
  await chat.follow(stream)
  const { session } = (await app.get(`/api/session?session_id=${session_id}`)).body
  assert.is(session.messages.length, 4)
  assert.equal([session.input_tokens, session.output_tokens], [40, 2])
  assert.is(session.last_turn, 'done')
})

test('a background prompt runs in its own session and its end is sent to all pages', async () => {
  await using chat = await startChat({ text: 'Found it.' })
  const { app } = chat
  const session_id = await named(chat)
  const reader = app.events('/api/events?sources=notices')
  const notice = (async () => {
    for await (const { event, data } of reader) {
      if (event === 'notice') return (data as { data: Record<string, unknown> }).data
    }
    return null
  })()
  const { body } = await app.post('/api/background', { session_id, prompt: 'Look for it' })
  assert.is.not(body.session_id, session_id)
  await chat.follow(body.stream_id, 'done')
  const { results } = (await app.get(`/api/background/status?session_id=${session_id}`)).body
  assert.equal(
    results.map(({ status, answer }: { status: string; answer: string }) => [status, answer]),
    [['done', 'Found it.']],
  )
  const received = await notice
  assert.equal([received?.level, received?.session_id], ['info', body.session_id])
  assert.match(String(received?.message), /^“Look.*” is done\.$/)
  const { session } = (await app.get(`/api/session?session_id=${session_id}`)).body
  assert.is(session.messages.length, 0)
})

test('yolo allows pending and new requests in this session except blocked commands, and can be turned off', async () => {
  const runs = (command: string, id: string) => ({
    toolCalls: [{ id, name: 'terminal', arguments: { command } }],
  })
  await using chat = await startChat(
    runs('rm -rf one', 'c1'),
    runs('rm -rf two', 'c2'),
    runs('rm -rf /', 'c3'),
    { text: 'end' },
    runs('rm -rf three', 'c4'),
    { text: 'end' },
  )
  const { app } = chat
  const session_id = await named(chat)
  const yolo = (enabled?: unknown) => app.post('/api/session/yolo', { session_id, enabled })
  const stream = await chat.send(session_id, 'go')
  await chat.follow(stream, 'approval')
  assert.is((await yolo()).body.yolo_enabled, true)
  const seen = await chat.follow(stream)
  assert.is(types(seen).filter(type => type === 'approval').length, 1)
  const results = (await chat.messages(session_id)).filter(({ role }) => role === 'tool')
  assert.equal(
    results.map(({ content }) => /blocked|never|refus/i.test(String(content))),
    [false, false, true],
  )
  const row = (await app.get('/api/sessions')).body.sessions[0]
  assert.is(row.yolo, true)
  await app.restart()
  const state = await app.get(`/api/session/yolo?session_id=${session_id}`)
  assert.equal(state.body, { yolo_enabled: true })
  assert.is((await yolo(false)).body.yolo_enabled, false)
  const asked = await chat.send(session_id, 'again')
  await chat.follow(asked, 'approval')
  await app.post('/api/approval/respond', { session_id, choice: 'deny' })
  await chat.follow(asked)
})

test.run()
