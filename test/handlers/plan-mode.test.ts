/** Plan mode over HTTP: nothing changes before a plan is approved, whatever runs; an approval continues, also after a kill. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { spawnApp, startApp } from '../_app.ts'
import { createProvider, type ScriptedCall, type Step } from '../_provider.ts'
import { snapshot } from '../_snapshot.ts'
import { startChat } from './_chat.ts'

const test = suite('plan mode')
type Chat = Awaited<ReturnType<typeof startChat>>

const PLAN = '# Plan\n\n1. Write **new.txt**\n2. Check it'
const present = (id = 'p1'): Step => ({
  toolCalls: [{ id, name: 'exit_plan_mode', arguments: { plan: PLAN } }],
})
const write: Step = {
  toolCalls: [{ id: 'w1', name: 'write_file', arguments: { path: 'new.txt', content: 'hello\n' } }],
}

/** A chat in a folder of its own, in plan mode, with everything that would answer approvals switched on, and every tool offered. */
const begin = async (...script: Step[]) => {
  const chat = await startChat(...script)
  const file = join(chat.app.home, 'config.yaml')
  writeFileSync(
    file,
    `${readFileSync(file, 'utf8')}approvals:\n  mode: off\ntools:\n  tool_search: off\n`,
  )
  const dir = join(chat.app.userHome, 'project')
  mkdirSync(join(dir, 'src'), { recursive: true })
  for (const name of ['a.txt', 'b.txt', 'f', 'src/a.ts'])
    writeFileSync(join(dir, name), `${name}\n`)
  await chat.app.post('/api/workspaces/add', { path: dir })
  const { body } = await chat.app.post('/api/session/new', { workspace: dir })
  const id = String(body.session.session_id)
  // So that no request asks for a title.
  await chat.app.post('/api/session/rename', { session_id: id, title: 'Named' })
  await chat.app.post('/api/session/yolo', { session_id: id, enabled: true })
  await chat.app.post('/api/session/mode', { session_id: id, mode: 'plan' })
  return { chat, dir, id }
}

const withChat =
  (script: Step[], run: (given: Awaited<ReturnType<typeof begin>>) => Promise<void>) =>
  async () => {
    const given = await begin(...script)
    try {
      await run(given)
    } finally {
      await given.chat.close()
    }
  }

const sessionOf = async (app: Pick<Chat['app'], 'get'>, id: string) =>
  (await app.get(`/api/session?session_id=${id}`)).body.session
const results = (messages: Record<string, unknown>[]) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
const openPlan = async (app: Pick<Chat['app'], 'get'>) =>
  (await app.get('/api/inbox')).body.questions[0]
const answer = (
  app: Pick<Chat['app'], 'post'>,
  session_id: string,
  clarify_id: string,
  text: string,
) => app.post('/api/clarify/respond', { session_id, clarify_id, response: text })

const WRITING = readFileSync(
  join(import.meta.dirname, '../lib/agent/commands/plan-writing.txt'),
  'utf8',
)
  .split('\n')
  .filter(line => line !== '' && !line.startsWith('#'))
  // All of them are in plan-commands.test.ts; here, what is refused is really not run.
  .filter((_, at) => process.env.PROOF === 'full' || at % 4 === 0)

/** One call of every tool, as harmful as it can be. */
const HARMFUL: readonly ScriptedCall[] = [
  { name: 'write_file', arguments: { path: 'a.txt', content: 'x' } },
  { name: 'patch', arguments: { path: 'a.txt', old_string: 'a.txt', new_string: 'x' } },
  { name: 'execute_code', arguments: { code: 'open("f", "w").write("x")' } },
  { name: 'memory', arguments: { action: 'add', target: 'memory', content: 'I was here' } },
  { name: 'cronjob', arguments: { action: 'create', schedule: 'every 2h', prompt: 'write' } },
  {
    name: 'skill_manage',
    arguments: {
      action: 'create',
      name: 'evil',
      content: '---\nname: evil\ndescription: x\n---\nx',
    },
  },
  { name: 'terminal', arguments: { command: 'touch x', background: true } },
  { name: 'terminal', arguments: { command: 'cat a.txt', background: true } },
  { name: 'process', arguments: { action: 'kill', session_id: 'proc_000000000000' } },
  { name: 'process', arguments: { action: 'submit', session_id: 'proc_000000000000', data: 'x' } },
]
const READING: readonly ScriptedCall[] = [
  { name: 'terminal', arguments: { command: 'cat a.txt' } },
  { name: 'terminal', arguments: { command: 'git --version; ls' } },
  { name: 'read_file', arguments: { path: 'a.txt' } },
  { name: 'search_files', arguments: { pattern: 'a' } },
  { name: 'todo', arguments: { todos: [{ id: '1', content: 'x', status: 'pending' }] } },
  { name: 'skills_list', arguments: {} },
  { name: 'session_search', arguments: { query: 'x' } },
  { name: 'process', arguments: { action: 'list' } },
  { name: 'cronjob', arguments: { action: 'list' } },
]
/** Offered, and called elsewhere in this file or in need of the network. */
const OTHERS = [
  'clarify',
  'exit_plan_mode',
  'delegate_task',
  'skill_view',
  'web_search',
  'web_extract',
  'vision_analyze',
]

const numbered = (calls: readonly ScriptedCall[]): ScriptedCall[] =>
  calls.map((call, at) => ({ ...call, id: `c${at}` }))

test('rejects an unknown mode and an unknown session', async () => {
  await using chat = await startChat()
  const { app } = chat
  const id = await chat.newSession()
  assert.is((await app.post('/api/session/mode', { session_id: id, mode: 'yolo' })).status, 400)
  const missing = await app.post('/api/session/mode', { session_id: 'nope', mode: 'plan' })
  assert.is(missing.status, 404)
  assert.is((await app.get(`/api/session/mode?session_id=${id}`)).body.mode, 'normal')
  assert.is((await sessionOf(app, id)).mode, undefined)
  await app.post('/api/session/mode', { session_id: id, mode: 'plan' })
  assert.is((await sessionOf(app, id)).mode, 'plan')
  const { body } = await app.post('/api/session/duplicate', { session_id: id })
  assert.is(body.session.mode, 'plan', 'a copy of a chat in plan mode is in plan mode')
})

test(
  'no tool, command, script, or subagent changes a file, although nothing is asked in this chat',
  withChat([], async ({ chat, dir, id }) => {
    const { app, provider } = chat
    const commands = WRITING.map(command => ({ name: 'terminal', arguments: { command } }))
    const harmful = numbered([...HARMFUL, ...commands])
    provider.push(
      { toolCalls: harmful },
      { toolCalls: numbered(READING).map(call => ({ ...call, id: `r${call.id}` })) },
      { toolCalls: [{ id: 'd', name: 'delegate_task', arguments: { goal: 'Write all of it' } }] },
      { toolCalls: numbered([...HARMFUL.slice(0, 2), ...commands.slice(0, 20)]) },
      { text: 'I could not.' },
      { text: 'Done.' },
    )
    const state = app.state
    const before = [snapshot(dir), snapshot(app.userHome, [state, dir])]
    await chat.turn(id, 'Change everything.')
    assert.equal([snapshot(dir), snapshot(app.userHome, [state, dir])], before)

    const offered: string[] = provider.requests[0]?.body.tools.map(
      (tool: { function: { name: string } }) => tool.function.name,
    )
    const called = new Set([...HARMFUL, ...READING].map(({ name }) => name).concat(OTHERS))
    assert.equal(
      offered.filter(name => !called.has(name)),
      [],
      'every tool is tried',
    )
    const all = results(await chat.messages(id))
    const refused = all.slice(0, harmful.length)
    assert.equal(
      refused.filter(text => !text.includes('Plan mode is on')),
      [],
    )
    assert.match(refused[0] ?? '', 'present your plan with exit_plan_mode')
    const read = all.slice(harmful.length, -1)
    assert.is(read.length, READING.length)
    assert.equal(
      read.filter(text => text.includes('Plan mode is on')),
      [],
    )
    assert.match(read[0] ?? '', 'a.txt')
    // The subagent was refused in the same way, without a tool that asks the user.
    const inner = results(provider.requests[4]?.body.messages)
    assert.is(inner.length, 22)
    assert.equal(
      inner.filter(text => !text.includes('end with your plan as the answer')),
      [],
    )
  }),
)

test(
  'an approved plan ends plan mode, and the same turn carries it out',
  withChat([present(), write, { text: 'Done.' }], async ({ chat, dir, id }) => {
    const { app, provider } = chat
    const stream = await chat.send(id, 'Plan it.')
    await chat.follow(stream, 'clarify')
    const plan = await openPlan(app)
    assert.equal([plan.kind, plan.plan, plan.question], ['clarify', true, PLAN])
    assert.equal(plan.choices_offered, ['Approve', 'Keep planning'])
    assert.is((await answer(app, id, plan.clarify_id, 'Approve')).body.accepted, true)
    await chat.follow(stream)
    assert.is(readFileSync(join(dir, 'new.txt'), 'utf8'), 'hello\n')
    const session = await sessionOf(app, id)
    assert.equal([session.mode, session.last_turn, session.waiting], ['normal', 'done', 0])
    assert.match(results(session.messages)[0] ?? '', '"approved":true')
    const late = await answer(app, id, plan.clarify_id, 'Keep planning')
    assert.equal([late.body.accepted, late.body.answer], [false, 'Approve'])

    // The tools and everything sent before stay the same when the mode changes.
    provider.push({ text: 'Yes.' })
    await chat.turn(id, 'Is it there?')
    const [first, , , last] = provider.requests.map(({ body }) => body)
    assert.equal(last.tools, first.tools)
    assert.equal(last.messages.slice(0, first.messages.length), first.messages)
    assert.match(first.messages.at(-1).content, '[Mode: plan]')
    assert.match(last.messages.at(-1).content, '[Mode: normal]')
  }),
)

test(
  'feedback keeps plan mode on and reaches the model; a second plan can be approved',
  withChat([present(), write, present('p2'), { text: 'Done.' }], async ({ chat, dir, id }) => {
    const { app } = chat
    const stream = await chat.send(id, 'Plan it.')
    await chat.follow(stream, 'clarify')
    const first = await openPlan(app)
    await answer(app, id, first.clarify_id, 'Use another name.')
    // `answered` of the first, then the second question.
    let count = 0
    for await (const event of app.events(`/api/chat/stream?stream_id=${stream}&after=0`))
      if (event.event === 'clarify' && ++count === 2) break
    const second = await openPlan(app)
    assert.is.not(second.clarify_id, first.clarify_id)
    assert.is((await sessionOf(app, id)).mode, 'plan')
    await answer(app, id, second.clarify_id, 'Approve')
    await chat.follow(stream)
    const [feedback, refused, approved] = results(await chat.messages(id))
    assert.match(feedback ?? '', 'Use another name.')
    assert.match(refused ?? '', 'Plan mode is on')
    assert.match(approved ?? '', '"approved":true')
    assert.not.ok(readdirSync(dir).includes('new.txt'))
  }),
)

test(
  'turning plan mode off approves a waiting plan; turning it on stops a call that waits for approval',
  withChat([present(), { text: 'Done.' }], async ({ chat, dir, id }) => {
    const { app, provider } = chat
    const stream = await chat.send(id, 'Plan it.')
    await chat.follow(stream, 'clarify')
    await app.post('/api/session/mode', { session_id: id, mode: 'normal' })
    await chat.follow(stream)
    assert.match(results(await chat.messages(id))[0] ?? '', '"approved":true')

    const file = join(app.home, 'config.yaml')
    writeFileSync(file, readFileSync(file, 'utf8').replace('mode: off', 'mode: manual'))
    await app.post('/api/session/yolo', { session_id: id, enabled: false })
    provider.push(
      { toolCalls: [{ id: 't', name: 'terminal', arguments: { command: 'rm -rf src' } }] },
      { text: 'So be it.' },
    )
    const next = await chat.send(id, 'Delete it.')
    await chat.follow(next, 'approval')
    await app.post('/api/session/mode', { session_id: id, mode: 'plan' })
    const { pending } = (await app.get(`/api/approval/pending?session_id=${id}`)).body
    await app.post('/api/approval/respond', {
      session_id: id,
      approval_id: pending.approval_id,
      choice: 'once',
    })
    await chat.follow(next)
    assert.match(results(await chat.messages(id)).at(-1) ?? '', 'Plan mode is on')
    assert.ok(readdirSync(dir).includes('src'))
  }),
)

for (const how of ['kill', 'restart'] as const)
  test(`a plan that waits outlives a ${how}: it is answered afterwards, and the work continues`, async () => {
    await using provider = await createProvider(present())
    await using app = await (how === 'kill' ? spawnApp() : startApp())
    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`,
    )
    const { body } = await app.post('/api/session/new', {})
    const id: string = body.session.session_id
    await app.post('/api/session/rename', { session_id: id, title: 'Named' })
    await app.post('/api/session/mode', { session_id: id, mode: 'plan' })
    const start = await app.post('/api/chat/start', { session_id: id, message: 'Plan it.' })
    for await (const event of app.events(`/api/chat/stream?stream_id=${start.body.stream_id}`))
      if (event.event === 'clarify') break
    const plan = await openPlan(app)
    if ('restart' in app) await app.restart()
    else await app.kill().then(app.start)
    const session = await sessionOf(app, id)
    assert.equal(session.questions, [plan])
    assert.equal([session.mode, session.waiting, session.last_turn], ['plan', 1, null])
    assert.equal((await app.get('/api/inbox')).body.questions, [plan])

    provider.push(write, { text: 'Written.' })
    assert.is((await answer(app, id, plan.clarify_id, 'Approve')).body.accepted, true)
    await provider.arrived(3)
    const path = `/api/chat/stream?stream_id=${start.body.stream_id}`
    for await (const event of app.events(path)) if (event.event === 'stream_end') break
    const after = await sessionOf(app, id)
    assert.equal([after.mode, after.waiting, after.questions], ['normal', 0, []])
    assert.is(after.messages.at(-1).content, 'Written.')
    assert.is(after.last_turn, 'done')
    // The same turn went on.
    assert.is(after.messages.filter(({ role }: { role: string }) => role === 'user').length, 1)
    const { workspace } = after
    assert.is(readFileSync(join(workspace, 'new.txt'), 'utf8'), 'hello\n')
  })

test.run()
