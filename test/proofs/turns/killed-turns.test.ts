/** What a kill of the service in mid-turn leaves behind: queued messages, hooks, waits, subagents, keys of requests. */
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { acceptSettings, type SpawnedApp, spawnApp } from '../../_app.ts'
import { createProvider, type Scripted, type Step } from '../../_provider.ts'
import { isAlive, until } from '../../_wait.ts'

const test = suite('killed turns')

type Chat = { app: SpawnedApp; provider: Scripted; session_id: string }

/** A spawned service with a session that has its name, so that no model is asked for one. */
const spawned =
  (script: Step[], run: (chat: Chat) => Promise<void>, config: object = {}) =>
  async () => {
    const provider = await createProvider(...script)
    const app = await spawnApp()
    try {
      const model = { provider: 'custom', base_url: provider.url, default: 'test-model' }
      // JSON is YAML.
      const text = JSON.stringify({ model, checkpoints: { enabled: false }, ...config })
      writeFileSync(join(app.home, 'config.yaml'), text)
      await acceptSettings(app)
      const { session_id } = (await app.post('/api/session/new', {})).body.session
      await app.post('/api/session/rename', { session_id, title: 'Named' })
      await run({ app, provider, session_id })
    } finally {
      await app.close()
      await provider.close()
    }
  }

const start = async ({ app, session_id }: Chat): Promise<string> =>
  (await app.post('/api/chat/start', { session_id, message: 'go' })).body.stream_id

const follow = async ({ app }: Chat, stream_id: string, last = 'stream_end') => {
  for await (const { event } of app.events(`/api/chat/stream?stream_id=${stream_id}`))
    if (event === last) break
}

const sessionOf = async ({ app, session_id }: Chat) =>
  (await app.get(`/api/session?session_id=${session_id}&limit=50`)).body.session

type Message = { role: string; content: string }
const contents = (messages: Message[], role: string): string[] =>
  messages.filter(message => message.role === role).map(({ content }) => content)

test(
  'queued and steering messages survive exactly once',
  spawned([{ text: 'x', end: 'headers' }], async chat => {
    const { app, provider, session_id } = chat
    await start(chat)
    await provider.arrived(1)
    await app.post('/api/queue/add', { session_id, message: 'queued' })
    await app.post('/api/chat/steer', { session_id, message: 'steered' })
    await app.kill()
    provider.push({ text: 'A' }, { text: 'B' }, { text: 'C' })
    await app.start()
    // The turn continues with the one, and the other one follows it.
    await provider.arrived(3)
    assert.equal((await app.get(`/api/queue?session_id=${session_id}`)).body.queued, [])
    const { messages } = await sessionOf(chat)
    assert.equal(contents(messages, 'user'), ['go', 'steered', 'queued'])
  }),
)

const delegate: Step = {
  toolCalls: [
    { id: 'd1', name: 'delegate_task', arguments: { goal: 'Count the files', context: 'Here.' } },
  ],
}
const run = (command: string, id: string): Step => ({
  toolCalls: [{ id, name: 'terminal', arguments: { command } }],
})

test(
  'the result of a subagent’s call holds what it did, restored from the turn’s log',
  spawned([delegate, run('echo counted', 'x1'), { text: 'never', end: 'headers' }], async chat => {
    const { app, provider } = chat
    await start(chat)
    await provider.arrived(3)
    await app.kill()
    await app.start()
    const { results } = JSON.parse(contents((await sessionOf(chat)).messages, 'tool')[0]!)
    assert.equal([results[0]?.status, results[0]?.tool_trace.length], ['interrupted', 1])
  }),
)

test(
  'a command that ran when the service was killed has ended when the model hears of it',
  spawned([run('echo $$ > "$HOME/pid"; exec sleep 600', 'c1')], async chat => {
    const { app, provider } = chat
    await start(chat)
    const file = join(app.userHome, 'pid')
    await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'))
    const pid = Number(readFileSync(file, 'utf8'))
    await app.kill()
    assert.ok(isAlive(pid), 'nothing ends it with the service')
    provider.push({ text: 'Done.' })
    await app.start()
    await provider.arrived(2)
    assert.not(isAlive(pid))
  }),
)

/** Runs until the service was killed; the next one ends at once. */
const held =
  'test -e "$HOME/killed" || { touch "$HOME/held"; while test -e "$HOME/held"; do sleep 0.1; done; }'

test(
  'a call whose hook was running is not made again, and the turn continues',
  spawned(
    [run('true', 'c1')],
    async chat => {
      const { app, provider } = chat
      const stream_id = await start(chat)
      await until(() => existsSync(join(app.userHome, 'held')))
      await app.kill()
      renameSync(join(app.userHome, 'held'), join(app.userHome, 'killed'))
      provider.push(run('echo again', 'c2'), { text: 'Done.' })
      await app.start()
      await follow(chat, stream_id)
      const results = contents((await sessionOf(chat)).messages, 'tool')
      assert.is(results.length, 2)
      assert.match(results[0]!, /error/)
      assert.match(results[1]!, /again/)
    },
    { hooks: { pre_tool_call: [{ command: held }] } },
  ),
)

test(
  'a call that waited to be repeated is made at once, and the usage of earlier calls counts once',
  spawned(
    [
      {
        toolCalls: [{ name: 'todo', arguments: {} }],
        usage: { prompt_tokens: 70, completion_tokens: 5 },
      },
      {
        status: 429,
        headers: { 'retry-after': '600' },
        body: { error: { message: 'Slow down.' } },
      },
      { text: 'Went on.' },
    ],
    async chat => {
      const { app } = chat
      const stream_id = await start(chat)
      await follow(chat, stream_id, 'retry')
      await app.kill()
      await app.start()
      await follow(chat, stream_id)
      const session = await sessionOf(chat)
      assert.equal([session.live, session.last_turn], [null, 'done'])
      assert.is(session.messages.at(-1).content, 'Went on.')
      assert.is((await app.post('/api/chat/retry', { stream_id })).body.retried, false)
      await app.kill()
      await app.start()
      const again = await sessionOf(chat)
      assert.equal([again.input_tokens, again.turn_usage[0].input_tokens], [70, 70])
      assert.equal([again.turn_usage.length, again.last_usage.output_tokens], [1, 5])
    },
  ),
)

test(
  'a request with the same key has the same stream, and nothing is sent twice',
  spawned([{ text: 'Hello.' }], async chat => {
    const { app, provider, session_id } = chat
    const key = (name: string) => ({ headers: { 'Idempotency-Key': name } })
    const input = { session_id, message: 'Hi.' }
    const first = await app.post('/api/chat/start', input, key('k1'))
    await until(async () => (await sessionOf(chat)).last_turn === 'done')
    await app.post('/api/projects/create', { name: 'One' }, key('k2'))
    await app.kill()
    await app.start()
    const replayed = await app.post('/api/chat/start', input, key('k1'))
    assert.equal([replayed.body, replayed.headers['idempotency-replayed']], [first.body, 'true'])
    // Killed before the replies were written.
    await app.kill()
    const keys = join(app.state, 'request-keys')
    for (const name of readdirSync(keys)) {
      const lines = readFileSync(join(keys, name), 'utf8').split('\n')
      writeFileSync(join(keys, name), lines.filter(line => !line.includes('"ended"')).join('\n'))
    }
    await app.start()
    const again = await app.post('/api/chat/start', input, key('k1'))
    assert.equal(again.body, { ...first.body, repeated: true })
    const unknown = await app.post('/api/projects/create', { name: 'One' }, key('k2'))
    assert.equal([unknown.status, unknown.body.code], [409, 'request_interrupted'])
    assert.equal([(await sessionOf(chat)).messages.length, provider.requests.length], [2, 1])
  }),
)

test.run()
