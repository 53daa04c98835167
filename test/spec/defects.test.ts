/** contract.md §9.3 walked line by line: each defect of the reference, shown absent. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'
import { gate } from '../_provider.ts'
import { startChat, types } from '../handlers/_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
const test = suite<{ chat: Chat }>('contract §9.3: defects shown absent')
test.before.each(async context => {
  context.chat = await startChat()
})
test.after.each(({ chat }) => chat.close())

test('Profiles: no cache is process-global; each cookie’s profile has its own configuration, models, tasks and skills', async ({
  chat,
}) => {
  const { app } = chat
  await app.post('/api/profile/create', { name: 'two' })
  writeFileSync(join(app.home, 'profiles', 'two', 'config.yaml'), 'model: {default: two-model}\n')
  const as = (name: string) => ({ headers: { Cookie: `agent_profile=${name}` } })
  await app.post('/api/crons/create', { prompt: 'p', schedule: 'every 1h' }, as('two'))
  await app.post(
    '/api/skills/save',
    { name: 'only-two', content: '---\nname: only-two\ndescription: d\n---\nx\n' },
    as('two'),
  )
  for (const [name, model, count] of [
    ['default', 'test-model', 0],
    ['two', 'two-model', 1],
    ['default', 'test-model', 0],
  ] as const) {
    assert.is((await app.get('/api/models', as(name))).body.default_model, model)
    assert.is((await app.get('/api/crons', as(name))).body.jobs.length, count)
    const { skills } = (await app.get('/api/skills', as(name))).body
    assert.is(
      skills.some((skill: { name: string }) => skill.name === 'only-two'),
      count === 1,
    )
  }
})

test('Reasoning effort: the configured effort reaches the agent in the streaming path', async ({
  chat,
}) => {
  const { app, provider, newSession, turn } = chat
  await app.post('/api/reasoning', { effort: 'low' })
  provider.push({ text: 'ok' }, { text: 'T' })
  await turn(await newSession(), 'x')
  assert.is(provider.requests[0]?.body.reasoning_effort, 'low')
})

test('Cancel: late output does not overwrite the marker, which is saved even without any text', async ({
  chat,
}) => {
  const { app, provider, newSession, send, messages } = chat
  const id = await newSession()
  const { opened, open } = gate()
  provider.push({ text: 'Too late.', gate: opened })
  const stream = await send(id, 'x')
  await provider.arrived(1)
  await app.get(`/api/chat/cancel?stream_id=${stream}`)
  const at = await messages(id)
  assert.is(at.at(-1)?.content, '*Task cancelled.*')
  open()
  await provider.requests[0]?.closed
  assert.equal(await messages(id), at)
})

test('Failure: the user message of a failed turn is kept, and the error follows it', async ({
  chat,
}) => {
  const { provider, newSession, turn, messages } = chat
  const id = await newSession()
  provider.push({ status: 400, body: { error: { message: 'no' } } })
  await turn(id, 'Keep me')
  const [user, error] = await messages(id)
  assert.is(user?.content, 'Keep me')
  assert.is(error?._error, true)
})

test('Streams: a turn that ended before the client attached can still be read', async ({
  chat,
}) => {
  const { app, provider, newSession, send, follow } = chat
  const id = await newSession()
  provider.push({ text: 'Quick.' }, { text: 'T' })
  const stream = await send(id, 'x')
  const active = async () =>
    (await app.get(`/api/session/status?session_id=${id}`)).body.agent_running
  while (await active()) await new Promise(setImmediate)
  const seen = types(await follow(stream))
  for (const type of ['token', 'done', 'stream_end']) assert.ok(seen.includes(type), type)
})

test('Id rotation: title and stream_end carry the id the client started with', async ({ chat }) => {
  const { provider, newSession, turn } = chat
  const id = await newSession()
  provider.push({ text: 'Yes.' }, { text: 'A name for it' })
  const seen = await turn(id, 'x')
  const ids = seen
    .filter(({ event }) => ['title', 'title_status', 'stream_end'].includes(event))
    .map(({ data }) => data.session_id)
  assert.equal(new Set(ids), new Set([id]))
})

test('Session files: unknown keys of a former file survive the conversion, and the original is kept', async ({
  chat,
}) => {
  const { app, provider, turn } = chat
  const file = join(app.state, 'sessions', 'fedcba987654.json')
  const text = JSON.stringify({
    session_id: 'fedcba987654',
    title: 'Old',
    workspace: app.userHome,
    messages: [{ role: 'user', content: 'hi', odd: { deep: [1] } }],
    somebody_elses: { key: 'kept' },
    created_at: 1,
    updated_at: 2,
  })
  writeFileSync(file, text)
  provider.push({ text: 'ok' })
  await turn('fedcba987654', 'and now')
  assert.is(readFileSync(`${file}.migrated`, 'utf8'), text)
  const journal = readFileSync(join(app.state, 'sessions', 'fedcba987654.jsonl'), 'utf8')
  assert.match(journal, /"somebody_elses":\{"key":"kept"\}/)
  assert.match(journal, /"odd":\{"deep":\[1\]\}/)
})

test('Cron: an update with a schedule as plain text is parsed', async ({ chat }) => {
  const { app } = chat
  const { body } = await app.post('/api/crons/create', { prompt: 'p', schedule: 'every 1h' })
  const { status, body: changed } = await app.post('/api/crons/update', {
    job_id: body.job.id,
    schedule: '0 9 * * *',
    prompt: 'p',
    name: 'n',
  })
  assert.is(status, 200)
  assert.is(changed.job.schedule.kind, 'cron')
  assert.is(changed.job.schedule.expr, '0 9 * * *')
})

test('Cron run: output and status are recorded', async ({ chat }) => {
  const { app, provider } = chat
  provider.push({ text: 'The report.' })
  const { body } = await app.post('/api/crons/create', { prompt: 'Report', schedule: 'every 1h' })
  await app.post('/api/crons/run', { job_id: body.job.id })
  const job = async () => (await app.get('/api/crons')).body.jobs[0]
  while ((await job()).last_status === null) await new Promise(setImmediate)
  assert.is((await job()).last_status, 'ok')
  assert.type((await job()).last_run_at, 'string')
  const { outputs } = (await app.get(`/api/crons/output?job_id=${body.job.id}`)).body
  assert.match(outputs[0].content, /The report\./)
})

test('Synchronous chat: unknown is 404, a running stream is 409, usage counts', async ({
  chat,
}) => {
  const { app, provider, newSession, send, follow } = chat
  assert.is((await app.post('/api/chat', { session_id: '0123456789ab', message: 'x' })).status, 404)
  const id = await newSession()
  const { opened, open } = gate()
  provider.push({ text: 'a', gate: opened }, { text: 'T' })
  const stream = await send(id, 'x')
  assert.is((await app.post('/api/chat', { session_id: id, message: 'y' })).status, 409)
  open()
  await follow(stream)
  provider.push({ text: 'b', usage: { prompt_tokens: 9, completion_tokens: 1 } })
  await app.post('/api/chat', { session_id: id, message: 'z' })
  assert.is((await app.get(`/api/session/usage?session_id=${id}`)).body.input_tokens, 9)
})

test('Raw file: a path that escapes is rejected, never 500', async ({ chat }) => {
  const { app, newSession } = chat
  const id = await newSession()
  for (const path of ['../../etc/passwd', '/etc/passwd', '..%2f..%2fetc', 'a/../../../x']) {
    const { status } = await app.get(
      `/api/file/raw?session_id=${id}&path=${encodeURIComponent(path)}`,
    )
    assert.ok(status >= 400 && status < 500, `${path}: ${status}`)
  }
})

test('model.api_key does not make every provider look configured', async ({ chat }) => {
  const { app } = chat
  writeFileSync(
    join(app.home, 'config.yaml'),
    'model: {provider: deepseek, default: deepseek-chat, api_key: sk-0123456789abcdef}\n',
  )
  const { groups } = (await app.get('/api/models')).body
  assert.equal(
    groups.map((group: { provider_id: string }) => group.provider_id),
    ['deepseek'],
  )
  const { providers } = (await app.get('/api/providers')).body
  const keyed = providers.filter((each: { has_key: boolean }) => each.has_key)
  assert.equal(
    keyed.map((each: { id: string }) => each.id),
    ['deepseek'],
  )
})

test('Aliases: x-ai and qwen keep their static lists', async ({ chat }) => {
  const { app } = chat
  for (const provider of ['x-ai', 'qwen']) {
    writeFileSync(join(app.home, 'config.yaml'), `model: {provider: ${provider}}\n`)
    const { groups } = (await app.get('/api/models')).body
    const { models } = groups.find((group: { models: unknown[] }) => group.models.length > 0) ?? {}
    assert.ok(models?.length > 0, `${provider}: ${JSON.stringify(groups).slice(0, 300)}`)
  }
})

test('Profile delete: uses the caller’s cookie; no client stays on a deleted profile', async ({
  chat,
}) => {
  const { app } = chat
  await app.post('/api/profile/create', { name: 'gone' })
  const mine = { headers: { Cookie: 'agent_profile=gone' } }
  const { headers } = await app.post('/api/profile/delete', { name: 'gone' }, mine)
  assert.match(String(headers['set-cookie']), /agent_profile=default/)
  assert.is((await app.get('/api/profile/active', mine)).body.name, 'default')
})

test('Duplicate: messages are copied', async ({ chat }) => {
  const { app } = chat
  const { body } = await app.post('/api/session/import', {
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
    ],
  })
  const copy = await app.post('/api/session/duplicate', { session_id: body.session.session_id })
  const { session } = (await app.get(`/api/session?session_id=${copy.body.session.session_id}`))
    .body
  assert.equal(
    session.messages.map((message: { content: string }) => message.content),
    ['one', 'two'],
  )
})

test('Login: a success resets the limiter', async () => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'right one' } })
  try {
    const login = async (password: string) =>
      (await app.post('/api/auth/login', { password })).status
    for (let round = 0; round < 3; round++) {
      for (let at = 0; at < 4; at++) assert.is(await login('wrong'), 401)
      assert.is(await login('right one'), 200)
    }
  } finally {
    await app.close()
  }
})

test('retry and undo: remove the tool call summaries of the removed messages', async ({ chat }) => {
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

test('Skills: delete removes exactly the named skill, never by a pattern', async ({ chat }) => {
  const { app } = chat
  for (const name of ['a', 'ab'])
    await app.post('/api/skills/save', {
      name,
      content: `---\nname: ${name}\ndescription: d\n---\nx\n`,
    })
  for (const name of ['*', 'a*', 'a?', '../skills/a', ''])
    assert.ok((await app.post('/api/skills/delete', { name })).status >= 400, name)
  await app.post('/api/skills/delete', { name: 'a' })
  assert.not.ok(existsSync(join(app.home, 'skills', 'a')))
  assert.ok(existsSync(join(app.home, 'skills', 'ab', 'SKILL.md')))
})

test('.env writer: keeps comments and order', async ({ chat }) => {
  const { app } = chat
  const path = join(app.home, '.env')
  writeFileSync(path, '# mine\nB=2\n\n# key\nDEEPSEEK_API_KEY=sk-old-0123456\nA=1\n')
  await app.post('/api/providers', { provider: 'deepseek', api_key: 'sk-new-0123456' })
  assert.is(
    readFileSync(path, 'utf8'),
    '# mine\nB=2\n\n# key\nDEEPSEEK_API_KEY=sk-new-0123456\nA=1\n',
  )
})

test.run()
