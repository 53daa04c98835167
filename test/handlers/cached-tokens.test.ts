/** Tokens from the provider's prompt cache: per turn with its subagents, per session, in reports and in the host's database. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../_provider.ts'
import { createStateDb, SCHEMAS } from '../_state-db.ts'
import { startChat } from './_chat.ts'

const test = suite('cached tokens')

const usage = (input: number, cached: number): Step['usage'] => ({
  prompt_tokens: input,
  completion_tokens: 10,
  ...(cached > 0 && { prompt_tokens_details: { cached_tokens: cached } }),
})

test('adds up a turn with its subagents, and keeps each turn’s share across a restart and a lost catalog', async () => {
  await using chat = await startChat(
    { text: 'Hi.', usage: usage(100, 0) },
    {
      toolCalls: [{ name: 'delegate_task', arguments: { goal: 'count' } }],
      usage: usage(200, 90),
    },
    { text: 'Three.', usage: usage(50, 20) },
    { text: 'Done.', usage: usage(300, 190) },
    { text: 'More.', usage: usage(400, 300) },
  )
  const { app } = chat
  const id = await chat.newSession()
  await app.post('/api/session/rename', { session_id: id, title: 'Named' })
  const db = createStateDb(app.home, SCHEMAS.at(-1)!)
  await app.post('/api/settings', { sync_to_insights: true })
  const usageOf = (seen: Awaited<ReturnType<typeof chat.turn>>) =>
    seen.find(({ event }) => event === 'done')?.data.usage as Record<string, number>
  // Nothing reported: the keys are absent, as in older journals.
  assert.not.ok('cache_read_tokens' in usageOf(await chat.turn(id, 'hello')))
  const { input_tokens, cache_read_tokens } = usageOf(await chat.turn(id, 'go'))
  assert.equal([input_tokens, cache_read_tokens], [550, 300])
  await chat.turn(id, 'more')

  const check = async () => {
    const { body } = await app.get(`/api/session?session_id=${id}&limit=50`)
    const { session } = body
    assert.equal([session.input_tokens, session.cache_read_tokens], [1050, 600])
    assert.equal(
      session.turn_usage.map((turn: Record<string, number>) => [
        turn.input_tokens,
        turn.cache_read_tokens,
      ]),
      [
        [100, 0],
        [550, 300],
        [400, 300],
      ],
    )
    const [, second] = session.turn_usage
    const numbers = session.messages.map((message: { id: string }) => Number(message.id.slice(1)))
    const after = numbers.findIndex((number: number) => number > second.n)
    assert.equal(session.messages[after].content, 'more')
    // A page of older messages has the turns of its messages only.
    const before = session.messages[2].id
    const page = await app.get(`/api/session?session_id=${id}&limit=50&before=${before}`)
    assert.is(page.body.session.turn_usage.length, 1)
    const total = (await app.get(`/api/session/usage?session_id=${id}`)).body
    assert.equal([total.input_tokens, total.cache_read_tokens], [1050, 600])
    const { totals } = (await app.get('/api/insights?timezone=UTC')).body
    assert.equal([totals.input_tokens, totals.cache_read_tokens], [1050, 600])
    assert.is(totals.cache_write_tokens, 0)
  }
  await check()
  await app.restart()
  await check()
  rmSync(join(app.state, 'cache'), { recursive: true })
  await app.restart()
  await check()

  const exported = await app.get(`/api/session/export?session_id=${id}`)
  assert.is(exported.body.cache_read_tokens, 600)
  // The host agent counts cached tokens apart from the input.
  const row = db
    .prepare<[string], Record<string, number>>('select * from sessions where id = ?')
    .get(id)
  assert.equal([row?.input_tokens, row?.cache_read_tokens, row?.cache_write_tokens], [450, 600, 0])
  db.close()
})

test('readers of a running turn get its usage after each call, late ones as well', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  await using chat = await startChat(
    { toolCalls: [{ name: 'terminal', arguments: { command: 'true' } }], usage: usage(200, 90) },
    { text: 'Done.', usage: usage(300, 190), gate: promise },
  )
  const id = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: id, title: 'Named' })
  const stream = await chat.send(id, 'go')
  await chat.provider.arrived(2)
  const { live } = (await chat.app.get(`/api/session?session_id=${id}&limit=9`)).body.session
  assert.equal([live.usage.input_tokens, live.usage.cache_read_tokens], [200, 90])
  resolve()
  const seen = (await chat.follow(stream)).filter(({ event }) => event === 'usage')
  assert.equal(
    seen.map(({ data }) => (data.usage as Record<string, number>).input_tokens),
    [200, 500],
  )
})

test.run()
