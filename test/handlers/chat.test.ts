/** Turns over real HTTP with a scripted provider: refused, run, failed, stopped, resumed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate, type Step } from '../_provider.ts'
import { startChat, textOf, types } from './_chat.ts'

const chat = suite('chat')

const withChat =
  (run: (chat: Awaited<ReturnType<typeof startChat>>) => Promise<void>, ...script: Step[]) =>
  async () => {
    await using service = await startChat(...script)
    await run(service)
  }

chat(
  'rejects an empty message (400) and an unknown session or stream (404)',
  withChat(async ({ app, newSession }) => {
    const id = await newSession()
    for (const message of ['', '   ', undefined]) {
      const { status, body } = await app.post('/api/chat/start', { session_id: id, message })
      assert.is(status, 400)
      assert.is(body.error, 'message is required')
    }
    const blocking = await app.post('/api/chat', { session_id: id, message: ' ' })
    assert.equal([blocking.status, blocking.body.error], [400, 'empty message'])
    for (const path of ['/api/chat/start', '/api/chat']) {
      const { status, body } = await app.post(path, { session_id: 'ffffffffffff', message: 'x' })
      assert.equal([status, body.error], [404, 'Session not found'])
    }
    const stream = await app.get(`/api/chat/stream?stream_id=${'0'.repeat(32)}`)
    assert.equal([stream.status, stream.body.error], [404, 'stream not found'])
    const none = await app.get('/api/chat/stream/status?stream_id=x')
    assert.equal(none.body, { active: false, stream_id: 'x' })
  }),
)

chat(
  'a turn: stores the message before the response, streams tokens, sends the whole session in done, ends with stream_end',
  withChat(
    async ({ app, newSession, send, follow, messages }) => {
      const id = await newSession()
      const stream = await send(id, 'Hello there')
      const journal = readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')
      assert.match(journal, '"content":"Hello there"')
      const seen = await follow(stream)
      assert.is(textOf(seen), 'Good day to you.')
      assert.is(textOf(seen, 'reasoning'), 'thinking')
      assert.ok(seen.every((event, i) => event.id === String(i + 1)))
      assert.is(types(seen).at(-1), 'stream_end')
      assert.equal(seen.at(-1)!.data, { session_id: id })
      const done = seen.find(event => event.event === 'done')!.data as {
        usage: Record<string, number>
        session: { messages: { role: string; content: string; id: string }[]; model: string }
      }
      assert.equal(
        done.session.messages.map(message => [message.role, message.content]),
        [
          ['user', 'Hello there'],
          ['assistant', 'Good day to you.'],
        ],
      )
      assert.equal(Object.keys(done.usage).sort(), [
        'context_length',
        'estimated_cost',
        'input_tokens',
        'last_prompt_tokens',
        'output_tokens',
        'threshold_tokens',
      ])
      assert.equal([done.usage.input_tokens, done.usage.output_tokens], [11, 5])
      const [user, assistant] = await messages(id)
      assert.ok(Number.isInteger(user!.timestamp) && Number.isInteger(assistant!.timestamp))
      assert.equal([assistant!.model, assistant!.provider], ['test-model', 'custom'])
      const row = (await app.get('/api/sessions')).body.sessions[0]
      assert.equal(
        [row.active_stream_id, row.is_streaming, row.input_tokens, row.last_turn, row.title],
        [null, false, 11, 'done', 'A good greeting'],
      )
    },
    {
      reasoning: 'thinking',
      text: ['Good', ' day', ' to you.'],
      usage: { prompt_tokens: 11, completion_tokens: 5 },
    },
    { text: '**Title:** "A good greeting"' },
  ),
)

chat(
  'the model receives the six standard keys and the workspace tag of each message, no display keys',
  withChat(
    async ({ provider, newSession, turn }) => {
      const id = await newSession()
      await turn(id, 'one')
      await turn(id, 'two')
      const sent = provider.requests.findLast(r => JSON.stringify(r.body).includes('two'))!
      const allowed = ['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'refusal']
      for (const message of sent.body.messages)
        for (const key of Object.keys(message)) assert.ok(allowed.includes(key), key)
      const users = sent.body.messages.filter((m: { role: string }) => m.role === 'user')
      assert.match(users[0].content, /^\[Workspace: \/.*\]\none$/)
      assert.match(users[1].content, /^\[Workspace: \/.*\]\ntwo$/)
    },
    { text: 'first', reasoning: 'hidden' },
    { text: 'Title one' },
    { text: 'second' },
  ),
)

chat('rejects a second start while a turn is running (409 with its stream id)', async () => {
  const hold = gate()
  const service = await startChat({ text: ['slow', 'er'], middle: hold.opened })
  try {
    const id = await service.newSession()
    const stream = await service.send(id, 'first')
    const { status, body } = await service.app.post('/api/chat/start', {
      session_id: id,
      message: 'second',
    })
    assert.equal(
      [status, body],
      [
        409,
        {
          error: 'session already has an active stream',
          code: 'session_busy',
          active_stream_id: stream,
        },
      ],
    )
    for (const path of ['clear', 'retry', 'undo', 'purge', 'truncate']) {
      const refused = await service.app.post(`/api/session/${path}`, {
        session_id: id,
        keep_count: 0,
      })
      assert.is(refused.status, 409, path)
    }
    const live = await service.app.get(`/api/chat/stream/status?stream_id=${stream}`)
    assert.is(live.body.active, true)
    hold.open()
    await service.follow(stream)
    assert.equal(
      (await service.messages(id)).map(m => m.content),
      ['first', 'slower'],
    )
  } finally {
    hold.open()
    await service.close()
  }
})

chat(
  'cancel keeps streamed text, frees the session at once, and records nothing later',
  async () => {
    const hold = gate()
    const service = await startChat(
      { text: ['Half of ', 'the answer', ' never comes'], middle: hold.opened, portion: 40 },
      { text: 'next' },
    )
    try {
      const id = await service.newSession()
      const stream = await service.send(id, 'go')
      await service.follow(stream, 'token')
      const { body } = await service.app.post('/api/chat/cancel', { stream_id: stream })
      assert.equal(body, { ok: true, cancelled: true, stream_id: stream })
      const row = (await service.app.get(`/api/session/status?session_id=${id}`)).body
      assert.is(row.agent_running, false)
      hold.open()
      const again = await service.app.get(`/api/chat/cancel?stream_id=${stream}`)
      assert.is(again.body.cancelled, false)
      const seen = await service.follow(stream)
      assert.equal(types(seen).slice(-2), ['cancel', 'stream_end'])
      const [, partial, marker] = await service.messages(id)
      assert.ok(partial!._partial && !partial!._error)
      assert.match(String(partial!.content), /^Half of/)
      assert.equal([marker!.content, marker!._error], ['*Task cancelled.*', true])
      assert.ok(Number.isInteger(marker!.timestamp))
      await service.turn(id, 'go on')
      assert.is((await service.messages(id)).length, 5)
      const sent = JSON.stringify(service.provider.requests.at(-1)!.body)
      assert.not.match(sent, 'Task cancelled')
      assert.match(sent, 'Half of')
    } finally {
      hold.open()
      await service.close()
    }
  },
)

for (const [step, type] of [
  [{ status: 401, body: { error: { message: 'bad key' } } }, 'auth_mismatch'],
  [{ status: 404, body: { error: { message: 'model does not exist' } } }, 'model_not_found'],
  [{ status: 402, body: { error: { message: 'insufficient credit balance' } } }, 'quota_exhausted'],
  [
    { status: 400, body: { error: { message: 'maximum context length is 8192 tokens' } } },
    'context_overflow',
  ],
] as [Step, string][]) {
  chat(
    `a failed turn (${type}) keeps the user message, then the error, then ends`,
    withChat(
      async ({ newSession, turn, messages, app }) => {
        const id = await newSession()
        const seen = await turn(id, 'hello')
        const error = seen.find(event => event.event === 'apperror')!
        assert.is(error.data.type, type)
        assert.equal(types(seen).slice(-2), ['apperror', 'stream_end'])
        const [user, failed] = await messages(id)
        assert.is(user!.content, 'hello')
        assert.match(String(failed!.content), /^\*\*[A-Z].*:\*\* /)
        assert.is(failed!._error, true)
        const row = (await app.get('/api/sessions')).body.sessions[0]
        assert.equal([row.active_stream_id, row.last_turn], [null, 'failed'])
        // A prompt that is too long is sent again with fewer tools.
      },
      ...(type === 'context_overflow' ? [step, step, step, step] : [step]),
    ),
  )
}

chat(
  'tools run in the workspace, parallel results are in order, and cards have their events',
  withChat(
    async ({ app, newSession, send, follow, messages, provider }) => {
      const id = await newSession()
      const { workspace } = (await app.get(`/api/session/status?session_id=${id}`)).body
      writeFileSync(join(workspace, 'a.txt'), 'alpha\n')
      writeFileSync(join(workspace, 'b.txt'), 'beta\n')
      const seen = await follow(await send(id, 'read both'))
      assert.is(seen.filter(event => event.event === 'tool').length, 2)
      assert.is(seen.filter(event => event.event === 'tool_complete').length, 2)
      const all = await messages(id)
      assert.equal(
        all.map(message => message.role),
        ['user', 'assistant', 'tool', 'tool', 'assistant'],
      )
      assert.match(String(all[2]!.content), 'alpha')
      assert.match(String(all[3]!.content), 'beta')
      const ids = all.map(message => message.id)
      assert.is(new Set(ids).size, ids.length)
      const { session } = (await app.get(`/api/session?session_id=${id}`)).body
      assert.equal(
        session.tool_calls.map((call: { name: string; tid: string }) => [call.name, call.tid]),
        [
          ['read_file', 'r1'],
          ['read_file', 'r2'],
        ],
      )
      assert.is(provider.requests[1]!.body.messages.at(-1).tool_call_id, 'r2')
    },
    {
      toolCalls: [
        { id: 'r1', name: 'read_file', arguments: { path: 'a.txt' } },
        { id: 'r2', name: 'read_file', arguments: { path: 'b.txt' } },
      ],
    },
    { text: 'Read.' },
  ),
)

chat('synchronous chat responds after the turn, and returns the same 409', async () => {
  const hold = gate()
  const service = await startChat({ text: 'Answer.', gate: hold.opened })
  try {
    const id = await service.newSession()
    const waiting = service.app.post('/api/chat', { session_id: id, message: 'ask' })
    await service.provider.arrived(1)
    const second = await service.app.post('/api/chat', { session_id: id, message: 'again' })
    assert.is(second.status, 409)
    hold.open()
    const { status, body } = await waiting
    assert.equal([status, body.answer, body.status], [200, 'Answer.', 'done'])
    assert.is(body.session.messages.length, 2)
    assert.is(body.result.completed, true)
  } finally {
    hold.open()
    await service.close()
  }
})

chat(
  'a turn without a usable model fails and keeps the message',
  withChat(async ({ app, newSession, turn, messages }) => {
    writeFileSync(join(app.home, 'config.yaml'), 'model:\n  provider: openrouter\n  default: a/b\n')
    const id = await newSession()
    const seen = await turn(id, 'precious words')
    assert.equal(types(seen).slice(-2), ['apperror', 'stream_end'])
    const [user, error] = await messages(id)
    assert.equal([user!.content, error!._error], ['precious words', true])
  }),
)

chat.run()
