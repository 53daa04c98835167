/** Plan mode beside the other ways to start, continue, and take back a turn. */
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate, type Step } from '../_provider.ts'
import { startChat } from './_chat.ts'

const test = suite('plan mode and turns')

const write = (id = 'w1'): Step => ({
  toolCalls: [{ id, name: 'write_file', arguments: { path: 'new.txt', content: 'x' } }],
})
const present: Step = {
  toolCalls: [{ id: 'p1', name: 'exit_plan_mode', arguments: { plan: '# Plan' } }],
}

const begin = async (...script: Step[]) => {
  const chat = await startChat(...script)
  const { app } = chat
  const dir = join(app.userHome, 'project')
  mkdirSync(dir)
  await app.post('/api/workspaces/add', { path: dir })
  const { body } = await app.post('/api/session/new', { workspace: dir })
  const id = String(body.session.session_id)
  await app.post('/api/session/rename', { session_id: id, title: 'Named' })
  await app.post('/api/session/mode', { session_id: id, mode: 'plan' })
  const refusals = async () =>
    (await chat.messages(id)).filter(
      ({ role, content }) => role === 'tool' && String(content).includes('Plan mode is on'),
    ).length
  return { chat, app, dir, id, refusals, provider: chat.provider }
}
type Given = Awaited<ReturnType<typeof begin>>

const withChat = (script: Step[], run: (given: Given) => Promise<void>) => async () => {
  const given = await begin(...script)
  try {
    await run(given)
  } finally {
    await given.chat.close()
  }
}

const questions = async ({ app }: Pick<Given, 'app'>) =>
  (await app.get('/api/inbox')).body.questions
const modeOf = async ({ app, id }: Pick<Given, 'app' | 'id'>) =>
  (await app.get(`/api/session/mode?session_id=${id}`)).body.mode

test(
  'retry and undo drop a plan that waits after a stop, and leave plan mode on',
  withChat([present, present], async given => {
    const { chat, app, id, dir, provider } = given
    const stream = await chat.send(id, 'Write it.')
    await chat.follow(stream, 'clarify')
    await app.post('/api/chat/cancel', { stream_id: stream })
    await chat.follow(stream)
    const { body } = await app.post('/api/session/retry', { session_id: id })
    assert.is(body.last_user_text, 'Write it.')
    assert.equal([await modeOf(given), await questions(given)], ['plan', []])
    const again = await chat.send(id, 'Write it.')
    await chat.follow(again, 'clarify')
    assert.is((await questions(given)).length, 1)
    await app.post('/api/chat/cancel', { stream_id: again })
    await chat.follow(again)
    assert.is((await app.post('/api/session/undo', { session_id: id })).status, 200)
    assert.equal([await modeOf(given), await questions(given)], ['plan', []])
    provider.push(write(), { text: 'No.' })
    await chat.turn(id, 'Write it now.')
    assert.equal(readdirSync(dir), [])
  }),
)

test('a steering message says which mode applies when it arrives, and lifts nothing', async () => {
  const { opened, open } = gate()
  const given = await begin(
    { toolCalls: [{ id: 'l', name: 'todo', arguments: {} }], gate: opened },
    write(),
    { text: 'No.' },
  )
  const { chat, app, id, dir, provider, refusals } = given
  try {
    const stream = await chat.send(id, 'Look.')
    await provider.arrived(1)
    await app.post('/api/chat/steer', { session_id: id, message: 'Write it anyway.' })
    open()
    await chat.follow(stream)
    assert.match(JSON.stringify(provider.requests[1]?.body.messages), 'Write it anyway.')
    assert.equal([await refusals(), readdirSync(dir)], [1, []])
  } finally {
    await chat.close()
  }
})

test.run()
