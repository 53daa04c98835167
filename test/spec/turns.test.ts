/** spec.md walked sentence by sentence: states and transitions, chat endpoints, events, and what is mirrored to the agent. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate } from '../_provider.ts'
import { createStateDb } from '../_state-db.ts'
import { startChat, types } from '../handlers/_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
const test = suite<{ chat: Chat }>('spec.md: turns and events')
test.before.each(async context => {
  context.chat = await startChat()
})
test.after.each(({ chat }) => chat.close())

const sessionOf = async ({ app }: Chat, id: string) =>
  (await app.get(`/api/session?session_id=${id}`)).body.session

test('cancel: entries and active_stream_id are cleared immediately; a _partial reply and a *Task cancelled.* marker are saved', async ({
  chat,
}) => {
  const { app, provider, newSession, send, follow } = chat
  const id = await newSession()
  const { opened, open } = gate()
  provider.push({ text: ['Half of ', 'it'], middle: opened })
  const stream = await send(id, 'Tell me')
  await follow(stream, 'token')
  const { body } = await app.post(`/api/chat/cancel?stream_id=${stream}`, { stream_id: stream })
  assert.is(body.cancelled, true)
  const session = await sessionOf(chat, id)
  assert.is(session.active_stream_id, null)
  const [user, partial, marker] = session.messages
  assert.is(user.content, 'Tell me')
  assert.is(partial._partial, true)
  assert.not.ok(partial._error)
  assert.match(partial.content, /^Half/)
  assert.is(marker.content, '*Task cancelled.*')
  assert.is(marker._error, true)
  assert.type(marker.timestamp, 'number')
  assert.is((await app.get('/health')).body.active_streams, 0)
  open()
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

test('agent failure: apperror is emitted and an error message flagged _error survives a reload', async ({
  chat,
}) => {
  const { provider, newSession, turn } = chat
  const id = await newSession()
  provider.push({ status: 401, body: { error: { message: 'bad key' } } })
  const seen = types(await turn(id, 'Hello'))
  assert.ok(seen.includes('apperror'))
  assert.not.ok(seen.includes('error'), 'an event named error is the transport’s')
  await chat.app.restart()
  const { messages } = await sessionOf(chat, id)
  assert.is(messages[0].content, 'Hello')
  assert.is(messages.at(-1)._error, true)
})

test('apperror: quota_exhausted differs from rate limits', async ({ chat }) => {
  const { provider, newSession, turn } = chat
  const typeOf = async (status: number, message: string) => {
    provider.clear()
    // Asked again while waiting may help; the wait is as short as the provider says.
    for (let at = 0; at < 4; at++)
      provider.push({ status, body: { error: { message } }, headers: { 'retry-after': '0' } })
    const seen = await turn(await newSession(), 'Hello')
    return seen.find(({ event }) => event === 'apperror')?.data.type
  }
  assert.is(await typeOf(402, 'Insufficient credits'), 'quota_exhausted')
  assert.is(await typeOf(429, 'Rate limit reached'), 'rate_limit')
})

test('a completed turn: emits done with session and usage; stores usage and timestamps', async ({
  chat,
}) => {
  const { provider, newSession, turn } = chat
  const id = await newSession()
  provider.push(
    { text: 'Yes.', usage: { prompt_tokens: 11, completion_tokens: 3 } },
    { text: 'Saying yes' },
  )
  const seen = await turn(id, 'Hello')
  const done = seen.find(({ event }) => event === 'done')
  const received = done?.data.session as { session_id: string; messages: { timestamp: number }[] }
  assert.is(received.session_id, id)
  for (const message of received.messages) assert.type(message.timestamp, 'number')
  const session = await sessionOf(chat, id)
  assert.is(session.input_tokens, 11)
  assert.is(session.output_tokens, 3)
})

test('stream_end and title have the session’s id and follow done; then the stream closes', async ({
  chat,
}) => {
  const { provider, newSession, turn } = chat
  const id = await newSession()
  provider.push({ text: 'Yes.' }, { text: 'Saying yes' })
  const seen = await turn(id, 'Hello')
  const order = types(seen)
  assert.ok(order.indexOf('done') < order.indexOf('title'))
  assert.is(order.at(-1), 'stream_end')
  for (const event of seen.filter(({ event: name }) => name === 'title' || name === 'stream_end'))
    assert.is(event.data.session_id, id)
  assert.is(seen.find(({ event }) => event === 'title')?.data.title, 'Saying yes')
})

test('tool calls: streams progress for each call', async ({ chat }) => {
  const { provider, newSession, turn } = chat
  provider.push(
    { toolCalls: [{ name: 'terminal', arguments: { command: 'echo hi' } }] },
    { text: 'ok' },
    { text: 'T' },
  )
  const seen = await turn(await newSession(), 'Run it')
  const started = seen.find(({ event }) => event === 'tool')
  const ended = seen.find(({ event }) => event === 'tool_complete')
  assert.is(started?.data.name, 'terminal')
  assert.is(started?.data.preview, 'echo hi')
  assert.is(ended?.data.is_error, false)
})

test('chat start: 409 while the session has an active stream, and the running one is not disturbed', async ({
  chat,
}) => {
  const { app, provider, newSession, send, follow } = chat
  const id = await newSession()
  const { opened, open } = gate()
  provider.push({ text: ['a', 'b'], gate: opened }, { text: 'Title' })
  const stream = await send(id, 'one')
  for (const path of ['/api/chat/start', '/api/chat']) {
    const { status, body } = await app.post(path, { session_id: id, message: 'two' })
    assert.is(status, 409, path)
    assert.is(body.error, 'session already has an active stream')
  }
  open()
  assert.ok(types(await follow(stream)).includes('done'))
})

test('synchronous chat: same history, model resolution and usage as the stream; an unknown session is 404', async ({
  chat,
}) => {
  const { app, provider, newSession } = chat
  assert.is((await app.post('/api/chat', { session_id: 'aaaaaaaaaaaa', message: 'x' })).status, 404)
  const id = await newSession()
  provider.push(
    { text: 'In one go.', usage: { prompt_tokens: 5, completion_tokens: 2 } },
    { text: 'T' },
  )
  const { body } = await app.post('/api/chat', { session_id: id, message: 'Hello' })
  assert.is(body.answer, 'In one go.')
  assert.is(body.status, 'done')
  assert.is((await sessionOf(chat, id)).input_tokens, 5)
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
  assert.is((await sessionOf(chat, id)).model, null)
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

test('GET /api/sessions: empty untitled sessions are omitted', async ({ chat }) => {
  const id = await chat.newSession()
  const { sessions } = (await chat.app.get('/api/sessions')).body
  assert.not.ok(sessions.some((row: { session_id: string }) => row.session_id === id))
})

test('session/new: an explicit profile is validated and overrides the active one', async ({
  chat,
}) => {
  const { app } = chat
  await app.post('/api/profile/create', { name: 'own' })
  assert.is((await app.post('/api/session/new', { profile: 'own' })).body.session.profile, 'own')
  for (const profile of ['../x', 'UPPER', 'own\n'])
    assert.is((await app.post('/api/session/new', { profile })).status, 400, profile)
})

test('streaming uses the home of the session’s profile, not of the cookie', async ({ chat }) => {
  const { app, provider, follow } = chat
  await app.post('/api/profile/create', { name: 'theirs', clone_config: true })
  writeFileSync(join(app.home, 'profiles', 'theirs', 'SOUL.md'), 'You are the other one.')
  const { body } = await app.post('/api/session/new', { profile: 'theirs' })
  provider.push({ text: 'ok' })
  const { body: started } = await app.post(
    '/api/chat/start',
    { session_id: body.session.session_id, message: 'x' },
    { headers: { Cookie: 'agent_profile=default' } },
  )
  await follow(started.stream_id, 'done')
  assert.match(JSON.stringify(provider.requests.at(-1)?.body.messages), /You are the other one/)
})

test('reasoning effort takes effect on the next turn', async ({ chat }) => {
  const { app, provider, newSession, send, follow } = chat
  await app.post('/api/reasoning', { effort: 'high' })
  provider.push({ text: 'ok' })
  await follow(await send(await newSession(), 'x'), 'done')
  assert.is(provider.requests.at(-1)?.body.reasoning_effort, 'high')
})

test('rate limits: the fallback model is tried first when one is configured', async ({ chat }) => {
  const { app, provider, newSession, turn } = chat
  const { createProvider } = await import('../_provider.ts')
  const other = await createProvider({ text: 'From the other one.' }, { text: 'T' })
  try {
    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\ncustom_providers:\n  - {name: spare, base_url: '${other.url}', models: [spare-model]}\nfallback_model: {provider: 'custom:spare', model: spare-model}\n`,
    )
    for (let at = 0; at < 4; at++)
      provider.push({
        status: 429,
        body: { error: { message: 'slow down' } },
        headers: { 'retry-after': '0' },
      })
    const seen = await turn(await newSession(), 'x')
    assert.not.ok(types(seen).includes('apperror'))
    assert.ok(types(seen).includes('warning'))
    assert.is(other.requests[0]?.body.model, 'spare-model')
  } finally {
    await other.close()
  }
})

test('sync_to_insights: absolute counts, cost, title and message_count are written after each turn, never doubled', async ({
  chat,
}) => {
  const { app, provider, newSession, turn } = chat
  const db = createStateDb(app.home, 6)
  try {
    await app.post('/api/settings', { sync_to_insights: true })
    const id = await newSession()
    const usage = { prompt_tokens: 10, completion_tokens: 4 }
    provider.push({ text: 'a', usage }, { text: 'A title here' }, { text: 'b', usage })
    await turn(id, 'one')
    await turn(id, 'two')
    const row = () =>
      db
        .prepare(
          'select source, input_tokens, output_tokens, message_count, model from sessions where id = ?',
        )
        .get(id) as Record<string, unknown> | undefined
    // Written when the session is free; the second title look ends the turn.
    while (row()?.message_count !== 4) await new Promise(setImmediate)
    assert.equal(
      { ...row() },
      {
        source: 'webui',
        input_tokens: 20,
        output_tokens: 8,
        message_count: 4,
        model: 'test-model',
      },
    )
  } finally {
    db.close()
  }
})

test('personality: the prompt is sent as the ephemeral system prompt and stored in no transcript', async ({
  chat,
}) => {
  const { app, provider, newSession, send, follow, messages } = chat
  const path = join(app.home, 'config.yaml')
  writeFileSync(
    path,
    `${readFileSync(path, 'utf8')}agent: {personalities: {bard: Sing every answer.}}\n`,
  )
  const id = await newSession()
  await app.post('/api/personality/set', { session_id: id, name: 'bard' })
  provider.push({ text: 'La la.' })
  await follow(await send(id, 'x'), 'done')
  assert.match(JSON.stringify(provider.requests.at(-1)?.body.messages), /Sing every answer/)
  assert.not.match(JSON.stringify(await messages(id)), /Sing every answer/)
})

test('profile switch and delete: 409 while an agent runs, whichever profile', async ({ chat }) => {
  const { app, provider, newSession, send, follow } = chat
  await app.post('/api/profile/create', { name: 'busy' })
  const { opened, open } = gate()
  provider.push({ text: 'x', gate: opened }, { text: 'T' })
  const stream = await send(await newSession(), 'x')
  assert.is((await app.post('/api/profile/switch', { name: 'busy' })).status, 409)
  assert.is((await app.post('/api/profile/delete', { name: 'busy' })).status, 409)
  open()
  await follow(stream)
  assert.is((await app.post('/api/profile/switch', { name: 'busy' })).status, 200)
})

test('a turn has its own skills and workspace, the default directory of its tools', async ({
  chat,
}) => {
  const { app, provider, send, follow, messages } = chat
  const work = join(app.userHome, 'work')
  mkdirSync(work)
  const { body } = await app.post('/api/session/new', { workspace: work })
  const id = body.session.session_id
  provider.push(
    { toolCalls: [{ name: 'terminal', arguments: { command: 'pwd' } }] },
    { text: 'ok' },
  )
  await follow(await send(id, 'where?'), 'done')
  assert.match(
    String((await messages(id)).find(message => message.role === 'tool')?.content),
    new RegExp(work),
  )
})

test.run()
