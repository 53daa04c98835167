/** Reasoning of finished turns: stored for the provider only, sent back unchanged where its endpoint wants it, and nowhere else. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { delta, frame, gate, type Recorded, type Step } from '../_provider.ts'
import { startChat } from './_chat.ts'
import { requirePrefix } from './_prefix.ts'

const test = suite('reasoning across turns')

type Chat = Awaited<ReturnType<typeof startChat>>
type Body = Recorded['body']

/** How a family sends a thought with a call or with an answer, and whether the next turn must contain it. */
type Family = {
  name: string
  apiMode: 'chat_completions' | 'anthropic_messages' | 'codex_responses'
  model: string
  isReturned: boolean
  answer: (thought: string, text: string, call?: string) => Step
}

const toolCall = (id: string, extra: object = {}) => ({
  index: 0,
  id,
  type: 'function',
  function: { name: 'todo', arguments: '{"todos":[]}' },
  ...extra,
})

const chunks = (...deltas: object[]): Step => {
  const isCall = deltas.some(one => 'tool_calls' in one)
  const all = [...deltas.map(one => delta(one)), delta({}, isCall ? 'tool_calls' : 'stop')]
  return { raw: `${all.map(frame).join('')}data: [DONE]\n\n` }
}

const usual = (thought: string, text: string, call?: string): Step => ({
  reasoning: thought,
  text,
  ...(call && { toolCalls: [{ id: call, name: 'todo', arguments: { todos: [] } }] }),
})

const FAMILIES: Family[] = [
  {
    name: 'reasoning_content',
    apiMode: 'chat_completions',
    model: 'deepseek-v4-pro',
    isReturned: true,
    answer: usual,
  },
  {
    name: '<think> in the content',
    apiMode: 'chat_completions',
    model: 'MiniMax-M2.5',
    isReturned: true,
    answer: (thought, text, call) =>
      chunks(
        { content: `<think>${thought}</think>\n\n${text}` },
        ...(call ? [{ tool_calls: [toolCall(call)] }] : []),
      ),
  },
  {
    name: 'signatures on calls',
    apiMode: 'chat_completions',
    model: 'gemini-3-pro',
    isReturned: true,
    answer: (thought, text, call) =>
      chunks(
        { content: text },
        ...(call
          ? [
              {
                tool_calls: [
                  toolCall(call, { extra_content: { google: { thought_signature: thought } } }),
                ],
              },
            ]
          : []),
      ),
  },
  {
    name: 'reasoning of an unknown model',
    apiMode: 'chat_completions',
    model: 'test-model',
    isReturned: false,
    answer: usual,
  },
  {
    name: 'reasoning that R1 would reject',
    apiMode: 'chat_completions',
    model: 'deepseek-r1-0528',
    isReturned: false,
    answer: usual,
  },
  {
    name: 'signed blocks',
    apiMode: 'anthropic_messages',
    model: 'claude-opus-4-6',
    isReturned: true,
    answer: usual,
  },
  {
    name: 'encrypted items',
    apiMode: 'codex_responses',
    model: 'gpt-5.4',
    isReturned: true,
    answer: usual,
  },
]

/** An error inside the stream, with a short delay so that the test is fast. */
const OVERLOADED = frame({
  type: 'error',
  error: { type: 'overloaded_error', message: 'Overloaded. Please retry in 5 ms.' },
})

const configure = ({ app, provider }: Chat, { apiMode, model }: Family, more = {}): void =>
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      model: { provider: 'custom:one', default: model },
      custom_providers: [
        { name: 'one', base_url: provider.url, api_mode: apiMode, models: [model, 'another'] },
      ],
      checkpoints: { enabled: false },
      ...more,
    }),
  )

const named = async ({ app, newSession }: Chat): Promise<string> => {
  const session_id = await newSession()
  await app.post('/api/session/rename', { session_id, title: 'Named' })
  return session_id
}

const withChat = async (family: Family, run: (chat: Chat, id: string) => Promise<void>) => {
  await using chat = await startChat()
  configure(chat, family)
  await run(chat, await named(chat))
}

const journalOf = ({ app }: Chat, id: string): string =>
  readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')
const sentText = ({ provider }: Chat): string => JSON.stringify(provider.requests.at(-1)?.body)
/** Titles have no tools. */
const steps = ({ provider }: Chat): Body[] =>
  provider.requests.map(({ body }) => body).filter(({ tools }) => tools?.length > 0)

for (const family of FAMILIES) {
  const { answer, isReturned } = family
  test(`${family.apiMode}, ${family.name}: turns with a retry, steering and a restart ${isReturned ? 'share a prefix' : 'leave it out'}`, () =>
    withChat(family, async (chat, id) => {
      const { app, provider } = chat
      const say = async (text: string, ...script: Step[]) => {
        provider.push(...script)
        return chat.turn(id, text)
      }
      await say('one', answer('thought-1', 'I look.', 'a'), answer('thought-2', 'Done.'))
      await say(
        'two',
        answer('thought-3', '', 'b'),
        { raw: OVERLOADED },
        answer('thought-4', 'Whole.'),
      )
      const held = gate()
      provider.push(
        { ...answer('thought-5', 'I go on.', 'c'), gate: held.opened },
        answer('thought-6', 'Steered.'),
      )
      const count = provider.requests.length
      const steered = await chat.send(id, 'three')
      await provider.arrived(count + 1)
      await app.post('/api/chat/steer', { session_id: id, message: 'and quickly' })
      held.open()
      await chat.follow(steered)
      await app.restart()
      await say('four', answer('thought-7', '', 'd'), answer('thought-8', 'End.'))
      await say('five', answer('thought-9', 'Last.'))

      const last = sentText(chat)
      for (const thought of ['thought-1', 'thought-3', 'thought-5', 'thought-7'])
        assert.is(last.includes(thought), isReturned, thought)
      if (isReturned) requirePrefix(provider.requests)
      // Within a turn it always goes back.
      assert.match(JSON.stringify(steps(chat).at(-2)), 'thought-7')
    }))
}

test('is stored beside the message and read by nothing but requests to the provider', () =>
  withChat(FAMILIES[5]!, async (chat, id) => {
    const { app, provider } = chat
    provider.push(usual('Secretly thinking.', '', 'a'), usual('More.', 'done'), { text: 'x' })
    await chat.turn(id, 'go')
    const proof = 'signed-by-the-model'
    assert.match(journalOf(chat, id), `"t":"provider_state","at":`)
    assert.match(journalOf(chat, id), proof)
    for (const path of [
      `/api/session?session_id=${id}`,
      `/api/session/export?session_id=${id}`,
      `/api/session/export?session_id=${id}&format=markdown`,
      `/api/sessions`,
    ])
      assert.not.match((await app.get(path)).text, proof, path)
    const { body } = await app.get(`/api/sessions/search?q=${proof}&content=1`)
    assert.equal(body.sessions, [])
    const live = readdirSync(join(app.state, 'live')).map(name =>
      readFileSync(join(app.state, 'live', name), 'utf8'),
    )
    assert.not.match(live.join('\n'), proof)

    // Hidden with its message, gone after a purge.
    await app.post('/api/session/undo', { session_id: id })
    await chat.turn(id, 'again')
    assert.not.match(sentText(chat), proof)
    await app.post('/api/session/purge', { session_id: id })
    assert.not.match(journalOf(chat, id), proof)
    assert.match(journalOf(chat, id), '"content":"again"')
  }))

test('is not sent to another model, and again after the switch back; a fork keeps it', () =>
  withChat(FAMILIES[0]!, async (chat, id) => {
    const { app, provider } = chat
    provider.push(usual('Mine alone.', '', 'a'), usual('Still mine.', 'done'))
    await chat.turn(id, 'go')
    for (const [model, isSent] of [
      ['another', false],
      [FAMILIES[0]!.model, true],
    ] as const) {
      await app.post('/api/session/update', { session_id: id, model: `@custom:one:${model}` })
      provider.push({ text: 'x' })
      await chat.turn(id, `with ${model}`)
      assert.is(steps(chat).at(-1).model, model)
      assert.is(sentText(chat).includes('Mine alone.'), isSent, model)
    }
    const { body } = await app.post('/api/session/branch', { session_id: id })
    provider.push({ text: 'x' })
    await chat.turn(body.session_id ?? body.session.session_id, 'on')
    assert.match(sentText(chat), 'Mine alone.')
    await app.post('/api/session/purge', { session_id: id })
    provider.push({ text: 'x' })
    await chat.turn(id, 'on')
    assert.match(sentText(chat), 'Mine alone.')
  }))

test('reasoning with a secret is not stored', async () => {
  await using chat = await startChat()
  configure(chat, FAMILIES[0]!)
  const secret = 'tango-4417-whiskey-9921'
  writeFileSync(join(chat.app.home, '.env'), `OTHER_API_KEY=${secret}\n`)
  await chat.app.restart()
  const id = await named(chat)
  chat.provider.push(usual(`The key is ${secret}.`, '', 'a'), usual('Harmless.', 'done'))
  await chat.turn(id, 'go')
  assert.match(sentText(chat), secret, 'the turn itself goes on with it')
  assert.not.match(journalOf(chat, id), secret)
  assert.match(journalOf(chat, id), 'Harmless.')
  chat.provider.push({ text: 'x' })
  await chat.turn(id, 'more')
  assert.not.match(sentText(chat), secret)
  assert.match(sentText(chat), 'Harmless.')
})

test('an endpoint that requires it gets it, also in later turns, and one that rejects it stays usable', () =>
  withChat(FAMILIES[3]!, async (chat, id) => {
    const { provider } = chat
    provider.push(usual('Wanted.', '', 'a'), usual('Wanted, too.', 'done'))
    await chat.turn(id, 'go')
    const required: Step = {
      status: 400,
      body: { error: { message: 'The reasoning_content must be passed back to the API.' } },
    }
    provider.push(required, { text: 'x' }, { text: 'y' })
    await chat.turn(id, 'more')
    assert.match(sentText(chat), 'Wanted.')
    const count = provider.requests.length
    await chat.turn(id, 'and more')
    assert.is(provider.requests.length, count + 1, 'learned')
    const refused: Step = {
      status: 400,
      body: {
        error: {
          message:
            "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
        },
      },
    }
    provider.push(refused, { text: 'z' })
    await chat.turn(id, 'once more')
    assert.not.match(sentText(chat), 'Wanted.')
    assert.is((await chat.messages(id)).at(-1)?.content, 'z')
  }))

test.run()
