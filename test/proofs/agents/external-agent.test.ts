/** Another program's agent in the whole service: picked, asked, approved, cancelled, found again after a restart, and left for another model. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundleProgram } from '../../_program.ts'
import { acceptSettings, type SpawnedApp, spawnApp, startApp, type TestApp } from '../../_app.ts'
import { PASSWORD, setPerson, signIn } from '../../_people.ts'
import { createProvider } from '../../_provider.ts'
import { until } from '../../_wait.ts'
import type { Seen } from '../../handlers/_chat.ts'

const test = suite('external agents over HTTP')

const AGENT = bundleProgram(join(import.meta.dirname, '../../_acp-agent.ts'))

const start = async (traits = '', config = '') =>
  withAgent(await startApp({ env: { ACP_TEST: traits } }), config)

/** A service with a test agent. */
const withAgent = async <App extends TestApp | SpawnedApp>(app: App, config = '') => {
  const state = join(app.userHome, 'agent-state.json')
  // The agent's own records: it finds its sessions again by them.
  writeFileSync(join(app.home, '.env'), `ACP_TEST_STATE=${state}\n`)
  writeFileSync(
    join(app.home, 'config.yaml'),
    `${config}
checkpoints:
  enabled: false
providers:
  tester:
    name: Tester
    acp_command: ${process.execPath}
    acp_args: ["${AGENT}"]
`,
  )
  await acceptSettings(app)
  const newSession = async (model = '@acp:tester'): Promise<string> =>
    (await app.post('/api/session/new', { model })).body.session.session_id
  const send = async (session_id: string, message: string, model?: string): Promise<string> => {
    const { status, body } = await app.post('/api/chat/start', {
      session_id,
      message,
      ...(model ? { model } : {}),
    })
    if (status !== 200) throw new Error(`chat/start answered ${status} ${JSON.stringify(body)}`)
    return body.stream_id
  }
  const follow = async (stream_id: string, until = 'stream_end'): Promise<Seen[]> => {
    const seen: Seen[] = []
    for await (const event of app.events(`/api/chat/stream?stream_id=${stream_id}`)) {
      seen.push(event as Seen)
      if (event.event === until) break
    }
    return seen
  }
  return {
    app,
    newSession,
    send,
    follow,
    turn: async (id: string, words: string, model?: string) => follow(await send(id, words, model)),
    last: async (id: string): Promise<string> =>
      (await app.get(`/api/session?session_id=${id}`)).body.session.messages.at(-1).content,
    session: async (id: string) => (await app.get(`/api/session?session_id=${id}`)).body.session,
  }
}

type At = Awaited<ReturnType<typeof start>>
const using = (args: Parameters<typeof start>, run: (at: At) => Promise<void>) => async () => {
  const at = await start(...args)
  try {
    await run(at)
  } finally {
    await at.app.close()
  }
}

test(
  'rejects choices for another model, a stopped agent and unknown options, with a reason',
  using([], async ({ app, newSession }) => {
    const plain = await newSession('demo')
    const none = (await app.get(`/api/session/agent?session_id=${plain}`)).body
    const nothing = { is_open: false, sign_in: null, mode: null, options: [], commands: [] }
    assert.equal(none, { agent: null, ...nothing })
    const open = await app.post('/api/session/agent/open', { session_id: plain })
    assert.match(open.body.error, /isn't an external agent/)
    const id = await newSession()
    const early = await app.post('/api/session/agent/mode', { session_id: id, mode: 'free' })
    assert.equal([early.status, /not running/.test(early.body.error)], [400, true])
    assert.is((await app.get('/api/session/agent?session_id=0123456789ab')).status, 404)
    await app.post('/api/session/agent/open', { session_id: id })
    const wrong = await app.post('/api/session/agent/mode', { session_id: id, mode: 'wild' })
    assert.equal([wrong.status, wrong.body.error], [400, 'Tester has no mode "wild".'])
    const option = { session_id: id, option: 'model', value: 'huge' }
    assert.match((await app.post('/api/session/agent/option', option)).body.error, /no such choice/)
  }),
)

test(
  'a program that cannot start fails the turn with a reason and keeps the message',
  using(['dies'], async at => {
    const id = await at.newSession()
    const seen = await at.turn(id, 'hello')
    const error = seen.find(({ event }) => event === 'apperror')
    assert.match(String(error?.data.message), /Tester ended with code 3: no license found/)
    const { messages } = await at.session(id)
    assert.is(messages[0].content, 'hello')
    const open = await at.app.post('/api/session/agent/open', { session_id: id })
    assert.equal([open.status, /no license found/.test(open.body.error)], [503, true])
  }),
)

test(
  'offers modes, options and commands before the first message',
  using([], async ({ app, newSession, turn, last }) => {
    const id = await newSession()
    const before = (await app.get(`/api/session/agent?session_id=${id}`)).body
    assert.equal([before.agent, before.is_open], [{ id: 'tester', name: 'Tester' }, false])
    const { body } = await app.post('/api/session/agent/open', { session_id: id })
    assert.is(body.mode.current, 'ask')
    assert.equal(
      body.options.map((each: { id: string }) => each.id),
      ['model', 'loud'],
    )
    const mode = await app.post('/api/session/agent/mode', { session_id: id, mode: 'free' })
    assert.is(mode.body.mode.current, 'free')
    const loud = { session_id: id, option: 'loud', value: 'on' }
    assert.is((await app.post('/api/session/agent/option', loud)).body.options[1].current, 'on')
    assert.equal(mode.body.commands, [
      { name: 'plan', description: 'Make a plan', hint: 'what for' },
    ])
    // One and the same session on the agent's side.
    await turn(id, 'recall')
    assert.is(await last(id), 'I have heard: recall')
    const { groups } = (await app.get('/api/models')).body
    assert.equal(groups.at(-1), {
      provider: 'Agents on this machine',
      provider_id: 'acp',
      models: [
        { id: '@acp:tester', label: 'Tester' },
        { id: '@acp:tester:small', label: 'Tester · Small' },
        { id: '@acp:tester:lab/large:free', label: 'Tester · Large' },
      ],
    })
  }),
)

test('a permission request becomes an approval; its edits are visible; another model continues the session', async () => {
  const provider = await createProvider({ text: 'I see.' })
  const config = `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`
  const at = await start('', config)
  const { app } = at
  try {
    const id = await at.newSession()
    const stream = await at.send(id, 'run echo approved')
    await at.follow(stream, 'approval')
    const { pending } = (await app.get(`/api/approval/pending?session_id=${id}`)).body
    assert.equal(
      [pending.command, pending.description],
      ['echo approved', 'Tester asks to run a command.'],
    )
    await app.post('/api/approval/respond', { session_id: id, choice: 'session' })
    const seen = await at.follow(stream)
    assert.is(seen.at(-1)?.event, 'stream_end')
    assert.is(await at.last(id), 'It was a.')
    // For the session: not asked again.
    const again = await at.turn(id, 'run echo approved')
    assert.not(again.some(({ event }) => event === 'approval'))
    await at.turn(id, 'And now?', 'test-model')
    const { body } = provider.requests[0] ?? {}
    const roles = body.messages.map(({ role }: { role: string }) => role)
    assert.equal(roles.filter((role: string) => role === 'tool').length, 2)
    assert.match(JSON.stringify(body.messages), /echo approved.*It was a\..*And now\?/s)
    // And back: the agent hears what was said without it.
    await at.turn(id, 'recall', '@acp:tester')
    assert.match(await at.last(id), /User: And now\?\n\nAssistant: I see\. \+ recall$/s)
  } finally {
    await app.close()
    await provider.close()
  }
})

type Killed = Awaited<ReturnType<typeof withAgent<SpawnedApp>>>

const killed = (traits: string, run: (at: Killed) => Promise<void>) => async () => {
  const at = await withAgent(await spawnApp({ env: { ACP_TEST: traits } }))
  try {
    await run(at)
  } finally {
    await at.app.close()
  }
}

const receivedBy = ({ app }: Killed): string[][] => {
  const stored = JSON.parse(readFileSync(join(app.userHome, 'agent-state.json'), 'utf8'))
  return Object.values(stored).map(session => (session as { received: string[] }).received)
}

const endOf = async (at: Killed, id: string): Promise<string | null> => {
  await until(async () => (await at.session(id)).active_stream_id === null, 'the end of the turn')
  return (await at.session(id)).last_turn
}

for (const how of ['kill', 'stop'] as const)
  test(
    `after a ${how} of the service an agent that loads its session continues the turn, once`,
    killed('', async at => {
      const id = await at.newSession()
      const stream = await at.send(id, 'wait here')
      await at.follow(stream, 'token')
      await at.app[how]()
      await at.app.start()
      const seen = await at.follow(stream)
      assert.is(seen.filter(({ event }) => event === 'done').length, 1)
      assert.is(await endOf(at, id), 'done')
      const { messages } = await at.session(id)
      assert.is(messages.at(-1).content, 'I continue.')
      // What it had written is kept, and it was asked once, in the same session.
      const [cut] = messages.filter(({ role }: { role: string }) => role === 'assistant')
      assert.is(cut._partial, true)
      const [[first, second, ...more] = [], ...others] = receivedBy(at)
      assert.equal([first, more, others], ['wait here', [], []])
      assert.match(second ?? '', /\(reference [0-9a-f]{8}\): .* was restarted while you worked/)
    }),
  )

test(
  'a message that the agent does not have is not taken for the one that it continued before',
  killed('', async at => {
    const id = await at.newSession()
    const stream = await at.send(id, 'wait here')
    await at.follow(stream, 'token')
    await at.app.kill()
    await at.app.start()
    assert.is(await endOf(at, id), 'done')
    // As when the message was lost on its way: the agent's last one is that which continued the turn before.
    const second = await at.send(id, 'wait again')
    await at.follow(second, 'token')
    await at.app.kill()
    const file = join(at.app.userHome, 'agent-state.json')
    const stored = JSON.parse(readFileSync(file, 'utf8'))
    for (const session of Object.values(stored)) (session as { received: string[] }).received.pop()
    writeFileSync(file, JSON.stringify(stored))
    await at.app.start()
    assert.is(await endOf(at, id), 'interrupted')
    const [received = []] = receivedBy(at)
    const continued = received.filter(text => text.includes('was restarted'))
    assert.is(continued.length, 1)
  }),
)

test(
  'killed during an approval: it is withdrawn, what it was asked for did not run, and the agent continues',
  killed('', async at => {
    const id = await at.newSession()
    const stream = await at.send(id, 'run touch never')
    await at.follow(stream, 'approval')
    await at.app.kill()
    await at.app.start()
    assert.is(await endOf(at, id), 'done')
    const { messages, questions, waiting, workspace } = await at.session(id)
    assert.equal([questions, waiting, existsSync(join(workspace, 'never'))], [[], 0, false])
    assert.equal((await at.app.get('/api/inbox')).body.questions, [])
    const result = messages.find(({ role }: { role: string }) => role === 'tool')
    assert.match(result.content, /restarted while this call ran/)
    assert.is(messages.at(-1).content, 'I continue.')
  }),
)

for (const [traits, why] of [
  ['no-load', 'it cannot load sessions'],
  ['forgets', 'it has lost the session'],
  ['forgets-last', 'it does not have the message'],
] as const)
  test(
    `killed while an agent works: interrupted with the reason, because ${why}`,
    killed(traits, async at => {
      const id = await at.newSession()
      const stream = await at.send(id, 'wait here')
      await at.follow(stream, 'token')
      await at.app.kill()
      await at.app.start()
      assert.is(await endOf(at, id), 'interrupted')
      assert.match(await at.last(id), /can't load what it did before/)
      assert.equal(
        receivedBy(at)
          .flat()
          .filter(text => text.includes('restarted')),
        [],
      )
      // The next message continues as after any end.
      await at.turn(id, 'hello again')
      assert.is((await at.session(id)).last_turn, 'done')
    }),
  )

test(
  'canceled during an approval; after a restart of the service the next turn continues',
  using([], async at => {
    const { app } = at
    const id = await at.newSession()
    await at.turn(id, 'hello one')
    const stream = await at.send(id, 'run touch never')
    await at.follow(stream, 'approval')
    await app.get(`/api/chat/cancel?stream_id=${stream}`)
    const ended = await at.follow(stream)
    assert.ok(ended.some(({ event }) => event === 'cancel'))
    const { workspace } = await at.session(id)
    assert.not(existsSync(join(workspace, 'never')))
    await app.restart()
    await at.turn(id, 'recall')
    assert.match(await at.last(id), /^I have heard: hello one \| run touch never \| .*recall$/s)
    const log = readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')
    assert.match(log, /"t":"meta".*"acp"/)
  }),
)

test(
  'an unattended turn is answered by its policy',
  using(['', 'approvals:\n  cron_mode: deny\n'], async at => {
    const { body } = await at.app.post('/api/crons/create', {
      name: 'nightly',
      prompt: 'run rm -rf ./old',
      schedule: 'every 1h',
      model: '@acp:tester',
    })
    const { job } = body
    await at.app.post('/api/crons/run', { job_id: job.id })
    const done = async (): Promise<string> => {
      let id: string | undefined
      await until(async () => {
        const { sessions } = (await at.app.get('/api/sessions')).body
        id = sessions.find(
          (each: { last_turn: string | null }) => each.last_turn !== null,
        )?.session_id
        return id !== undefined
      })
      return id ?? ''
    }
    assert.match(await at.last(await done()), /It was c\./)
  }),
)

const ask = (id: string) => `/api/session/agent/sessions?session_id=${id}`

test(
  'reports an agent without a session list, and rejects resuming without support or for unknown sessions',
  using(['no-load forgets'], async ({ app, newSession }) => {
    const plain = await newSession('demo')
    assert.is((await app.get(ask(plain))).status, 400)
    const id = await newSession()
    const { status, body } = await app.get(ask(id))
    assert.equal([status, body.sessions], [200, []])
    assert.match(body.note, /doesn't list its sessions/)
    const adopt = { session_id: id, agent_session_id: 's1' }
    const refused = await app.post('/api/session/agent/adopt', adopt)
    assert.equal(refused.status, 503)
    assert.match(refused.body.error, /can't resume earlier sessions/)
  }),
)

test(
  'resuming: lists owners, rejects where not allowed, replays history, and is known after a restart',
  using(['lists'], async at => {
    const { app, newSession, turn, last, session } = at
    const lists: string[] = []
    for (const words of ['hello one', 'hello two', 'hello three']) {
      const id = await newSession()
      await turn(id, words)
      lists.push(id)
    }
    const id = await newSession()
    const listed = (await app.get(ask(id))).body.sessions
    assert.equal(
      listed.map((each: { title: string; session_id: string }) => [each.title, each.session_id]),
      [
        ['hello one', lists[0]],
        ['hello two', lists[1]],
        ['hello three', lists[2]],
      ],
    )
    assert.is(listed[0].updated_at, Date.parse('2026-01-02T03:04:05Z') / 1_000)
    const theirs = listed[0].agent_session_id
    const adopt = (session_id: string, agent_session_id = theirs) =>
      app.post('/api/session/agent/adopt', { session_id, agent_session_id })
    const held = await adopt(id)
    assert.equal([held.status, held.body.session_id], [409, lists[0]])
    const full = await adopt(lists[1] ?? '')
    assert.equal([full.status, /empty chat/.test(full.body.error)], [409, true])
    const unknown = await adopt(id, 'nobody')
    assert.is(unknown.status, 503)
    assert.is((await session(id)).messages.length, 0)
    // Ours is gone for good; the agent still knows it.
    await app.post('/api/session/delete', { session_id: lists[0] })
    const done = await adopt(id)
    assert.equal([done.status, done.body], [200, { session_id: id, message_count: 2, note: '' }])
    const { messages, title } = await session(id)
    assert.equal(
      messages.map((each: { role: string; content: string }) => [each.role, each.content]),
      [
        ['user', 'hello one'],
        ['assistant', 'again: hello one'],
      ],
    )
    assert.is.not(title, 'Untitled')
    await turn(id, 'recall')
    assert.is(await last(id), 'I have heard: hello one | recall')
    await app.restart()
    await turn(id, 'recall')
    assert.is(await last(id), 'I have heard: hello one | recall | recall')
  }),
)

test(
  'a member continues only what the agent lists for the workspace, without chats of other profiles',
  using(['lists'], async ({ app, turn }) => {
    const dir = join(app.userHome, 'shared')
    mkdirSync(dir)
    await app.post('/api/profile/create', { name: 'team' })
    for (const name of ['config.yaml', '.env'])
      cpSync(join(app.home, name), join(app.home, 'profiles', 'team', name))
    const create = async (profile: string): Promise<string> => {
      const headers = { cookie: `agent_profile=${profile}` }
      await app.post('/api/workspaces/add', { path: dir }, { headers })
      const given = { profile, model: '@acp:tester', workspace: dir }
      return (await app.post('/api/session/new', given, { headers })).body.session.session_id
    }
    await turn(await create('default'), 'hello secret')
    const own = await create('team')
    await turn(own, 'hello own')
    const id = await create('team')
    type Listed = { title: string; agent_session_id: string }
    const listed: Listed[] = (await app.get(ask(id))).body.sessions
    const idOf = (wanted: string) =>
      listed.find(({ title }) => title === wanted)?.agent_session_id ?? ''
    await app.post('/api/session/delete', { session_id: own })
    await app.post('/api/settings', { _set_password: PASSWORD })
    await setPerson(app, { name: 'Mia', role: 'member', profiles: ['team'] })
    const mia = await signIn(app, 'Mia')
    const seen: Listed[] = (await app.get(ask(id), mia)).body.sessions
    assert.equal(
      seen.map(({ title }) => title),
      ['hello own'],
    )
    const adopt = (agent_session_id: string) =>
      app.post('/api/session/agent/adopt', { session_id: id, agent_session_id }, mia)
    for (const each of [idOf('hello secret'), 'nobody']) {
      const { status, body } = await adopt(each)
      assert.equal([status, body.code], [404, 'session_not_found'], each)
    }
    assert.is((await adopt(idOf('hello own'))).status, 200)
  }),
)

test(
  'resumes an agent that replays nothing, and tells the page; concurrent requests are one',
  using(['lists resumes-only'], async ({ app, newSession, turn, last, session }) => {
    const gone = await newSession()
    await turn(gone, 'hello one')
    await app.post('/api/session/delete', { session_id: gone })
    const ids = [await newSession(), await newSession()]
    const [past] = (await app.get(ask(ids[0] ?? ''))).body.sessions
    assert.is(past.session_id, null)
    const { agent_session_id } = past
    const answers = await Promise.all(
      ids.map(session_id =>
        app.post('/api/session/agent/adopt', { session_id, agent_session_id, title: 'The first' }),
      ),
    )
    assert.equal(answers.map(({ status }) => status).sort(), [200, 409])
    const done = answers.find(({ status }) => status === 200)?.body
    assert.is(done.message_count, 0)
    assert.match(done.note, /they aren't shown/)
    assert.is((await session(done.session_id)).title, 'The first')
    await turn(done.session_id, 'recall')
    assert.is(await last(done.session_id), 'I have heard: hello one | recall')
  }),
)

test(
  'a running turn holds the session; an image reaches the page by its path only',
  using(['lists'], async at => {
    const { app } = at
    const id = await at.newSession()
    const stream = await at.send(id, 'run touch never')
    await at.follow(stream, 'approval')
    const adopt = { session_id: id, agent_session_id: 's1' }
    assert.is((await app.post('/api/session/agent/adopt', adopt)).status, 409)
    await app.get(`/api/chat/cancel?stream_id=${stream}`)
    await at.follow(stream)
    await at.turn(id, 'paint')
    const [, path = ''] = /MEDIA:"([^"]+)"/.exec(await at.last(id)) ?? []
    assert.ok(path.startsWith(join(app.state, 'tool-output', id)))
    const picture = await app.request('GET', `/api/media?path=${encodeURIComponent(path)}`)
    assert.equal([picture.status, picture.headers['content-type']], [200, 'image/png'])
  }),
)

test('hooks run around what the agent does through us: at permissions, files, terminals, and ends', async () => {
  const at = await start('', 'approvals:\n  mode: off')
  const { app } = at
  const log = join(app.userHome, 'hooks.log')
  const config = join(app.home, 'config.yaml')
  const plain = readFileSync(config, 'utf8')
  const configure = (hooks: Record<string, unknown>) =>
    writeFileSync(config, `${plain}hooks: ${JSON.stringify(hooks)}\n`)
  try {
    const id = await at.newSession()
    const workspace = String((await at.session(id)).workspace)
    const mark = join(workspace, 'marked')
    const block = 'cat >/dev/null; echo "not today" >&2; exit 2'
    configure({ pre_tool_call: [{ matcher: 'terminal', command: block }] })
    const seen = await at.turn(id, `run touch ${mark}`)
    assert.not(existsSync(mark))
    assert.match(JSON.stringify(seen.filter(({ event }) => event === 'warning')), /not today/)
    configure({ pre_tool_call: [{ matcher: 'write_file', command: block }] })
    await at.turn(id, 'work')
    assert.match(JSON.stringify((await at.session(id)).messages), /not today|refused/)
    const note = (word: string) => `cat >/dev/null; echo ${word} >>${log}`
    configure({
      pre_tool_call: [{ matcher: 'terminal', command: note('before') }],
      post_tool_call: [{ matcher: 'terminal', command: note('after') }],
      Stop: [{ command: note('stop') }],
      on_session_end: [{ command: note('end') }],
    })
    await at.turn(id, `run touch ${mark}`)
    assert.ok(existsSync(mark))
    // Once, although the command was permitted and then run in our terminal.
    assert.is(readFileSync(log, 'utf8'), 'before\nafter\nstop\nend\n')
    configure({
      UserPromptSubmit: [{ command: 'grep -q secret && { echo no >&2; exit 2; }; echo context' }],
    })
    await at.turn(id, 'a secret')
    await at.turn(id, 'recall all')
    const answer = await at.last(id)
    assert.not.match(answer, /a secret/)
    assert.match(answer, /context/)
  } finally {
    await app.close()
  }
})

for (const traits of ['', 'plans'])
  test(`plan mode: ${traits ? 'the agent’s own mode is used' : 'a warning when the agent has none'}; its requests are refused until its plan is approved`, async () => {
    const agent = await start(traits)
    const { app } = agent
    try {
      const id = await agent.newSession()
      await app.post('/api/session/yolo', { session_id: id, enabled: true })
      await app.post('/api/session/mode', { session_id: id, mode: 'plan' })
      const stream = await agent.send(id, 'plan')
      const before = await agent.follow(stream, 'clarify')
      const plan = before.at(-1)?.data as { plan: boolean; question: string; clarify_id: string }
      assert.equal([plan.plan, plan.question], [true, '# My plan'])
      const answer = { session_id: id, clarify_id: plan.clarify_id, response: 'Approve' }
      await app.post('/api/clarify/respond', answer)
      const seen = await agent.follow(stream)
      const { messages } = await agent.session(id)
      const said: string[] = messages
        .findLast(({ content }: { content: string }) => content.startsWith('mode '))
        .content.split('\n')
      const no = '{"outcome":"selected","optionId":"no"}'
      assert.equal(said.slice(0, 3), [`mode ${traits ? 'plan' : 'ask'}`, no, no])
      assert.match(said[3] ?? '', 'Plan mode is on')
      assert.match(said[4] ?? '', 'Plan mode is on')
      assert.match(said[5] ?? '', 'terminal_')
      assert.equal(said[6], '{"outcome":"selected","optionId":"default"}')
      assert.not.match(said[7] ?? '', 'Plan mode is on')
      const { workspace, mode } = await agent.session(id)
      assert.is(mode, 'normal')
      assert.ok(existsSync(join(workspace, 'made.txt')), 'written after the approval')
      const warned = seen.some(
        ({ event, data }) =>
          event === 'warning' && String(data.message).includes('has no plan mode'),
      )
      assert.is(warned, traits === '')
      await agent.turn(id, 'mode')
      assert.is(await agent.last(id), 'ask', 'the mode of before')
    } finally {
      await app.close()
    }
  })

test.run()
