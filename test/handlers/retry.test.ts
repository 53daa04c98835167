/** The wait before a failed model call is repeated: what clients see of it, and ending it early. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../_provider.ts'
import { create, idle, listed } from './_crons.ts'
import { startChat, startChatAt, types } from './_chat.ts'
import { createTestClock } from '../_clock.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
/** `sent`: requests of the provider before the test. */
const test = suite<{ chat: Chat; id: string; sent: number }>('retry')

test.before(async context => {
  context.chat = await startChat()
})
test.before.each(async context => {
  const { chat } = context
  context.id = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: context.id, title: 'Named' })
  context.sent = chat.provider.requests.length
})
test.after(({ chat }) => chat.close())

const limited = (seconds: number): Step => ({
  status: 429,
  headers: { 'retry-after': String(seconds) },
  body: { error: { message: 'Slow down.' } },
})

const press = async ({ app }: Chat, body: Record<string, unknown>) =>
  (await app.post('/api/chat/retry', body)).body

const liveOf = async ({ app }: Chat, id: string) =>
  (await app.get(`/api/session?session_id=${id}`)).body.session.live

test('says so when nothing waits: unknown, running, and finished turns', async ({
  chat,
  id,
  sent,
}) => {
  const late = { ok: true, retried: false }
  const gate = Promise.withResolvers<void>()
  chat.provider.push({ text: 'Hi', gate: gate.promise })
  const stream_id = await chat.send(id, 'hello')
  await chat.provider.arrived(sent + 1)
  for (const wanted of ['f'.repeat(32), stream_id]) {
    const { message, ...reply } = await press(chat, { stream_id: wanted })
    assert.equal(reply, { ...late, stream_id: wanted })
    assert.is(message, 'No model call of this turn is waiting to be retried.')
  }
  gate.resolve()
  await chat.follow(stream_id)
  assert.is((await press(chat, { stream_id })).retried, false)
})

test('announces the wait with the time of the server; a reader that comes later sees it too', async () => {
  const clock = createTestClock(Date.now())
  const chat = await startChatAt(clock, limited(600), { text: 'Hi' })
  const id = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: id, title: 'Named' })
  const stream_id = await chat.send(id, 'hello')
  const { data } = (await chat.follow(stream_id, 'retry')).at(-1)!
  const { until, ...rest } = data
  assert.equal(rest, {
    message_id: 'm7',
    attempt: 1,
    attempts: 4,
    delay_ms: 600_000,
    message: 'Slow down.',
    reason: 'rate_limit',
    provider: 'Local server',
  })
  assert.is(until, (clock.now() + 600_000) / 1_000)
  const { retry } = await liveOf(chat, id)
  const { message_id: _, ...shared } = rest as Record<string, unknown>
  assert.equal(retry, { ...shared, until })
  await clock.advance(600_000)
  await chat.follow(stream_id)
  assert.is((await chat.messages(id)).at(-1)?.content, 'Hi')
  await chat.close()
})

test('retries now, once: readers see the wait end, and a second press is late', async ({
  chat,
  id,
  sent,
}) => {
  chat.provider.push(limited(600), limited(500), { text: 'Hi' })
  const stream_id = await chat.send(id, 'hello')
  const { id: pos } = (await chat.follow(stream_id, 'retry')).at(-1)!
  // Pressed before this wait was seen: it is meant for another one.
  assert.is((await press(chat, { stream_id, pos: Number(pos) - 1 })).retried, false)
  const both = await Promise.all([1, 2].map(() => press(chat, { stream_id, pos: Number(pos) })))
  assert.equal(both.map(({ retried }) => retried).toSorted(), [false, true])
  await chat.provider.arrived(sent + 2)
  const seen = await chat.follow(stream_id, 'retry', Number(pos) + 1)
  assert.is(seen.at(-1)?.data.delay_ms, 500_000)
  // The second device presses for the first wait only.
  assert.is((await press(chat, { stream_id, pos: Number(pos) })).retried, false)
  assert.is((await press(chat, { stream_id })).retried, true)
  const all = await chat.follow(stream_id)
  assert.equal(
    all.filter(({ event }) => event === 'retry').map(({ data }) => [data.attempt, data.delay_ms]),
    [
      [1, 600_000],
      [1, 0],
      [2, 500_000],
      [2, 0],
    ],
  )
  assert.is(chat.provider.requests.length, sent + 3)
  assert.is((await chat.messages(id)).at(-1)?.content, 'Hi')
})

test('fails at once when the provider asks for more than an hour, and says how long', async ({
  chat,
  id,
}) => {
  chat.provider.push(limited(9_000))
  const seen = await chat.turn(id, 'hello')
  assert.not.ok(types(seen).includes('retry'))
  assert.equal(seen.find(({ event }) => event === 'apperror')?.data, {
    type: 'rate_limit',
    message: 'Slow down.',
    hint: 'The provider asks to wait 3 h. Send again then, or choose another model.',
    sentences: { hint: { code: 'advice.wait', values: { duration: '3 h' } } },
  })
})

test('a subagent’s wait is announced with its task, kept for late readers, and ended as well', async ({
  chat,
  id,
}) => {
  chat.provider.push(
    { toolCalls: [{ name: 'delegate_task', arguments: { goal: 'count' } }] },
    limited(600),
    { text: 'Three.' },
    { text: 'Done.' },
  )
  const stream_id = await chat.send(id, 'go')
  for await (const { event, data } of chat.app.events(`/api/chat/stream?stream_id=${stream_id}`)) {
    if (event !== 'subagent' || !(data as { retry?: unknown }).retry) continue
    assert.match(JSON.stringify(data), '"again":"Slow down."')
    break
  }
  const { retry, subagents } = await liveOf(chat, id)
  assert.is(retry, undefined)
  assert.equal([subagents[0].retry.reason, subagents[0].retry.delay_ms], ['rate_limit', 600_000])
  assert.is((await press(chat, { stream_id })).retried, true)
  await chat.follow(stream_id)
  assert.is((await chat.messages(id)).at(-1)?.content, 'Done.')
})

test('a scheduled run may wait longer than its limit without events, but not over 15 minutes', async ({
  chat,
}) => {
  const { app, provider } = chat
  writeFileSync(join(app.home, '.env'), 'AGENT_CRON_TIMEOUT=0.3\n')
  provider.push(limited(1), { text: 'All quiet.' }, limited(1_000))
  const job_id = await create(app)
  await app.post('/api/crons/run', { job_id })
  await idle(app)
  assert.is((await listed(app, job_id)).last_status, 'ok')
  await app.post('/api/crons/run', { job_id })
  await idle(app)
  assert.is((await listed(app, job_id)).last_error, 'Slow down.')
})

test.run()
