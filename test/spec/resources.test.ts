/** spec.md walked sentence by sentence: resources and their fields. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat } from '../handlers/_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
const test = suite<{ chat: Chat }>('spec.md: resources')
test.before(async context => {
  context.chat = await startChat()
})
test.after(({ chat }) => chat.close())

const titled = async ({ provider, turn, newSession, app }: Chat, title: string) => {
  const id = await newSession()
  provider.push({ text: 'An answer.' }, { text: title })
  await turn(id, 'A question about something')
  return (await app.get(`/api/session?session_id=${id}`)).body.session.title
}

test('Session: the record has every field of the table, with its type', async ({ chat }) => {
  const id = await chat.newSession()
  const { session } = (await chat.app.get(`/api/session?session_id=${id}`)).body
  assert.match(session.session_id, /^[0-9a-f]{12}$/)
  for (const field of ['title', 'workspace', 'profile'])
    assert.type(session[field], 'string', field)
  for (const field of ['input_tokens', 'output_tokens', 'estimated_cost'])
    assert.type(session[field], 'number', field)
  for (const field of ['project_id', 'personality', 'active_stream_id'])
    assert.is(session[field], null, field)
  assert.ok(Array.isArray(session.messages))
  assert.ok('model' in session && 'pinned' in session && 'archived' in session)
})

test('Session.title: label wrappers such as "Title:" and a bold "Session Title:" are stripped', async ({
  chat,
}) => {
  assert.is(await titled(chat, 'Title: Fixing the roof'), 'Fixing the roof')
  assert.is(await titled(chat, '**Session Title:** Painting a wall'), 'Painting a wall')
})

test('Session.title: generation uses the first real answer and skips empty tool-call placeholders', async ({
  chat,
}) => {
  const { provider, newSession, turn } = chat
  const id = await newSession()
  provider.push(
    { toolCalls: [{ name: 'todo', arguments: {} }] },
    { text: 'The real answer.' },
    { text: 'A real title' },
  )
  await turn(id, 'Do something')
  const asked = JSON.stringify(provider.requests.at(-1)?.body.messages)
  assert.match(asked, /The real answer\./)
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

test('Session.profile: a missing profile is reported as "default"', async ({ chat }) => {
  const { app } = chat
  writeFileSync(
    join(app.state, 'sessions', 'abcdefabcdef.json'),
    JSON.stringify({
      session_id: 'abcdefabcdef',
      title: 'Old',
      workspace: app.userHome,
      model: null,
      messages: [{ role: 'user', content: 'hello' }],
      created_at: 1_700_000_000,
      updated_at: 1_700_000_000,
    }),
  )
  const { sessions } = (await app.get('/api/sessions')).body
  assert.is(sessions.find((row: { title: string }) => row.title === 'Old').profile, 'default')
})

test('Session: the compact form has personality, model, profile and the message count', async ({
  chat,
}) => {
  const { app, newSession, provider, turn } = chat
  const id = await newSession()
  provider.push({ text: 'Yes.' }, { text: 'Said yes' })
  await turn(id, 'Hello')
  const row = (await app.get('/api/sessions')).body.sessions.find(
    (each: { session_id: string }) => each.session_id === id,
  )
  for (const key of ['session_id', 'title', 'profile', 'personality', 'model', 'message_count'])
    assert.ok(key in row, key)
  assert.is(row.message_count, 2)
})

test('Session index: rows whose session file is gone are pruned on listing', async ({ chat }) => {
  const { app } = chat
  const { body } = await app.post('/api/session/import', {
    title: 'Soon gone',
    messages: [{ role: 'user', content: 'x' }],
  })
  const ids = async () =>
    (await app.get('/api/sessions')).body.sessions.map(
      (row: { session_id: string }) => row.session_id,
    )
  assert.ok((await ids()).includes(body.session.session_id))
  rmSync(join(app.state, 'sessions', `${body.session.session_id}.jsonl`))
  assert.not.ok((await ids()).includes(body.session.session_id))
})

test('Message: only role, content, tool_calls, tool_call_id, name and refusal are sent; _error messages and attachments are not', async ({
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
  const allowed = new Set(['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'refusal'])
  for (const message of messages)
    assert.equal(
      Object.keys(message).filter(key => !allowed.has(key)),
      [],
    )
  const text = JSON.stringify(messages)
  assert.not.match(text, /it broke|secret thoughts|a\.png/)
  assert.match(text, /half an ans/)
})

test('Message.timestamp: set on every message without one when a turn completes, else kept', async ({
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

test('Message.tool_calls: persisted with a snapshot of the call arguments', async ({ chat }) => {
  const { provider, newSession, turn, messages, app } = chat
  const id = await newSession()
  provider.push(
    {
      toolCalls: [
        { name: 'todo', arguments: { todos: [{ id: '1', content: 'x', status: 'pending' }] } },
      ],
    },
    { text: 'done' },
    { text: 'A title' },
  )
  await turn(id, 'plan')
  const call = (await messages(id)).find(message => message.tool_calls) as {
    tool_calls: { function: { name: string; arguments: string } }[]
  }
  assert.is(call.tool_calls[0]?.function.name, 'todo')
  assert.is(JSON.parse(call.tool_calls[0]!.function.arguments).todos[0].content, 'x')
  const { session } = (await app.get(`/api/session?session_id=${id}`)).body
  assert.is(session.tool_calls[0].name, 'todo')
  assert.ok('args' in session.tool_calls[0])
})

test('Settings: the defaults of the table', async ({ chat }) => {
  const { body } = await chat.app.get('/api/settings')
  const {
    show_token_usage,
    show_cli_sessions,
    check_for_updates,
    sync_to_insights,
    theme,
    bot_name,
  } = body
  assert.equal(
    { show_token_usage, show_cli_sessions, check_for_updates, sync_to_insights, theme, bot_name },
    {
      show_token_usage: false,
      show_cli_sessions: false,
      check_for_updates: true,
      sync_to_insights: false,
      theme: 'dark',
      bot_name: 'Agent',
    },
  )
  assert.is(body.send_key, 'enter')
})

test('Settings.theme: no enum; unknown custom names are accepted and kept as given', async ({
  chat,
}) => {
  for (const theme of ['light', 'solarized', 'monokai', 'nord', 'my-very-own', 'dark'])
    assert.is((await chat.app.post('/api/settings', { theme })).body.theme, theme)
})

test('Settings: boolean keys are coerced to booleans', async ({ chat }) => {
  const { app } = chat
  for (const [given, stored] of [
    ['yes', true],
    [1, true],
    ['off', false],
    [0, false],
    ['', false],
  ] as const)
    assert.is(
      (await app.post('/api/settings', { show_token_usage: given })).body.show_token_usage,
      stored,
    )
})

test('Settings: the legacy key bubble_layout is dropped, a saved default model moves to config.yaml', async () => {
  const chat = await startChat()
  try {
    const { app } = chat
    rmSync(join(app.home, 'config.yaml'))
    writeFileSync(
      join(app.state, 'settings.json'),
      JSON.stringify({ bubble_layout: true, default_model: 'old-model', theme: 'nord' }),
    )
    await app.restart()
    const { body } = await app.get('/api/settings')
    assert.not('bubble_layout' in body)
    assert.is(body.theme, 'nord')
    assert.is(body.default_model, 'old-model')
    assert.match(readFileSync(join(app.home, 'config.yaml'), 'utf8'), /default: old-model/)
    await app.post('/api/settings', { theme: 'dark' })
    assert.not.match(
      readFileSync(join(app.state, 'settings.json'), 'utf8'),
      /bubble_layout|default_model/,
    )
  } finally {
    await chat.close()
  }
})

test('Profile: path is the base home plus "profiles" plus the name; nine fields; eight directories', async ({
  chat,
}) => {
  const { app } = chat
  const { body } = await app.post('/api/profile/create', { name: 'nine' })
  assert.is(body.profile.path, join(app.home, 'profiles', 'nine'))
  assert.is(Object.keys(body.profile).length, 9)
  assert.equal(
    readdirSync(body.profile.path, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(entry => entry.name)
      .sort(),
    ['cron', 'logs', 'memories', 'plans', 'sessions', 'skills', 'skins', 'workspace'],
  )
})

test('Workspace: cleanup drops test artifacts, deleted folders and other profiles; "default" becomes "Home"; it is saved', async ({
  chat,
}) => {
  const { app } = chat
  const kept = join(app.userHome, 'kept')
  const artifact = join(app.userHome, 'webui-mvp-test')
  const theirs = join(app.home, 'profiles', 'other', 'workspace')
  for (const dir of [kept, artifact, theirs]) mkdirSync(dir, { recursive: true })
  const file = join(app.state, 'workspaces.json')
  writeFileSync(
    file,
    JSON.stringify([
      { path: kept, name: 'default' },
      { path: artifact, name: 'Artifact' },
      { path: join(app.userHome, 'gone'), name: 'Gone' },
      { path: theirs, name: 'Theirs' },
    ]),
  )
  const { workspaces } = (await app.get('/api/workspaces')).body
  assert.equal(
    workspaces.map(({ path, name, label }: Record<string, string>) => [path, name, label]),
    [[kept, 'Home', 'Home']],
  )
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).length, 1)
})

test('Workspace: a named profile never inherits the global list; an empty result is one "Home"', async ({
  chat,
}) => {
  const { app } = chat
  await app.post('/api/profile/create', { name: 'fresh' })
  const { workspaces } = (
    await app.get('/api/workspaces', { headers: { Cookie: 'agent_profile=fresh' } })
  ).body
  assert.is(workspaces.length, 1)
  assert.is(workspaces[0].name, 'Home')
  assert.ok(existsSync(workspaces[0].path))
})

test('Workspace: the default of a profile is read from workspace, then default_workspace, then terminal.cwd', async ({
  chat,
}) => {
  const { app } = chat
  const dirs = ['one', 'two', 'three'].map(name => join(app.userHome, name))
  for (const dir of dirs) mkdirSync(dir)
  const [one, two, three] = dirs
  await app.post('/api/profile/create', { name: 'placed' })
  const place = async (yaml: string) => {
    writeFileSync(join(app.home, 'profiles', 'placed', 'config.yaml'), yaml)
    const { body } = await app.post('/api/profile/switch', { name: 'placed' })
    return body.default_workspace
  }
  const all = `workspace: ${one}\ndefault_workspace: ${two}\nterminal: {cwd: ${three}}\n`
  assert.is(await place(all), one)
  assert.is(await place(all.slice(all.indexOf('\n') + 1)), two)
  assert.is(await place(`terminal: {cwd: ${three}}\n`), three)
  await app.post('/api/profile/switch', { name: 'default' })
})

test('Project: name trimmed, not empty, at most 128; color ^#[0-9a-fA-F]{3,8}$', async ({
  chat,
}) => {
  const { app } = chat
  assert.is((await app.post('/api/projects/create', { name: '  P  ' })).body.project.name, 'P')
  for (const bad of [{ name: '' }, { name: '   ' }, { name: 'x'.repeat(129) }])
    assert.is((await app.post('/api/projects/create', bad)).status, 400)
  for (const color of ['red', '#12', '#123456789', '#12g', '#123\n'])
    assert.is((await app.post('/api/projects/create', { name: 'c', color })).status, 400, color)
  assert.is((await app.post('/api/projects/create', { name: 'c', color: '#aBcDeF12' })).status, 200)
})

test('Personality: string or object with system_prompt, tone and style; names keep their case', async ({
  chat,
}) => {
  const { app, provider, useConfig, send, follow, newSession } = withConfig(chat)
  useConfig(
    'agent:\n  personalities:\n    Pirate: Speak like a pirate.\n    clerk: {system_prompt: Be a clerk., tone: dry, style: terse}\n',
  )
  const { personalities } = (await app.get('/api/personalities')).body
  assert.equal(personalities.map(({ name }: { name: string }) => name).sort(), ['Pirate', 'clerk'])
  const id = await newSession()
  await app.post('/api/personality/set', { session_id: id, name: 'clerk' })
  provider.push({ text: 'Noted.' })
  await follow(await send(id, 'hello'), 'done')
  const { messages } = provider.requests.at(-1)!.body
  assert.match(String(messages[0].content), /Be a clerk\.[\s\S]*Tone: dry[\s\S]*Style: terse/)
  const cleared = await app.post('/api/personality/set', { session_id: id, name: '' })
  assert.is(cleared.body.personality, null)
  for (const name of ['-x', 'a b', 'x'.repeat(65)])
    assert.is((await app.post('/api/personality/set', { session_id: id, name })).status, 400, name)
})

/** The configuration of the scripted model, and more of it. */
const withConfig = (chat: Chat) => {
  const path = join(chat.app.home, 'config.yaml')
  const before = readFileSync(path, 'utf8')
  return { ...chat, useConfig: (more: string) => writeFileSync(path, `${before}${more}`) }
}

test('Skill: name, category, content and linked_files, always an object', async ({ chat }) => {
  const { app } = chat
  const saved = await app.post('/api/skills/save', {
    name: 'walk',
    category: 'spec',
    content: '---\nname: walk\ndescription: Walks.\n---\nWalk on.\n',
  })
  assert.is(saved.status, 200)
  const { body } = await app.get('/api/skills/content?name=walk')
  assert.match(body.content, /Walk on/)
  assert.type(body.linked_files, 'object')
  const { skills } = (await app.get('/api/skills')).body
  assert.is(skills.find((skill: { name: string }) => skill.name === 'walk').category, 'spec')
})

test('Cron job: create accepts a skills array', async ({ chat }) => {
  const { body } = await chat.app.post('/api/crons/create', {
    prompt: 'Look around',
    schedule: 'every 2h',
    skills: ['walk'],
  })
  assert.equal(body.job.skills, ['walk'])
})

test('Model group: provider_id is exact; other providers’ models are @provider:model', async ({
  chat,
}) => {
  const { app, useConfig } = withConfig(chat)
  useConfig('providers:\n  deepseek:\n    models: [deepseek-chat, vendor/slash]\n')
  const { groups, active_provider } = (await app.get('/api/models')).body
  const group = groups.find(
    ({ provider_id }: { provider_id: string }) => provider_id === 'deepseek',
  )
  assert.ok(active_provider !== 'deepseek')
  const ids = group.models.map(({ id }: { id: string }) => id)
  assert.ok(ids.includes('@deepseek:deepseek-chat'))
  assert.ok(ids.includes('@deepseek:vendor/slash'))
})

test('Usage: six numbers, read from the agent after one turn', async ({ chat }) => {
  const { provider, newSession, turn } = chat
  const id = await newSession()
  provider.push({ text: 'x', usage: { prompt_tokens: 100, completion_tokens: 7 } }, { text: 'T' })
  const done = (await turn(id, 'count')).find(({ event }) => event === 'done')
  const usage = done?.data.usage as Record<string, number>
  assert.equal(Object.keys(usage).sort(), [
    'context_length',
    'estimated_cost',
    'input_tokens',
    'last_prompt_tokens',
    'output_tokens',
    'threshold_tokens',
  ])
  for (const value of Object.values(usage)) assert.type(value, 'number')
  assert.is(usage.last_prompt_tokens, 100)
  assert.is(usage.output_tokens, 7)
})

test.run()
