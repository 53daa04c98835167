/** Tools obey the role of who began the turn, as routes do: skills and notes of a profile are changed for owners only. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CHANGES } from '../../lib/people/may.ts'
import { routes } from '../../router.ts'
import { startApp, type TestApp } from '../_app.ts'
import { PASSWORD, setPerson, signIn } from '../_people.ts'
import { createProvider, gate, type Scripted, type ScriptedCall } from '../_provider.ts'
import { idle } from './_crons.ts'

const test = suite('roles of tools')

const SKILL = '---\nname: sk-team\ndescription: A skill.\n---\nDo it.\n'

type Chat = { app: TestApp; provider: Scripted }
type Who = { headers: Record<string, string> }

/** To the end of the turn; an owner allows once what is asked: that lifts no role. */
const follow = async (app: TestApp, owner: Who, stream: string): Promise<void> => {
  for await (const { event, data } of app.events(`/api/chat/stream?stream_id=${stream}`, owner)) {
    if (event === 'stream_end') break
    if (event !== 'approval') continue
    const { session_id, approval_id } = data
    const body = { session_id, approval_id, choice: 'once' }
    await app.request('POST', '/api/approval/respond', { ...owner, body })
  }
}

const withPeople =
  (
    run: (world: {
      chat: Chat
      owner: Who
      member: Who
      workspace: string
      skill: string
      note: string
      calls: (id: string) => ScriptedCall[]
      /** The results of the calls of the last turn. */
      results: () => string[]
      ask: (who: Who, script: ScriptedCall[]) => Promise<string>
      newSession: (who: Who) => Promise<string>
    }) => Promise<void>,
  ) =>
  async () => {
    await using provider = await createProvider()
    await using app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
    const chat = { app, provider }
    const model = { provider: 'custom', base_url: provider.url, default: 'test-model' }
    const config = { model, checkpoints: { enabled: false }, sandbox: { enabled: false } }
    writeFileSync(join(app.home, 'config.yaml'), JSON.stringify(config))
    await setPerson(app, { name: 'Mia', role: 'member', profiles: ['default'] })
    const [member, owner] = [await signIn(app, 'Mia'), await signIn(app)]
    const workspace = join(app.userHome, 'work')
    mkdirSync(workspace)
    await app.request('POST', '/api/workspaces/add', { ...owner, body: { path: workspace } })
    const skill = join(app.home, 'skills', 'other', 'SKILL.md')
    const note = join(app.home, 'memories', 'MEMORY.md')
    for (const dir of ['skills/other', 'memories'])
      mkdirSync(join(app.home, dir), { recursive: true })
    const newSession = async (who: Who): Promise<string> => {
      const made = await app.request('POST', '/api/session/new', { ...who, body: { workspace } })
      const { session_id } = made.body.session
      await app.request('POST', '/api/session/rename', {
        ...owner,
        body: { session_id, title: 'Named' },
      })
      return session_id
    }
    const calls = (id: string): ScriptedCall[] => [
      {
        name: 'skill_manage',
        arguments: {
          action: 'create',
          name: `sk-${id}`,
          content: SKILL.replace('sk-team', `sk-${id}`),
        },
      },
      {
        name: 'memory',
        arguments: { action: 'add', target: 'memory', content: `Said by ${id}.` },
      },
      { name: 'write_file', arguments: { path: skill, content: SKILL } },
      { name: 'write_file', arguments: { path: note, content: `Written by ${id}.` } },
      { name: 'write_file', arguments: { path: join(app.home, 'SOUL.md'), content: id } },
    ]
    const results = (): string[] =>
      provider.requests
        .at(-1)
        ?.body.messages.filter(({ role }: { role: string }) => role === 'tool')
        .map(({ content }: { content: string }) => content) ?? []
    await run({
      chat,
      owner,
      member,
      workspace,
      skill,
      note,
      calls,
      results,
      newSession,
      async ask(who, script) {
        const session_id = await newSession(who)
        await app.request('POST', '/api/session/yolo', {
          ...owner,
          body: { session_id, enabled: true },
        })
        provider.push(
          { toolCalls: script.map((call, at) => ({ id: `c${at}`, ...call })) },
          { text: 'Done.' },
        )
        const started = await app.request('POST', '/api/chat/start', {
          ...who,
          body: { session_id, message: 'Go.' },
        })
        await follow(app, owner, started.body.stream_id)
        return session_id
      },
    })
  }

const REFUSED = /only an owner of this server can/

test('each kind of change asks a route and a tool for the same', () => {
  const access = (route: keyof typeof routes) => routes[route].access
  assert.equal(
    [
      access('POST /api/skills/save'),
      access('POST /api/memory/write'),
      access('POST /api/crons/create'),
    ],
    [CHANGES.skills, CHANGES.notes, CHANGES.tasks],
  )
})

test(
  'a member’s turn changes no skill and no note, an owner’s does',
  withPeople(async world => {
    const { chat, member, owner, calls, results, ask, skill, note } = world
    await ask(member, calls('mia'))
    assert.is(results().length, 5)
    for (const result of results()) assert.match(result, REFUSED)
    assert.not(existsSync(skill))
    assert.not(existsSync(note))
    assert.equal(readdirSync(join(chat.app.home, 'skills')), ['other'])
    await ask(owner, calls('olga'))
    for (const result of results()) assert.not.match(result, REFUSED)
    assert.ok(existsSync(skill))
    assert.match(readFileSync(note, 'utf8'), 'olga')
  }),
)

test(
  'nor do its scripts, subagents and commands; its tasks are a member’s too',
  withPeople(async world => {
    const { chat, member, owner, calls, results, ask, skill, note } = world
    const { app, provider } = chat
    const code = `from agent_tools import write_file\nprint(write_file(${JSON.stringify(note)}, 'by script'))`
    await ask(member, [{ name: 'execute_code', arguments: { code, language: 'python' } }])
    assert.not(existsSync(note), results().join())
    // The subagent makes the first calls after the one that starts it.
    const session = await world.newSession(member)
    provider.push(
      { toolCalls: [{ id: 'd', name: 'delegate_task', arguments: { goal: 'Write' } }] },
      { toolCalls: calls('sub').map((call, at) => ({ id: `s${at}`, ...call })) },
      { text: 'It was refused.' },
      { text: 'So be it.' },
    )
    const started = await app.request('POST', '/api/chat/start', {
      ...member,
      body: { session_id: session, message: 'Delegate.' },
    })
    await follow(app, owner, started.body.stream_id)
    assert.not(existsSync(skill))
    assert.not(existsSync(note))
    const job = { prompt: 'Write it', schedule: '2099-01-01T00:00', name: 'Task' }
    const made = await app.request('POST', '/api/crons/create', { ...member, body: job })
    provider.push(
      { toolCalls: calls('task').map((call, at) => ({ id: `t${at}`, ...call })) },
      { text: 'Done.' },
    )
    await app.request('POST', '/api/crons/run', { ...owner, body: { job_id: made.body.job.id } })
    await idle(app, owner)
    assert.match(results().join(), REFUSED)
    assert.not(existsSync(skill))
  }),
)

test(
  'a member who steers an owner’s turn lowers it, and a queued message of a member is a member’s turn',
  withPeople(async world => {
    const { chat, member, owner, calls, results, newSession, note } = world
    const { app, provider } = chat
    const session_id = await newSession(owner)
    const post = (who: Who, path: string, body: object) =>
      app.request('POST', path, { ...who, body: { session_id, ...body } })
    await post(owner, '/api/session/yolo', { enabled: true })
    const [, memory] = calls('mia')
    // Steered while the model answers.
    const half = gate()
    provider.push(
      { gate: half.opened, toolCalls: [{ id: 'a', name: 'todo', arguments: { todos: [] } }] },
      { toolCalls: [{ id: 'b', ...memory! }] },
      { text: 'Done.' },
    )
    const { stream_id } = (await post(owner, '/api/chat/start', { message: 'Go.' })).body
    await provider.arrived(1)
    assert.is((await post(member, '/api/chat/steer', { message: 'Note it.' })).status, 200)
    half.open()
    await follow(app, owner, stream_id)
    assert.match(results().at(-1) ?? '', REFUSED)
    // An owner's next message is an owner's turn again; what a member has queued behind it is not.
    const next = gate()
    provider.push(
      { gate: next.opened, text: 'One.' },
      { toolCalls: [{ id: 'c', ...memory! }] },
      { text: 'Done.' },
    )
    const second = (await post(owner, '/api/chat/start', { message: 'On.' })).body.stream_id
    await provider.arrived(4)
    const queued = await post(member, '/api/queue/add', { message: 'Note it then.' })
    assert.is(queued.status, 200, queued.text)
    next.open()
    await follow(app, owner, second)
    await provider.arrived(6)
    assert.match(results().at(-1) ?? '', REFUSED)
    assert.not(existsSync(note))
  }),
)

test(
  'a program with a token is no owner',
  withPeople(async world => {
    const { chat, owner, calls, results, note } = world
    const { app, provider } = chat
    const post = (path: string, body: object) => app.request('POST', path, { ...owner, body })
    await post('/api/tokens/enable', { enabled: true })
    const token = (await post('/api/tokens/create', { name: 'test' })).body.secret
    const [, memory] = calls('program')
    provider.push({ toolCalls: [{ id: 'a', ...memory! }] }, { text: 'Done.' })
    const answer = await app.request('POST', '/v1/chat/completions', {
      headers: { authorization: `Bearer ${token}` },
      body: { model: 'agent', messages: [{ role: 'user', content: 'Note it.' }] },
    })
    assert.is(answer.status, 200, answer.text)
    assert.match(results().join(), REFUSED)
    assert.not(existsSync(note))
  }),
)

test.run()
