/** The system prompt over HTTP: built once per session, stable across turns and restarts, never returned by the API. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type RuleName, rulesOf } from '../../lib/agent/prompt.ts'
import { startApp, type TestApp } from '../_app.ts'
import { createProvider, type Scripted } from '../_provider.ts'

type Context = { app: TestApp; server: Scripted; put: (path: string, text: string) => void }
const test = suite<Context>('prompt of a turn')

test.before(async context => {
  context.app = await startApp()
  context.server = await createProvider()
  context.put = (path, text) => {
    const full = join(context.app.home, path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, text)
  }
})
test.after(async ({ app, server }) => {
  await app.close()
  await server.close()
})
test.before.each(context => {
  for (const name of ['memories', 'skills', 'SOUL.md', 'project'])
    rmSync(join(context.app.home, name), { recursive: true, force: true })
  mkdirSync(join(context.app.home, 'project'))
  configure(context)
})

const textOf = (rule: RuleName): string =>
  rulesOf(['todo'], { persists: true, isWatched: true }).find(({ name }) => name === rule)?.text ??
  'missing'
const PERSIST = textOf('persist')

const configure = ({ put, server }: Context, more: Record<string, unknown> = {}, at = ''): void =>
  put(
    join(at, 'config.yaml'),
    JSON.stringify({
      model: { provider: 'custom', base_url: server.url, default: 'test-model' },
      ...more,
    }),
  )

const open = async ({ app }: Context, more: Record<string, unknown> = {}) => {
  const workspace = join(app.home, 'project')
  const { status, body } = await app.post('/api/session/new', { workspace, ...more })
  assert.is(status, 200, JSON.stringify(body))
  const id: string = body.session.session_id
  // Named by hand: no model is asked for a title.
  await app.post('/api/session/rename', { session_id: id, title: 'A test' })
  return id
}

/** The system prompt of one turn in this session. */
const promptOf = async ({ app, server }: Context, session_id: string, more: object = {}) => {
  server.clear()
  server.requests.splice(0)
  server.push({ text: 'Yes.' })
  const message = { session_id, message: 'hello', ...more }
  const { status, body } = await app.post('/api/chat/start', message)
  assert.is(status, 200, JSON.stringify(body))
  for await (const { event } of app.events(`/api/chat/stream?stream_id=${body.stream_id}`))
    if (event === 'stream_end') break
  const [first] = server.requests[0]?.body.messages ?? []
  assert.is(first.role, 'system')
  return String(first.content)
}

test('the prompt contains identity, notes, skills and workspace files in order', async context => {
  const { put } = context
  put('SOUL.md', 'I am Ada.')
  put('memories/MEMORY.md', 'Loves tea.')
  put('memories/USER.md', 'Is called Grace.')
  put('skills/dev/review/SKILL.md', '---\nname: review\ndescription: Reviews code\n---\nDo it.')
  put('skills/dev/DESCRIPTION.md', '---\ndescription: For programmers\n---\n')
  put('project/AGENTS.md', 'Use npm test.')
  configure(context, {
    agent: { system_prompt: 'Answer in French.', tool_use_enforcement: false },
  })
  const prompt = await promptOf(context, await open(context))
  const order = [
    'I am Ada.',
    'Answer in French.',
    'Loves tea.',
    'Is called Grace.',
    'dev: For programmers\n- review: Reviews code',
    '## AGENTS.md\nUse npm test.',
    'You are test-model, served by custom.',
    'The active workspace is',
  ].map(part => prompt.indexOf(part))
  assert.ok(
    order.every(at => at >= 0),
    prompt,
  )
  assert.equal(
    order,
    order.toSorted((a, b) => a - b),
  )
  assert.not.match(prompt, PERSIST)
  assert.match(prompt, textOf('progress'))
})

test('a session keeps its prompt byte for byte, also after a restart; a new one has the changes', async context => {
  const { app, put } = context
  put('memories/MEMORY.md', 'Loves tea.')
  put('project/AGENTS.md', 'Use npm test.')
  const id = await open(context)
  const first = await promptOf(context, id)
  put('memories/MEMORY.md', 'Loves coffee.')
  put('project/AGENTS.md', 'Use make.')
  put('project/added.txt', 'Created by a turn.')
  put('skills/new/SKILL.md', '---\nname: new-skill\ndescription: d\n---\nx')
  assert.is(await promptOf(context, id), first)
  await app.restart()
  assert.is(await promptOf(context, id), first)
  const other = await promptOf(context, await open(context))
  assert.match(other, 'Loves coffee.')
  assert.match(other, 'Use make.')
  assert.match(other, '- Workspace entries: AGENTS.md, added.txt\n')
  assert.match(other, 'new-skill')
  assert.not.match(other, 'Loves tea.')
})

test('applies a changed model, workspace, identity or configuration at once', async context => {
  const { app, put } = context
  const id = await open(context)
  await promptOf(context, id)
  assert.match(await promptOf(context, id, { model: 'other-model' }), 'You are other-model,')
  put('elsewhere/AGENTS.md', 'Here it is different.')
  const workspace = join(app.home, 'elsewhere')
  assert.match(await promptOf(context, id, { workspace }), 'Here it is different.')
  put('SOUL.md', 'I am somebody else.')
  assert.match(await promptOf(context, id), 'I am somebody else.')
  configure(context, { agent: { system_prompt: 'In verse.', tool_use_enforcement: true } })
  const prompt = await promptOf(context, id)
  assert.match(prompt, 'In verse.')
  assert.match(prompt, PERSIST)
})

test('auto-approval is told once, where it changes, in the message and not in the prompt', async context => {
  const { app, server } = context
  const id = await open(context)
  const lastTag = () => {
    const [first] = server.requests
    const said = first?.body.messages.at(-1).content as string
    return /\[Auto-approval: (\w+)\]/.exec(said)?.[1] ?? null
  }
  const sendWith = async (enabled: boolean) => {
    await app.post('/api/session/yolo', { session_id: id, enabled })
    const prompt = await promptOf(context, id)
    return { prompt, tag: lastTag(), messages: server.requests[0]?.body.messages as unknown[] }
  }
  const turns = []
  for (const enabled of [false, true, true, false, false]) turns.push(await sendWith(enabled))
  assert.equal(
    turns.map(({ tag }) => tag),
    [null, 'on', null, 'off', null],
  )
  for (const [at, { messages }] of turns.slice(1).entries())
    assert.equal(messages.slice(0, turns[at]?.messages.length), turns[at]?.messages)
  assert.is((await sendWith(true)).tag, 'on')
  // The model no longer reads the message that said so.
  await app.post('/api/session/undo', { session_id: id })
  assert.is((await sendWith(true)).tag, 'on')
  assert.is((await sendWith(true)).tag, null)
})

test('no response, event, export or list contains the prompt; deleting a session removes it', async context => {
  const { app, put } = context
  put('memories/MEMORY.md', 'The word is periwinkle.')
  const id = await open(context)
  assert.match(await promptOf(context, id), 'periwinkle')
  for (const path of [
    `/api/session?session_id=${id}`,
    `/api/session/export?session_id=${id}`,
    '/api/sessions',
    `/api/sessions/search?q=periwinkle&content=1`,
  ])
    assert.not.match(JSON.stringify((await app.get(path)).body), 'word is periwinkle', path)
  const journal = readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')
  assert.not.match(journal, 'periwinkle')
  const dir = join(app.state, 'cache', 'prompts')
  assert.ok(readdirSync(dir).includes(`${id}.json`))
  await app.post('/api/session/delete', { session_id: id })
  assert.not.ok(existsSync(join(dir, `${id}.json`)))
})

test('prefill messages precede the conversation and are never stored; a broken file is ignored', async context => {
  const { app, server, put } = context
  const prefill = [
    { role: 'user', content: 'Who are you?' },
    { role: 'assistant', content: 'A parrot.' },
  ]
  configure(context, { agent: { prefill_messages_file: 'prefill.json' } })
  const id = await open(context)
  const sent = () => server.requests[0]?.body.messages.slice(1)
  for (const text of ['{', '[{"role":"tool"}]', '{"role":"user"}']) {
    put('prefill.json', text)
    await promptOf(context, id)
    assert.match(sent()[0].content, 'hello')
  }
  put('prefill.json', JSON.stringify(prefill))
  await promptOf(context, id)
  assert.equal(sent().slice(0, 2), prefill)
  assert.match(sent()[2].content, 'hello')
  const { body } = await app.get(`/api/session?session_id=${id}`)
  assert.not.match(JSON.stringify(body), 'parrot')
})

test.run()
