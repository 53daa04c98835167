/** The inbox: what ended in trouble, over restarts; many questions at once. */
import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat } from './_chat.ts'

const test = suite('inbox')

const plan = { name: 'todo', arguments: { todos: [{ id: '1', content: 'a', status: 'pending' }] } }

test('failed and interrupted turns, reached step limits and budgets are in the inbox until the next turn, also after a restart', async () => {
  await using chat = await startChat()
  const { app, provider } = chat
  const ids: Record<string, string> = {}
  for (const name of ['done', 'stopped', 'failed', 'steps', 'budget', 'interrupted']) {
    ids[name] = await chat.newSession()
    await app.post('/api/session/rename', { session_id: ids[name], title: name })
  }
  const troubled = async () => {
    const list = (await app.get('/api/inbox')).body.troubled as { title: string; how: string }[]
    return Object.fromEntries(list.map(({ title, how }) => [title, how]))
  }
  provider.push({ text: 'ok' })
  await chat.turn(ids.done!, 'go')
  provider.push({ end: 'headers' })
  const stopped = await chat.send(ids.stopped!, 'go')
  await provider.arrived(2)
  await app.post('/api/chat/cancel', { stream_id: stopped })
  await chat.follow(stopped)
  assert.equal(await troubled(), {})

  provider.push({ status: 401 })
  await chat.turn(ids.failed!, 'go')
  await app.post('/api/budgets', { steps: 1 })
  provider.push({ toolCalls: [plan] }, { text: 'Half of it.' })
  await chat.turn(ids.steps!, 'go')
  await app.post('/api/budgets', { steps: null, turn: { tokens: 1 } })
  provider.push({ toolCalls: [plan], usage: { prompt_tokens: 40, completion_tokens: 1 } })
  const stream = await chat.send(ids.budget!, 'go')
  await chat.follow(stream, 'approval')
  const [question] = (await app.get('/api/inbox')).body.questions
  assert.is(question.session_id, ids.budget)
  await app.post('/api/approval/respond', {
    session_id: ids.budget,
    choice: 'deny',
    approval_id: question.approval_id,
  })
  await chat.follow(stream)
  await app.post('/api/budgets', { turn: { tokens: null } })
  provider.push({ end: 'headers' })
  const before = provider.requests.length
  const interrupted = await chat.send(ids.interrupted!, 'go')
  await provider.arrived(before + 1)
  const live = join(app.state, 'live', `${interrupted}.jsonl`)
  const longAgo = new Date(Date.now() - 48 * 3_600_000)
  await app.restart(() => utimesSync(live, longAgo, longAgo))
  const all = { failed: 'failed', steps: 'steps', budget: 'budget', interrupted: 'interrupted' }
  assert.equal(await troubled(), all)
  const row = (await app.get(`/api/session?session_id=${ids.steps}`)).body.session
  assert.equal([row.last_turn, row.last_turn_limit], ['done', 'steps'])

  provider.push({ text: 'The rest.' })
  await chat.turn(ids.steps!, 'Continue.')
  const { steps: _, ...rest } = all
  assert.equal(await troubled(), rest)
  await app.post('/api/session/archive', { session_id: ids.failed, archived: true })
  assert.equal(await troubled(), { budget: 'budget', interrupted: 'interrupted' })
})

test.run()
