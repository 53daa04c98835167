/** Budgets over HTTP: set in config.yaml, asked about before the call that would go beyond, subagents and stopped turns counted. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../_provider.ts'
import { startChat, types } from './_chat.ts'

const test = suite('budgets')

type Chat = Awaited<ReturnType<typeof startChat>>

const used = (prompt_tokens: number) => ({ usage: { prompt_tokens, completion_tokens: 0 } })
const plan = (id: string, tokens = 100): Step => ({
  toolCalls: [{ id, name: 'todo', arguments: {} }],
  ...used(tokens),
})

const named = async (chat: Chat): Promise<string> => {
  const id = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: id, title: 'Named' })
  return id
}

const withBudgets =
  (budgets: Record<string, unknown>, script: Step[], run: (chat: Chat) => Promise<void>) =>
  async () => {
    await using chat = await startChat(...script)
    const saved = await chat.app.post('/api/budgets', budgets)
    assert.is(saved.status, 200, JSON.stringify(saved.body))
    await run(chat)
  }

const answer = async (chat: Chat, session_id: string, choice: string) => {
  const { body } = await chat.app.get(`/api/approval/pending?session_id=${session_id}`)
  const { approval_id, pattern_key } = body.pending
  await chat.app.post('/api/approval/respond', { session_id, choice, approval_id })
  return pattern_key as string
}

test('rejects invalid limits, keeps absent ones, removes one with null, and keeps comments', async () => {
  await using chat = await startChat()
  const { app } = chat
  const file = join(app.home, 'config.yaml')
  writeFileSync(file, `${readFileSync(file, 'utf8')}# mine\n`)
  for (const bad of [{ turn: { tokens: 0 } }, { day: { usd: -1 } }, { session: { tokens: 'x' } }])
    assert.is((await app.post('/api/budgets', bad)).status, 400)
  await app.post('/api/budgets', { turn: { tokens: 10 }, day: { usd: 2.5 } })
  await app.post('/api/budgets', { turn: { tokens: null } })
  const { body } = await app.get('/api/budgets')
  assert.equal(body.budgets, { turn: {}, session: {}, day: { usd: 2.5 } })
  assert.equal(body.today, { tokens: 0, usd: 0 })
  assert.match(readFileSync(file, 'utf8'), '# mine')
})

test(
  'denied: the turn ends with a reason before the next call, and its usage is recorded',
  withBudgets({ turn: { tokens: 150 } }, [plan('c1'), plan('c2')], async chat => {
    const id = await named(chat)
    const stream = await chat.send(id, 'go')
    const asked = (await chat.follow(stream, 'approval')).at(-1)!.data
    assert.equal(
      [asked.pattern_key, Object(asked.sentences).description.code],
      ['budget: turn tokens', 'budget.turn'],
    )
    // It survives a reload, like every approval.
    const { session } = (await chat.app.get(`/api/session?session_id=${id}`)).body
    assert.is(session.questions[0].approval_id, asked.approval_id)
    await answer(chat, id, 'deny')
    const seen = await chat.follow(stream)
    const failure = seen.find(({ event }) => event === 'apperror')!.data
    assert.is(failure.type, 'budget_reached')
    assert.match(String((await chat.messages(id)).at(-1)?.content), /^\*\*Budget reached:\*\*/)
    assert.is(chat.provider.requests.length, 2)
    const after = (await chat.app.get(`/api/session?session_id=${id}`)).body.session
    assert.is(after.input_tokens, 200)
    assert.equal((await chat.app.get('/api/budgets')).body.today, { tokens: 200, usd: 0 })
  }),
)

test(
  'once: extends the limit by its amount; for the session: lifts it; neither approvals off nor yolo answers it',
  withBudgets(
    { turn: { tokens: 150 } },
    [plan('c1'), plan('c2'), plan('c3'), plan('c4'), plan('c5'), { text: 'end' }],
    async chat => {
      const { app } = chat
      const file = join(app.home, 'config.yaml')
      writeFileSync(file, `${readFileSync(file, 'utf8')}approvals:\n  mode: off\n`)
      const id = await named(chat)
      await app.post('/api/session/yolo', { session_id: id })
      const stream = await chat.send(id, 'go')
      await chat.follow(stream, 'approval')
      assert.is(await answer(chat, id, 'once'), 'budget: turn tokens')
      // 200 used, so 350 allowed: the fifth call would begin beyond it.
      const events = chat.app.events(`/api/chat/stream?stream_id=${stream}`)
      const answered: string[] = []
      for await (const { event, data } of events) {
        if (
          event !== 'approval' ||
          answered.push(String((data as { approval_id: string }).approval_id)) < 2
        )
          continue
        await answer(chat, id, 'session')
      }
      assert.is(answered.length, 2)
      assert.is(chat.provider.requests.length, 6)
      assert.is((await chat.messages(id)).at(-1)?.content, 'end')
    },
  ),
)

test(
  'a session limit spans turns, and so does its extension',
  withBudgets(
    { session: { tokens: 150 } },
    [
      { text: 'a', ...used(100) },
      { text: 'b', ...used(100) },
      { text: 'c', ...used(100) },
      { text: 'd', ...used(100) },
    ],
    async chat => {
      const id = await named(chat)
      await chat.turn(id, 'one')
      await chat.turn(id, 'two')
      const third = await chat.send(id, 'three')
      await chat.follow(third, 'approval')
      await answer(chat, id, 'once')
      const rest = await chat.follow(third)
      assert.is(rest.at(-1)?.event, 'stream_end')
      // 300 used, allowed up to 350.
      const fourth = await chat.turn(id, 'four')
      assert.ok(!types(fourth).includes('approval'))
    },
  ),
)

test(
  'a day limit counts every session of the profile, stopped turns included',
  withBudgets(
    { day: { tokens: 150 } },
    [plan('c1', 200), { text: 'never', end: 'headers' }, { text: 'no' }],
    async chat => {
      const { app } = chat
      const first = await named(chat)
      await app.post('/api/budgets', { day: { tokens: 1_000 } })
      const stream = await chat.send(first, 'go')
      await chat.provider.arrived(2)
      await app.post('/api/chat/cancel', { stream_id: stream })
      await chat.follow(stream)
      const stopped = (await app.get(`/api/session?session_id=${first}`)).body.session
      assert.equal([stopped.input_tokens, stopped.last_turn], [200, 'cancelled'])
      await app.post('/api/budgets', { day: { tokens: 150 } })
      const other = await named(chat)
      const asking = await chat.send(other, 'me too')
      const asked = (await chat.follow(asking, 'approval')).at(-1)!.data
      assert.is(asked.pattern_key, 'budget: day tokens')
      await answer(chat, other, 'deny')
      await chat.follow(asking)
      assert.is(chat.provider.requests.length, 2)
    },
  ),
)

test(
  'a turn that used all its steps says so in its last message, also after a reload; the next one has steps again',
  withBudgets(
    { steps: 1 },
    [plan('c1'), { text: 'Half of it.', ...used(1) }, { text: 'The rest.', ...used(1) }],
    async chat => {
      assert.is((await chat.app.get('/api/budgets')).body.steps, 1)
      const id = await named(chat)
      await chat.follow(await chat.send(id, 'do all'))
      const messages = await chat.messages(id)
      assert.equal(
        messages.map(({ _step_limit }) => _step_limit),
        [undefined, undefined, undefined, 1],
      )
      await chat.follow(await chat.send(id, 'Continue.'))
      assert.is((await chat.messages(id)).at(-1)?._step_limit, undefined)
      const sent = JSON.stringify(chat.provider.requests.at(-1))
      assert.not.match(sent, /_step_limit/)
      assert.is((await chat.app.post('/api/budgets', { steps: 0 })).status, 400)
      assert.is((await chat.app.post('/api/budgets', { steps: null })).body.steps, 90)
    },
  ),
)

test.run()
