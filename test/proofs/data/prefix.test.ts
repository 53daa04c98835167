/** What was sent to a provider once is sent the same way ever after: a prompt cache lives from it, byte by byte. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate, type Recorded, type Step } from '../../_provider.ts'
import { startChat } from '../../handlers/_chat.ts'
import { requirePrefix } from '../../handlers/_prefix.ts'

const test = suite('prompt prefix')

type Body = Recorded['body']
type Chat = Awaited<ReturnType<typeof startChat>>

const FORMATS = [
  'chat_completions',
  'anthropic_messages',
  'codex_responses',
  'ollama_chat',
] as const

const configure = ({ app, provider }: Chat, apiMode: string, model = 'test-model'): void =>
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      model: { provider: 'custom:one', default: model },
      custom_providers: [
        { name: 'one', base_url: provider.url, api_mode: apiMode, models: [model] },
      ],
    }),
  )

const skill = ({ app }: Chat, text: string): void => {
  const dir = join(app.home, 'skills', 'greeting')
  mkdirSync(dir, { recursive: true })
  writeFileSync(
    join(dir, 'SKILL.md'),
    `---\nname: greeting\ndescription: How to greet\n---\n${text}\n`,
  )
}

const named = async ({ app }: Chat, workspace?: string): Promise<string> => {
  const { body } = await app.post('/api/session/new', workspace ? { workspace } : {})
  const { session_id } = body.session
  await app.post('/api/session/rename', { session_id, title: 'Named' })
  return session_id
}

const usersOf = (body: Body): string[] =>
  (body.messages ?? body.input)
    .filter((message: Body) => message.role === 'user')
    .flatMap((message: Body) =>
      typeof message.content === 'string'
        ? [message.content]
        : message.content.flatMap((part: Body) => (part.text === undefined ? [] : [part.text])),
    )

for (const apiMode of FORMATS)
  test(`ten turns with tools, skills, steering, a queue, stops, errors and a restart share a prefix: ${apiMode}`, async () => {
    const chat = await startChat()
    const { app, provider } = chat
    try {
      configure(
        chat,
        apiMode,
        apiMode === 'anthropic_messages' ? 'claude-sonnet-4-5' : 'test-model',
      )
      skill(chat, 'Say hello in the manner of 1900.')
      mkdirSync(join(app.home, 'memories'), { recursive: true })
      writeFileSync(join(app.home, 'memories', 'MEMORY.md'), 'Likes tea.')
      const place = join(app.userHome, 'one')
      const other = join(app.userHome, 'two')
      for (const dir of [place, other]) mkdirSync(dir)
      writeFileSync(join(place, 'AGENTS.md'), 'Be kind.')
      const id = await named(chat, place)
      const call = (n: number): Step => ({
        text: `I look. \n`,
        toolCalls: [
          { id: `a${n}`, name: 'list_dir_or_not', arguments: '{"broken": ' },
          { id: `b${n}`, name: 'todo', arguments: { todos: [] } },
        ],
      })
      const say = async (text: string, ...steps: Step[]) => {
        provider.push(...steps)
        return chat.turn(id, text)
      }

      await say('one', call(1), call(2), { text: 'Done. \n\n' })
      await say('/greeting the queen', { text: 'Good day.' })
      // What the agent itself changes takes nothing back.
      skill(chat, 'Say hello in another manner.')
      writeFileSync(join(app.home, 'memories', 'MEMORY.md'), 'Likes coffee.')
      appendFileSync(join(place, 'AGENTS.md'), 'Be brief.')
      await say('three', call(3), { text: 'three' })

      const { opened, open } = gate()
      provider.push({ ...call(4), gate: opened }, { text: 'steered' })
      const steered = await chat.send(id, 'four')
      const count = provider.requests.length
      await provider.arrived(Math.max(count, 1))
      await app.post('/api/chat/steer', { session_id: id, message: '/greeting and faster' })
      open()
      await chat.follow(steered)

      const held = gate()
      provider.push({ text: 'five', gate: held.opened }, { text: 'six' })
      const fifth = await chat.send(id, 'five')
      await app.post('/api/queue/add', { session_id: id, message: 'six' })
      held.open()
      await chat.follow(fifth)
      await provider.arrived(provider.requests.length)
      for (;;) {
        const { session } = (await app.get(`/api/session?session_id=${id}`)).body
        if (session.messages.at(-1).content === 'six' && !session.active_stream_id) break
      }

      await app.restart()
      await say('seven', call(7), { text: 'seven' })

      // Stopped in the middle of a step; refused; broken off.
      const stuck = gate()
      provider.push(call(8), { text: 'never', gate: stuck.opened })
      const before = provider.requests.length
      const eighth = await chat.send(id, 'eight')
      await provider.arrived(before + 2)
      await app.get(`/api/chat/cancel?stream_id=${eighth}`)
      await chat.follow(eighth)
      stuck.open()
      await say('nine', { status: 400, body: { error: { message: 'odd' } } })
      await say(
        'ten',
        call(10),
        { text: 'half', finish: null, done: false, end: 'cut' },
        { text: 'whole' },
      )
      await app.restart()
      await say('eleven', { text: 'end' })

      requirePrefix(provider.requests)
      const said = usersOf(provider.requests.at(-1)?.body)
      const words = said.filter(text => !text.startsWith('{'))
      for (const text of words) assert.ok(text.startsWith(`[Workspace: ${place}]\n`), text)
      assert.is(words.filter(text => text.includes('manner of 1900')).length, 1)
      assert.is(words.filter(text => text.includes('another manner')).length, 1)
    } finally {
      await chat.close()
    }
  })

test('a result with the warning that steps run out is sent the same way in the next turn, and shown without it', async () => {
  const chat = await startChat()
  try {
    const { app, provider } = chat
    writeFileSync(
      join(app.home, 'config.yaml'),
      JSON.stringify({
        model: { provider: 'custom', base_url: provider.url, default: 'test-model' },
        agent: { max_turns: 5 },
      }),
    )
    const id = await named(chat)
    const call = (n: number): Step => ({
      toolCalls: [{ id: `c${n}`, name: 'todo', arguments: { todos: [] } }],
    })
    provider.push(call(1), call(2), call(3), call(4), { text: 'done' }, { text: 'more' })
    await chat.turn(id, 'one')
    await app.restart()
    await chat.turn(id, 'two')
    requirePrefix(provider.requests)
    assert.match(JSON.stringify(provider.requests.at(-1)?.body), '_budget_warning')
    assert.not.match(JSON.stringify(await chat.messages(id)), '_budget_warning')
  } finally {
    await chat.close()
  }
})

test('changing the workspace keeps the tags of earlier messages; the transcript has none', async () => {
  const chat = await startChat({ text: '1' }, { text: '2' }, { text: '3' })
  try {
    const [one, two] = ['one', 'two'].map(name => join(chat.app.userHome, name)) as [string, string]
    for (const dir of [one, two]) mkdirSync(dir)
    const id = await named(chat, one)
    await chat.turn(id, 'first')
    await chat.app.post('/api/session/update', { session_id: id, workspace: two })
    await chat.turn(id, 'second')
    await chat.app.restart()
    await chat.turn(id, 'third')
    assert.equal(usersOf(chat.provider.requests.at(-1)?.body), [
      `[Workspace: ${one}]\nfirst`,
      `[Workspace: ${two}]\nsecond`,
      `[Workspace: ${two}]\nthird`,
    ])
    const stored = (await chat.messages(id)).filter(({ role }) => role === 'user')
    assert.equal(
      stored.map(({ content }) => content),
      ['first', 'second', 'third'],
    )
    assert.not.match(JSON.stringify(await chat.messages(id)), 'Workspace')
  } finally {
    await chat.close()
  }
})

test('a fork and a purged session are sent like the original', async () => {
  const chat = await startChat({ text: '1' }, { text: '2' }, { text: '3' }, { text: '4' })
  try {
    const { app } = chat
    const id = await named(chat)
    await chat.turn(id, 'first')
    await chat.turn(id, 'second')
    const { body } = await app.post('/api/session/branch', { session_id: id })
    const fork = body.session_id ?? body.session.session_id
    await chat.turn(fork, 'third')
    const [, before, after] = chat.provider.requests.map(({ body }) => usersOf(body))
    assert.equal(after?.slice(0, 2), before)
    await app.post('/api/session/purge', { session_id: id })
    await chat.turn(id, 'third')
    assert.equal(usersOf(chat.provider.requests.at(-1)?.body).slice(0, 2), before)
  } finally {
    await chat.close()
  }
})

test.run()
