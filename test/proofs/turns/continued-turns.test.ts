/** Turns go on after a restart and after a kill: nothing lost, nothing twice, questions still open. */
import { existsSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  acceptSettings,
  type AppOptions,
  type SpawnedApp,
  spawnApp,
  startApp,
  type TestApp,
} from '../../_app.ts'
import type { Recovered } from '../../../lib/sessions/sessions.ts'
import { mayResume } from '../../../lib/turns/resume.ts'
import { createProvider, type Scripted, type Step } from '../../_provider.ts'
import { until } from '../../_wait.ts'
import { type Seen, types } from '../../handlers/_chat.ts'

const test = suite('turns that go on')

type Service = TestApp | SpawnedApp
type Chat<S extends Service> = { app: S; provider: Scripted; id: string; workspace: string }

const prepare = async <S extends Service>(app: S, provider: Scripted): Promise<Chat<S>> => {
  const file = join(app.home, 'config.yaml')
  writeFileSync(
    file,
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\ncheckpoints:\n  enabled: false\napprovals:\n  outside_sandbox: dangerous\n`,
  )
  await acceptSettings(app)
  const { session } = (await app.post('/api/session/new', {})).body
  const id: string = session.session_id
  await app.post('/api/session/rename', { session_id: id, title: 'Named' })
  return { app, provider, id, workspace: session.workspace }
}

/** A service in this process, which can be restarted. */
const restarted =
  (script: Step[], run: (chat: Chat<TestApp>) => Promise<void>, options: AppOptions = {}) =>
  async () => {
    const provider = await createProvider(...script)
    const app = await startApp(options)
    try {
      await run(await prepare(app, provider))
    } finally {
      await app.close()
      await provider.close()
    }
  }

/** A service in a process of its own, which can be killed. */
const killed = (script: Step[], run: (chat: Chat<SpawnedApp>) => Promise<void>) => async () => {
  const provider = await createProvider(...script)
  const app = await spawnApp()
  try {
    await run(await prepare(app, provider))
  } finally {
    await app.close()
    await provider.close()
  }
}

const start = async ({ app, id }: Chat<Service>, message = 'Go.'): Promise<string> =>
  (await app.post('/api/chat/start', { session_id: id, message })).body.stream_id

const follow = async (
  { app }: Chat<Service>,
  stream: string,
  until = 'stream_end',
  after = 0,
): Promise<Seen[]> => {
  const seen: Seen[] = []
  const path = `/api/chat/stream?stream_id=${stream}&after=${after}`
  for await (const event of app.events(path)) {
    seen.push(event as Seen)
    if (event.event === until) break
  }
  return seen
}

const sessionOf = async ({ app, id }: Chat<Service>) =>
  (await app.get(`/api/session?session_id=${id}&limit=50`)).body.session

const kill = async ({ app }: Chat<SpawnedApp>): Promise<void> => {
  await app.kill()
  await app.start()
}

const usage = { prompt_tokens: 10, completion_tokens: 2 }
const runs = (command: string, id = 'c1'): Step => ({
  toolCalls: [{ id, name: 'terminal', arguments: { command } }],
  usage,
})
const todo = (id: string): Step => ({
  toolCalls: [{ id, name: 'todo', arguments: {} }],
  usage,
})
const answer: Step = { text: 'All done.', usage }

/** What the model was sent last: roles, and the results of calls. */
const lastRequest = ({ provider }: Chat<Service>) => {
  const messages: { role: string; content: string }[] = provider.requests.at(-1)?.body.messages
  return messages.filter(({ role }) => role !== 'system')
}

test(
  'killed while text streams: the text is withdrawn and streamed again under the same stream, exactly once',
  killed([todo('c1'), { text: ['Half', ' of it'], end: 'body' }, answer], async chat => {
    const stream = await start(chat)
    const before = await follow(chat, stream, 'token')
    await kill(chat)
    const after = await follow(chat, stream, 'stream_end', Number(before.at(-1)?.id))
    const seen = types(after)
    assert.is(seen.filter(type => type === 'retry').length, 1)
    assert.is(seen.filter(type => type === 'done').length, 1)
    assert.not(seen.includes('apperror'))
    const positions = [...before, ...after].map(({ id }) => Number(id))
    assert.equal(
      positions,
      positions.map((_, at) => at + 1),
    )
    const session = await sessionOf(chat)
    assert.equal(
      session.messages.map(({ role, content }: Seen['data']) =>
        [role, content].join(': ').slice(0, 20),
      ),
      [
        'user: Go.',
        'assistant: ',
        session.messages[2].role + ': ' + session.messages[2].content.slice(0, 14),
        'assistant: All done.',
      ],
    )
    assert.equal([session.last_turn, session.live, session.active_stream_id], ['done', null, null])
    // Both steps and their tokens belong to one turn.
    assert.equal([session.turn_usage.length, session.turn_usage[0].input_tokens], [1, 20])
    assert.equal(chat.provider.requests[2]?.body.messages, chat.provider.requests[1]?.body.messages)
  }),
)

test(
  'killed while text streams, and stopped after it: the text is shown and kept',
  killed(
    [todo('c1'), { text: ['Half', ' of it'], end: 'body' }, { end: 'headers' }],
    async chat => {
      const stream = await start(chat)
      await follow(chat, stream, 'token')
      await kill(chat)
      await chat.provider.arrived(3)
      const shown = (await sessionOf(chat)).live.text
      assert.match(shown, /^Half/)
      await chat.app.post('/api/chat/cancel', { stream_id: stream })
      const { messages, turn_usage } = await sessionOf(chat)
      const partial = messages.filter(({ _partial }: Seen['data']) => _partial)
      assert.equal(
        partial.map(({ content }: Seen['data']) => content),
        [shown.trim()],
      )
      assert.is(turn_usage[0].input_tokens, 10)
    },
  ),
)

test(
  'killed while a command runs: the call gets a result that says so, and never runs twice',
  killed([runs('echo x >> runs; sleep 60'), answer], async chat => {
    const stream = await start(chat)
    const file = join(chat.workspace, 'runs')
    await follow(chat, stream, 'tool')
    while (!existsSync(file)) await follow(chat, stream, 'tool')
    await kill(chat)
    await follow(chat, stream)
    assert.is(readFileSync(file, 'utf8'), 'x\n')
    const result = lastRequest(chat).at(-1)
    assert.equal([result?.role, chat.provider.requests.length], ['tool', 2])
    assert.match(result?.content ?? '', 'The service was restarted while this call ran')
    assert.is((await sessionOf(chat)).last_turn, 'done')
  }),
)

for (const how of ['kill', 'restart'] as const) {
  const wrap = how === 'kill' ? killed : restarted
  const again = (chat: Chat<Service>) =>
    'restart' in chat.app ? chat.app.restart() : kill(chat as Chat<SpawnedApp>)

  test(
    `after a ${how} an approval is still open under its id; its answer runs the command once`,
    wrap([runs('rm -rf victim && echo gone >> log'), answer], async (chat: Chat<Service>) => {
      const stream = await start(chat)
      const { data } = (await follow(chat, stream, 'approval')).at(-1) as Seen
      await again(chat)
      const { questions, waiting } = await sessionOf(chat)
      assert.equal([questions[0], waiting], [data, 1])
      assert.equal((await chat.app.get('/api/inbox')).body.questions, [data])
      const said = { session_id: chat.id, approval_id: data.approval_id }
      const given = await chat.app.post('/api/approval/respond', { ...said, choice: 'once' })
      assert.is(given.body.accepted ?? given.body.ok, true)
      const late = await chat.app.post('/api/approval/respond', { ...said, choice: 'deny' })
      assert.not.equal(late.body.accepted, true)
      await follow(chat, stream)
      assert.is(readFileSync(join(chat.workspace, 'log'), 'utf8'), 'gone\n')
      assert.not.match(lastRequest(chat).at(-1)?.content ?? '', 'restarted')
      const session = await sessionOf(chat)
      assert.equal([session.waiting, session.questions, session.last_turn], [0, [], 'done'])
    }),
  )
}

test(
  'a queued message is sent after the turn that went on',
  killed([{ text: 'a', end: 'headers' }, answer, { text: 'Second.' }], async chat => {
    const stream = await start(chat)
    await chat.provider.arrived(1)
    await chat.app.post('/api/queue/add', { session_id: chat.id, text: 'And then?' })
    await kill(chat)
    await follow(chat, stream)
    await chat.provider.arrived(3)
    assert.is(lastRequest(chat).at(-1)?.content.includes('And then?'), true)
  }),
)

test(
  'it can be stopped after the restart, also while it waits for the model',
  restarted([{ end: 'headers' }, { end: 'headers' }], async chat => {
    const stream = await start(chat)
    await chat.provider.arrived(1)
    await chat.app.restart()
    await chat.provider.arrived(2)
    await chat.app.post('/api/chat/cancel', { stream_id: stream })
    assert.ok(types(await follow(chat, stream)).includes('cancel'))
    assert.is((await sessionOf(chat)).last_turn, 'cancelled')
  }),
)

test(
  'a turn that is parked continues after any number of stops in order',
  restarted(
    [...Array.from({ length: 5 }, () => ({ end: 'headers' }) as const), answer],
    async chat => {
      const stream = await start(chat)
      for (let boot = 1; boot <= 5; boot += 1) {
        await chat.provider.arrived(boot)
        await chat.app.restart()
      }
      assert.ok(types(await follow(chat, stream)).includes('done'))
      assert.is((await sessionOf(chat)).last_turn, 'done')
    },
  ),
)

test(
  'a turn that makes no progress in three kills ends as interrupted',
  killed(
    Array.from({ length: 4 }, () => ({ end: 'headers' }) as const),
    async chat => {
      const stream = await start(chat)
      for (let boot = 1; boot <= 4; boot += 1) {
        await chat.provider.arrived(boot)
        await chat.app.kill()
        await chat.app.start()
      }
      assert.ok(types(await follow(chat, stream)).includes('apperror'))
      const session = await sessionOf(chat)
      assert.equal([session.last_turn, chat.provider.requests.length], ['interrupted', 4])
    },
  ),
)

test('a stop waits for the step that runs: its result is recorded, and the turn continues after it', () => {
  const gate = Promise.withResolvers<void>()
  const script: Step[] = [{ ...runs('echo x >> runs'), gate: gate.promise }, answer]
  return restarted(
    script,
    async chat => {
      const stream = await start(chat)
      await chat.provider.arrived(1)
      const restarting = chat.app.restart()
      gate.resolve()
      await restarting
      await follow(chat, stream)
      assert.is(readFileSync(join(chat.workspace, 'runs'), 'utf8'), 'x\n')
      assert.not.match(lastRequest(chat).at(-1)?.content ?? '', 'restarted')
      assert.is(chat.provider.requests.length, 2)
    },
    { parkMs: 30_000 },
  )()
})

test(
  'a live file from a backup ends it as interrupted',
  restarted([{ end: 'headers' }], async chat => {
    const stream = await start(chat)
    await chat.provider.arrived(1)
    const live = join(chat.app.state, 'live', `${stream}.jsonl`)
    const day = 24 * 3_600_000
    const turn = { resumable: true, at: Date.now() / 1_000 } as Recovered
    const may = (path: string, afterMs: number, tookOver = false): boolean =>
      mayResume(turn, path, { now: Date.now() + afterMs, tookOver })
    assert.equal([may(live, 0), may(live, day)], [true, false])
    // The live file is on another machine.
    assert.equal(
      [may('none', 0), may('none', day, true), may('none', 0, true)],
      [false, false, true],
    )
    // As a restore writes it: with the time of the original.
    const { atime, mtime } = statSync(live)
    await chat.app.restart(() => utimesSync(live, atime, new Date(mtime.getTime() - 5_000)))
    assert.ok(types(await follow(chat, stream)).includes('apperror'))
    const session = await sessionOf(chat)
    assert.equal([session.last_turn, chat.provider.requests.length], ['interrupted', 1])
  }),
)

for (const [script, limit] of [
  [[answer], null],
  [[todo('c1'), answer], 'steps'],
] as const)
  test(
    `killed between the last message and the end of the turn (limit: ${limit}): it is done, and the model is not called again`,
    restarted([...script], async chat => {
      if (limit) await chat.app.post('/api/budgets', { steps: 1 })
      const stream = await start(chat)
      await follow(chat, stream)
      const file = join(chat.app.state, 'sessions', `${chat.id}.jsonl`)
      const live = join(chat.app.state, 'live', `${stream}.jsonl`)
      const upTo = (path: string, type: string) =>
        readFileSync(path, 'utf8').split(new RegExp(`(?<=\\n)(?=[^\\n]*"${type}")`))[0] ?? ''
      const [journal, events] = [upTo(file, 'turn_ended'), upTo(live, 'done')]
      await chat.app.restart(() => {
        writeFileSync(file, journal)
        writeFileSync(live, events)
      })
      const session = await sessionOf(chat)
      assert.equal(
        [session.last_turn, session.last_turn_limit ?? null, session.active_stream_id],
        ['done', limit, null],
      )
      assert.is(session.messages.at(-1).content, 'All done.')
      assert.equal(
        [chat.provider.requests.length, session.turn_usage[0].input_tokens],
        [script.length, 10 * script.length],
      )
      assert.equal(types(await follow(chat, stream)).slice(-2), ['done', 'stream_end'])
    }),
  )

test(
  'the reasoning of its earlier steps goes back to the model as that of the running turn',
  restarted(
    [{ reasoning: 'First look.', ...todo('c1') }, { end: 'headers' }, answer],
    async chat => {
      const stream = await start(chat)
      await chat.provider.arrived(2)
      await chat.app.restart()
      await follow(chat, stream)
      const [, second, third] = chat.provider.requests
      assert.equal(third?.body, second?.body)
    },
  ),
)

for (const [where, cut] of [
  ['its last message and its end', 'before'],
  ['its end and the next turn', 'after'],
] as const)
  for (const route of ['/api/queue/add', '/api/chat/steer'] as const)
    test(
      `killed between ${where}: a message that waits (${route}) is sent after the restart, once`,
      killed([answer, { text: 'Second.', usage }], async chat => {
        const { app, provider, id } = chat
        const stream = await start(chat)
        await follow(chat, stream)
        const file = join(app.state, 'sessions', `${id}.jsonl`)
        const live = join(app.state, 'live', `${stream}.jsonl`)
        const lines = (path: string) => readFileSync(path, 'utf8').split(/(?<=\n)/)
        await app.kill()
        const journal = lines(file)
        const end = journal.findIndex(line => line.includes('"turn_ended"'))
        const steer = route === '/api/chat/steer' && { steer: true }
        const queued = [{ id: 'q1', text: 'And then?', attachments: [], at: 1, ...steer }]
        const number = JSON.parse(journal[end] ?? '').n
        const added = `${JSON.stringify({ n: number, t: 'meta', at: 1, patch: { queued } })}\n`
        const ends = cut === 'after' ? [{ ...JSON.parse(journal[end] ?? ''), n: number + 1 }] : []
        writeFileSync(
          file,
          [...journal.slice(0, end), added, ...ends.map(each => `${JSON.stringify(each)}\n`)].join(
            '',
          ),
        )
        const events = lines(live)
        const done = events.findIndex(line => line.includes('"done"'))
        if (cut === 'before') writeFileSync(live, events.slice(0, done).join(''))
        await app.start()
        await provider.arrived(2)
        assert.is(lastRequest(chat).at(-1)?.content.includes('And then?'), true)
        await until(async () => (await sessionOf(chat)).last_turn === 'done')
        const session = await sessionOf(chat)
        assert.equal(
          session.messages.map(({ content }: Seen['data']) => content),
          ['Go.', 'All done.', 'And then?', 'Second.'],
        )
        assert.equal([session.queued, provider.requests.length], [[], 2])
      }),
    )

/** A request of a program, whose connection is lost with the service. */
const ask = async (
  { app }: Chat<SpawnedApp>,
  token: Record<string, unknown>,
  body: Record<string, unknown> = {},
): Promise<string> => {
  await app.post('/api/tokens/enable', { enabled: true })
  const made = await app.post('/api/tokens/create', { name: 'test', ...token })
  const messages = [{ role: 'user', content: 'Go.' }]
  app
    .request('POST', '/v1/chat/completions', {
      body: { model: 'agent', messages, ...body },
      headers: { authorization: `Bearer ${made.body.secret}` },
    })
    .catch(() => undefined)
  return made.body.tokens.at(-1).id
}

for (const [what, token, body, how] of [
  ['that goes on without its connection', { disconnect: 'continue' }, {}, 'done'],
  ['that stops with its connection', { disconnect: 'stop' }, {}, 'interrupted'],
  [
    'with instructions, which are not kept,',
    { disconnect: 'continue' },
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Go.' },
      ],
    },
    'interrupted',
  ],
] as const)
  test(
    `after a kill the turn of a program ${what} is ${how}`,
    killed([{ end: 'headers' }, answer], async chat => {
      const { app, provider } = chat
      await ask(chat, token, body)
      await provider.arrived(1)
      const [row] = (await app.get('/api/sessions')).body.sessions
      const own = { ...chat, id: row.session_id }
      await kill(chat)
      await until(async () => (await sessionOf(own)).last_turn === how)
      const { messages } = await sessionOf(own)
      const isDone = how === 'done'
      assert.equal([messages.length, provider.requests.length], [2, isDone ? 2 : 1])
      assert.match(messages[1].content, isDone ? 'All done.' : 'The server stopped')
    }),
  )

test(
  'a turn of a program whose token has ended does not continue',
  killed([{ end: 'headers' }], async chat => {
    const { app, provider } = chat
    const id = await ask(chat, { disconnect: 'continue' })
    await provider.arrived(1)
    const [row] = (await app.get('/api/sessions')).body.sessions
    await app.kill()
    const file = join(app.state, 'api-tokens.json')
    const stored = JSON.parse(readFileSync(file, 'utf8'))
    stored.tokens = stored.tokens.filter((each: { id: string }) => each.id !== id)
    writeFileSync(file, JSON.stringify(stored))
    await app.start()
    const own = { ...chat, id: row.session_id }
    await until(async () => (await sessionOf(own)).last_turn === 'interrupted')
    assert.is(provider.requests.length, 1)
  }),
)

test.run()
