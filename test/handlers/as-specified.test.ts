/** Small promises to clients, one test each. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { addConversation, createStateDb } from '../_state-db.ts'
import { startChat, types } from './_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
const test = suite<{ chat: Chat }>('as specified')
test.before(async context => {
  context.chat = await startChat()
})
// What a test did not use answers no other.
test.before.each(({ chat }) => chat.provider.clear())
test.after(({ chat }) => chat.close())

test('canceling an unknown stream is no error', async ({ chat: { app } }) => {
  for (const id of ['x', '0'.repeat(32), '../..', 'A'.repeat(500)]) {
    const answer = await app.get(`/api/chat/cancel?stream_id=${encodeURIComponent(id)}`)
    assert.equal([answer.status, answer.body.cancelled], [200, false], id)
    assert.is((await app.post('/api/chat/cancel', { stream_id: id })).body.cancelled, false)
  }
})

test('an empty session does not hide a CLI session with its id', async ({ chat: { app } }) => {
  await app.post('/api/settings', { show_cli_sessions: true })
  const db = createStateDb(app.home, 6)
  addConversation(db, 'shared', { title: 'There' })
  const line = { n: 1, t: 'session', at: 1, v: 1, id: 'shared', meta: { workspace: app.userHome } }
  writeFileSync(join(app.state, 'sessions', 'shared.jsonl'), `${JSON.stringify(line)}\n`)
  const { sessions, cli_count } = (await app.get('/api/sessions')).body
  const rows = sessions.filter((row: { session_id: string }) => row.session_id === 'shared')
  assert.equal([rows.length, rows[0]?.title, cli_count], [1, 'There', 1])
  assert.is((await app.get('/api/session?session_id=shared')).body.session.messages.length, 2)
  const taken = await app.post('/api/session/import_cli', { session_id: 'shared' })
  assert.equal([taken.body.imported, taken.body.session.title], [true, 'There'])
  assert.is((await app.get('/api/sessions')).body.cli_count, 0)
  db.close()
})

test('cancel: an agent blocked in a tool call does not leave the session stuck', async ({
  chat,
}) => {
  const { app, provider, newSession, send, follow } = chat
  const id = await newSession()
  provider.push({
    toolCalls: [{ name: 'terminal', arguments: { command: "trap '' TERM; sleep 60" } }],
  })
  const stream = await send(id, 'Sleep')
  await follow(stream, 'tool')
  await app.get(`/api/chat/cancel?stream_id=${stream}`)
  provider.push({ text: 'Here again.' })
  const next = await send(id, 'And now?')
  assert.ok(types(await follow(next, 'done')).includes('done'))
})

test('chat start: returns effective_model when the session’s model was normalized; never rewrites a session without a model', async ({
  chat,
}) => {
  const { app, provider, follow } = chat
  writeFileSync(
    join(app.home, 'config.yaml'),
    `model:\n  provider: deepseek\n  base_url: ${provider.url}\n  api_key: sk-0123456789\n  default: deepseek-chat\n`,
  )
  provider.push({ text: 'a' }, { text: 'T' }, { text: 'b' })
  const foreign = (await app.post('/api/session/new', { model: 'anthropic/claude-x' })).body.session
  const one = await app.post('/api/chat/start', { session_id: foreign.session_id, message: 'x' })
  assert.is(one.body.effective_model, 'deepseek-chat')
  await follow(one.body.stream_id)
  const { body } = await app.post('/api/session/import', { messages: [], model: null })
  const id = body.session.session_id
  await app.post('/api/session/update', { session_id: id, model: '' })
  const two = await app.post('/api/chat/start', { session_id: id, message: 'x' })
  assert.not('effective_model' in two.body)
  await follow(two.body.stream_id, 'done')
  assert.is((await app.get(`/api/session?session_id=${id}`)).body.session.model, null)
})

test('the session id is the agent’s gateway session key, which its child processes see', async ({
  chat,
}) => {
  const { provider, newSession, turn, messages } = chat
  const id = await newSession()
  provider.push(
    {
      toolCalls: [
        {
          name: 'terminal',
          arguments: { command: 'echo "$AGENT_SESSION_KEY $TERMINAL_CWD $AGENT_HOME"' },
        },
      ],
    },
    { text: 'ok' },
    { text: 'T' },
  )
  await turn(id, 'Who am I?')
  const output = String((await messages(id)).find(message => message.role === 'tool')?.content)
  assert.ok(output.includes(id))
  assert.ok(output.includes(chat.app.home))
})

test('GET /api/session: the model shown is computed read-only and never written back', async ({
  chat,
}) => {
  const { app } = chat
  const { body } = await app.post('/api/session/new', { model: 'elsewhere/model-x' })
  const id = body.session.session_id
  const file = join(app.state, 'sessions', `${id}.jsonl`)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  await app.get(`/api/session?session_id=${id}`)
  assert.is(existsSync(file) ? readFileSync(file, 'utf8') : '', before)
})

test('reasoning effort takes effect on the next turn', async ({ chat }) => {
  const { app, provider, newSession, send, follow } = chat
  await app.post('/api/reasoning', { effort: 'high' })
  provider.push({ text: 'ok' })
  await follow(await send(await newSession(), 'x'), 'done')
  assert.is(provider.requests.at(-1)?.body.reasoning_effort, 'high')
})

test('Session.workspace: an imported session uses the last-used workspace', async ({ chat }) => {
  const { app } = chat
  const work = join(app.userHome, 'last-used')
  mkdirSync(work)
  await app.post('/api/session/new', { workspace: work })
  const { body: made } = await app.post('/api/session/new', {})
  await app.post('/api/session/update', { session_id: made.session.session_id, workspace: work })
  const { body } = await app.post('/api/session/import', { messages: [] })
  assert.is(body.session.workspace, work)
})

test('_error messages, reasoning and attachments are not sent; partial ones are', async ({
  chat,
}) => {
  const { app, provider, send, follow } = chat
  const { body } = await app.post('/api/session/import', {
    messages: [
      { role: 'user', content: 'first', attachments: ['a.png'], timestamp: 1, _ts: 2 },
      { role: 'assistant', content: 'answer', reasoning: 'secret thoughts', timestamp: 1 },
      { role: 'assistant', content: 'it broke', _error: true },
      { role: 'assistant', content: 'half an ans', _partial: true },
    ],
  })
  const before = provider.requests.length
  provider.push({ text: 'ok' })
  await follow(await send(body.session.session_id, 'second'), 'done')
  const { messages } = provider.requests[before]!.body
  const text = JSON.stringify(messages)
  assert.not.match(text, /it broke|secret thoughts|a\.png/)
  assert.match(text, /half an ans/)
})

test('timestamp of a message: set on every message without one when a turn completes, else kept', async ({
  chat,
}) => {
  const { app, provider, turn, messages } = chat
  const { body } = await app.post('/api/session/import', {
    messages: [
      { role: 'user', content: 'dated', timestamp: 1_600_000_000 },
      { role: 'assistant', content: 'yes', timestamp: 1_600_000_001 },
    ],
  })
  provider.push({ text: 'now' })
  await turn(body.session.session_id, 'again')
  const all = await messages(body.session.session_id)
  assert.equal(
    all.slice(0, 2).map(message => message.timestamp),
    [1_600_000_000, 1_600_000_001],
  )
  for (const message of all) assert.type(message.timestamp, 'number')
})

test('contract 9.3: retry and undo remove the tool call summaries of the removed messages', async ({
  chat,
}) => {
  const { app, provider, newSession, turn } = chat
  for (const verb of ['retry', 'undo']) {
    const id = await newSession()
    provider.push({ toolCalls: [{ name: 'todo', arguments: {} }] }, { text: 'ok' }, { text: 'T' })
    await turn(id, 'x')
    const read = async () => (await app.get(`/api/session?session_id=${id}`)).body.session
    assert.is((await read()).tool_calls.length, 1)
    await app.post(`/api/session/${verb}`, { session_id: id })
    assert.equal((await read()).tool_calls, [])
  }
})

test.run()
