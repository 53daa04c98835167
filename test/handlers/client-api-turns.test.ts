/** Turns of the client API: which chat continues, repeated and branched histories, approvals, cut connections, failures. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { png } from '../_images.ts'
import { broken, gate, type Step } from '../_provider.ts'
import {
  type Api,
  all,
  assistant,
  chats,
  removes,
  withApi,
  withStillApi,
  user,
  WEATHER,
  weatherCall,
} from './_client-api.ts'

const turns = suite('client API: turns')

type Messages = OpenAI.ChatCompletionMessageParam[]

const say = async ({ openai }: Api, messages: Messages): Promise<string> => {
  const { choices } = await openai().chat.completions.create({ model: 'agent', messages })
  return choices[0]?.message.content ?? ''
}

turns(
  'a client that sends its whole history continues one chat, with the same prompt bytes, also after a restart',
  withApi(
    async service => {
      const history: Messages = [user('One')]
      for (const next of ['Two', 'Three', null]) {
        history.push(assistant(await say(service, history)))
        if (next !== null) history.push(user(next))
        if (next === 'Three') await service.app.restart()
      }
      const rows = await chats(service)
      assert.is(rows.length, 1)
      assert.is(rows[0]?.message_count, 6)
      const asked = service.asked()
      for (const [at, { messages }] of asked.entries())
        if (at > 0)
          assert.equal(
            messages.slice(0, asked[at - 1].messages.length),
            asked[at - 1].messages,
            `request ${at}`,
          )
    },
    { text: 'First  answer.\n\nWith two parts.' },
    { text: 'Second.' },
    { text: 'Third.' },
  ),
)

turns(
  'a repeated question replaces its answer; another question at an earlier point is a branch; an unknown history is imported',
  withApi(
    async service => {
      const first = [user('One'), assistant(await say(service, [user('One')]))]
      await say(service, [...first, user('Two')])
      await say(service, [...first, user('Two')])
      const [only] = await chats(service)
      assert.is((await chats(service)).length, 1)
      assert.equal(
        (await service.messages(String(only?.session_id))).map(({ content }) => content),
        ['One', 'A', 'Two', 'C'],
      )
      await say(service, [...first, user('Something else')])
      assert.is((await chats(service)).length, 2)
      assert.is((await service.messages(String(only?.session_id))).length, 4)
      await say(service, [user('Said elsewhere'), assistant('Yes.'), user('Go on')])
      const rows = await chats(service)
      assert.is(rows.length, 3)
      const imported = rows.find(({ preview }) => preview === 'Go on')
      assert.equal(
        (await service.messages(String(imported?.session_id))).map(({ content }) => content),
        ['Said elsewhere', 'Yes.', 'Go on', 'E'],
      )
    },
    ...['A', 'B', 'C', 'D', 'E'].map(text => ({ text })),
  ),
)

turns(
  'rejects results that are unknown, doubled or missing (400) and starts no turn',
  withApi(
    async service => {
      const { openai, app, headers, asked } = service
      const tools = [{ type: 'function' as const, function: WEATHER }]
      const start: Messages = [user('Weather?')]
      const first = await openai().chat.completions.create({
        model: 'agent',
        messages: start,
        tools,
      })
      const answer = first.choices[0]!.message
      const result = (id: string) => ({ role: 'tool' as const, tool_call_id: id, content: 'x' })
      const before = [...start, answer]
      const wrong: Messages[] = [
        [...before, user('Never mind')],
        [...before, result('other')],
        [...before, result('w1'), result('w1')],
        [...before, result('w1'), result('other')],
        [user('Hello'), assistant('Yes'), result('w1')],
      ]
      for (const messages of wrong) {
        const { status, body } = await app.post(
          '/v1/chat/completions',
          { model: 'agent', messages, tools },
          { headers },
        )
        assert.is(status, 400, JSON.stringify(body))
        assert.is(body.error.param, 'messages')
        assert.is(body.error.type, 'invalid_request_error')
      }
      assert.is(asked().length, 1)
      assert.is((await chats(service)).length, 1)
    },
    { toolCalls: [weatherCall('w1', 'Rome')] },
  ),
)

turns(
  'rejects parameters it cannot honor, and names them',
  withApi(async ({ app, headers, asked }) => {
    const messages = [user('Hello')]
    const cases: [path: string, body: Record<string, unknown>, param: string][] = [
      ['/v1/chat/completions', { messages, n: 2 }, 'n'],
      ['/v1/chat/completions', { messages, stop: ['x'] }, 'stop'],
      ['/v1/chat/completions', { messages, logprobs: true }, 'logprobs'],
      ['/v1/chat/completions', { messages: [] }, 'messages'],
      ['/v1/chat/completions', { messages: [{ role: 'user' }, assistant('x')] }, 'messages'],
      ['/v1/chat/completions', { messages: [{ role: 'robot', content: 'x' }] }, 'messages.0.role'],
      ['/v1/chat/completions', { messages, tools: [{ type: 'function' }] }, 'tools.0.function'],
      [
        '/v1/chat/completions',
        { messages, tools: [1, 2].map(() => ({ type: 'function', function: WEATHER })) },
        'tools.1',
      ],
      [
        '/v1/chat/completions',
        { messages, tools: [{ type: 'function', function: { name: 'call_tool' } }] },
        'tools.0',
      ],
      [
        '/v1/chat/completions',
        {
          messages: [
            {
              role: 'user',
              content: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }],
            },
          ],
        },
        'messages',
      ],
      [
        '/v1/chat/completions',
        { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
        'messages.0.content.0',
      ],
      ['/v1/responses', { input: 'x', background: true }, 'background'],
      ['/v1/responses', { input: 'x', include: ['message.output_text.logprobs'] }, 'include'],
      [
        '/v1/responses',
        { input: 'x', previous_response_id: 'a', conversation: 'b' },
        'previous_response_id',
      ],
    ]
    for (const [path, body, param] of cases) {
      const answer = await app.post(path, { model: 'agent', ...body }, { headers })
      assert.is(answer.status, 400, `${path} ${JSON.stringify(body)} ${answer.text}`)
      assert.is(answer.body.error.param, param)
    }
    const theirs = await app.post('/v1/messages', { messages, stop_sequences: ['x'] }, { headers })
    assert.equal([theirs.status, theirs.body.error.type], [400, 'invalid_request_error'])
    const unknown = await app.post(
      '/v1/chat/completions',
      { model: 'gpt-x', messages },
      { headers },
    )
    assert.equal([unknown.status, unknown.body.error.code], [404, 'model_not_found'])
    assert.is(asked().length, 0)
  }),
)

turns(
  'lists models in both forms; a listed one can be named, and is the one that is called',
  withApi(
    async ({ app, headers, openai, anthropic, asked, provider }) => {
      provider.models = ['test-model', 'org/other:1']
      const ids = (await all(openai().models.list())).map(({ id }) => id)
      assert.is(ids[0], 'agent')
      assert.ok(ids.includes('test-model'))
      assert.is((await openai().models.retrieve('test-model')).id, 'test-model')
      const theirs = await anthropic().models.list()
      assert.equal(
        theirs.data.map(({ id }) => id),
        ids,
      )
      assert.is((await app.get('/v1/models/none', { headers })).status, 404)
      await openai().chat.completions.create({ model: 'test-model', messages: [user('Hi')] })
      assert.is(asked()[0].model, 'test-model')
    },
    { text: 'Yes.' },
  ),
)

turns(
  'an image of the message reaches a model that accepts images; the transcript has only its path',
  withApi(
    async service => {
      const { app, openai, asked } = service
      const path = join(app.home, 'config.yaml')
      writeFileSync(
        path,
        readFileSync(path, 'utf8').replace('model:\n', 'model:\n  supports_vision: true\n'),
      )
      const data = png(8, 8).toString('base64')
      await openai().chat.completions.create({
        model: 'agent',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
            ],
          },
        ],
      })
      assert.match(JSON.stringify(asked()[0].messages.at(-1)), data)
      const [row] = await chats(service)
      const journal = readFileSync(join(app.state, 'sessions', `${row?.session_id}.jsonl`), 'utf8')
      assert.not.match(journal, data)
    },
    { text: 'A red square.' },
  ),
)

turns(
  'what needs approval waits for the page, or is denied at once where the token says so',
  withApi(
    async service => {
      const { app, openai, makeToken, push } = service
      const { workspace } = (await app.post('/api/session/new', {})).body.session
      mkdirSync(join(workspace, 'victim'))
      const strict = await makeToken({ approvals: 'deny' })
      const denied = await openai(strict.secret).chat.completions.create({
        model: 'agent',
        messages: [user('Delete it')],
      })
      assert.is(denied.choices[0]?.message.content, 'Not allowed.')
      assert.ok(existsSync(join(workspace, 'victim')))
      push(removes, { text: 'Deleted.' })
      const waiting = say(service, [user('Delete it')])
      const inbox = app.events('/api/events')
      let question: Record<string, unknown> | undefined
      while (!question) [question] = (await app.get('/api/inbox')).body.questions
      inbox.close()
      assert.is(question.command, 'rm -rf victim')
      const { session_id, approval_id } = question
      await app.post('/api/approval/respond', { session_id, approval_id, choice: 'once' })
      assert.is(await waiting, 'Deleted.')
      assert.not.ok(existsSync(join(workspace, 'victim')))
    },
    removes,
    { text: 'Not allowed.' },
  ),
)

turns(
  'a closed connection stops the turn, unless the token says that it continues',
  withApi(async service => {
    const { app, openai, makeToken, push, provider } = service
    const first = gate()
    push({ text: ['One ', 'two ', 'three'], middle: first.opened })
    const cut = await openai().chat.completions.create({
      model: 'agent',
      messages: [user('Long')],
      stream: true,
    })
    for await (const chunk of cut) if (chunk.choices[0]?.delta.content) break
    await (await provider.arrived(1)).closed
    const [stopped] = await chats(service)
    assert.is(stopped?.last_turn, 'cancelled')
    first.open()

    const silent = gate()
    push({ text: 'never', gate: silent.opened })
    const abort = new AbortController()
    const plain = openai().chat.completions.create(
      { model: 'agent', messages: [user('Plain')] },
      { signal: abort.signal },
    )
    const aborted = plain.catch(error => error)
    const asked = await provider.arrived(2)
    abort.abort()
    assert.ok((await aborted) instanceof OpenAI.APIUserAbortError)
    await asked.closed
    assert.ok((await chats(service)).every(({ last_turn }) => last_turn === 'cancelled'))
    silent.open()

    const second = gate()
    push({ text: ['One ', 'two ', 'three'], middle: second.opened })
    const patient = await makeToken({ disconnect: 'continue' })
    const left = await openai(patient.secret).chat.completions.create({
      model: 'agent',
      messages: [user('Longer')],
      stream: true,
    })
    for await (const chunk of left) if (chunk.choices[0]?.delta.content) break
    const running = (await chats(service)).find(({ is_streaming }) => is_streaming)
    const events = app.events(`/api/chat/stream?stream_id=${running?.active_stream_id}`)
    second.open()
    const seen = await events.until(({ event }) => event === 'done')
    assert.is(seen.at(-1)?.event, 'done')
    events.close()
    // The conversation can be continued although its answer was not read.
    push({ text: 'Four' })
    const { choices } = await openai(patient.secret).chat.completions.create({
      model: 'agent',
      messages: [user('Longer'), assistant('One two three'), user('And?')],
    })
    assert.is(choices[0]?.message.content, 'Four')
    assert.is((await chats(service)).length, 3)
  }),
)

turns(
  'a second request in the same conversation is a conflict (409) while the first one runs',
  withApi(async service => {
    const { app, openai, headers, push, provider } = service
    const { opened, open } = gate()
    push({ text: 'Done.', gate: opened })
    const named = { ...headers, 'x-hermes-session-id': 'one' }
    const first = openai().chat.completions.create(
      { model: 'agent', messages: [user('A')] },
      { headers: { 'x-hermes-session-id': 'one' } },
    )
    await provider.arrived(1)
    const [row] = await chats(service)
    const busy = { model: 'agent', messages: [user('B')] }
    const direct = { ...named, 'x-hermes-session-id': String(row?.session_id) }
    const answer = await app.post('/v1/chat/completions', busy, { headers: direct })
    assert.is(answer.status, 409)
    assert.is(answer.body.error.code, 'session_busy')
    assert.is(answer.headers['retry-after'], '2')
    open()
    assert.is((await first).choices[0]?.message.content, 'Done.')
  }),
)

const FAILURES: [step: Step, status: number, code: string][] = [
  [{ status: 401, body: { error: { message: 'bad key' } } }, 400, 'auth_mismatch'],
  [
    { status: 404, body: { error: { message: 'no such model', code: 'model_not_found' } } },
    404,
    'model_not_found',
  ],
]

turns(
  'a failed turn is an error in the form of the API, which clients do not repeat by themselves',
  withStillApi(async ({ app, headers, push, openai, retryNow }) => {
    for (const [step, status, code] of FAILURES) {
      for (const stream of [false, true]) {
        push(step)
        const body = { model: 'agent', messages: [user('Hello')], stream }
        const answer = await app.post('/v1/chat/completions', body, { headers })
        assert.is(answer.status, status, answer.text)
        assert.is(answer.body.error.code, code)
        // The request was fine, whatever the status says to programs that repeat by it.
        if (status === 400) assert.is(answer.body.error.type, 'server_error')
        assert.is(answer.headers['x-should-retry'], 'false')
      }
    }
    // After the first text, the error is an event of the stream.
    push(broken(['One ', 'two'], '10 minutes'), FAILURES[0]![0])
    const stream = await openai().chat.completions.create({
      model: 'agent',
      messages: [user('Hello')],
      stream: true,
    })
    await retryNow()
    await all(stream).then(
      () => assert.unreachable(),
      error => assert.ok(error instanceof OpenAI.APIError),
    )
  }),
)

turns(
  'text that a retry repeats is sent once',
  withStillApi(
    async ({ openai, retryNow }) => {
      const stream = await openai().chat.completions.create({
        model: 'agent',
        messages: [user('Hello')],
        stream: true,
      })
      await retryNow()
      const chunks = await all(stream)
      assert.is(
        chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''),
        'One two three',
      )
    },
    broken(['One ', 'tw'], '10 minutes'),
    { text: ['One ', 'two three'] },
  ),
)

turns.run()
