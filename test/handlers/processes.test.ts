/** Background programs: asked about like any command, owned by one session, read, fed, ended, and gone with it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProcessRegistry } from '../../lib/commands/processes.ts'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { startChat as start } from './_chat.ts'
import { ended, until } from '../_wait.ts'
import { createTestClock } from '../_clock.ts'

const test = suite('processes')

type Chat = Awaited<ReturnType<typeof start>>

/** Nothing is asked: what is refused here is refused whatever was allowed. */
const startChat = async (...given: Parameters<typeof start>): Promise<Chat> => {
  const chat = await start(...given)
  appendFileSync(join(chat.app.home, 'config.yaml'), 'approvals:\n  mode: off\n')
  return chat
}

/** One turn with these calls; what each answered. */
const use = async (chat: Chat, id: string, ...calls: [string, Record<string, unknown>][]) => {
  const turn = [
    ...calls.map(([name, args]) => ({ toolCalls: [{ name, arguments: args }] })),
    { text: 'done' },
  ]
  chat.provider.clear()
  chat.provider.push(...turn)
  await chat.turn(id, 'go')
  return (await chat.messages(id))
    .filter(({ role }) => role === 'tool')
    .slice(-calls.length)
    .map(({ content }) => JSON.parse(String(content)))
}

test('rejected like any other command, including input typed into a shell', async () => {
  const chat = await startChat()
  const id = await chat.newSession()
  const [hard, started] = await use(
    chat,
    id,
    ['terminal', { command: 'rm -rf ~', background: true }],
    ['terminal', { command: 'bash', background: true }],
  )
  assert.is(hard.status, 'blocked')
  assert.match(started.session_id, /^proc_[0-9a-f]{12}$/)
  const [piece, rest, fine, waited] = await use(
    chat,
    id,
    ['process', { action: 'write', session_id: started.session_id, data: 'rm ' }],
    ['process', { action: 'submit', session_id: started.session_id, data: '-rf ~' }],
    ['process', { action: 'submit', session_id: started.session_id, data: '\nexit 3' }],
    ['process', { action: 'wait', session_id: started.session_id, timeout: 20 }],
  )
  assert.is(piece.status, 'running')
  assert.is(rest.status, 'blocked')
  assert.ok(fine)
  assert.equal([waited.status, waited.exit_code], ['exited', 3])
  await chat.close()
})

test('outlives its turn, can be read and written, belongs to its session, and ends with it', async () => {
  const chat = await startChat()
  const { app } = chat
  const id = await chat.newSession()
  const [started] = await use(chat, id, [
    'terminal',
    {
      command: 'echo ready; sleep 600 & while read line; do echo "got $line"; done',
      background: true,
    },
  ])
  const { session_id: process_id, pid } = started
  assert.equal([started.exit_code, started.error], [0, null])
  const [typed] = await use(chat, id, [
    'process',
    { action: 'submit', session_id: process_id, data: 'a line' },
  ])
  const address = `/api/process/log?session_id=${id}&process_id=${process_id}`
  await until(async () => (await app.get(address)).body.output.includes('got a line'))
  const [waited, polled, log, unknown] = await use(
    chat,
    id,
    ['process', { action: 'wait', session_id: process_id, timeout: 1 }],
    ['process', { action: 'poll', session_id: process_id }],
    ['process', { action: 'log', session_id: process_id, limit: 1 }],
    ['process', { action: 'log', session_id: 'proc_000000000000' }],
  )
  assert.is(typed.characters_written, 6)
  assert.is(waited.timed_out, true)
  assert.is(polled.output, 'ready\ngot a line\n')
  assert.equal([log.output, log.total_lines, log.status], ['got a line', 2, 'running'])
  assert.match(unknown.error, 'no process')

  const list = await app.get(`/api/processes?session_id=${id}`)
  assert.equal(
    list.body.processes.map((each: Record<string, unknown>) => [each.process_id, each.status]),
    [[process_id, 'running']],
  )
  const other = await chat.newSession()
  assert.equal((await app.get(`/api/processes?session_id=${other}`)).body.processes, [])
  const foreign = { session_id: other, process_id }
  assert.is((await app.post('/api/process/kill', foreign)).status, 404)
  const [stolen] = await use(chat, other, ['process', { action: 'kill', session_id: process_id }])
  assert.match(stolen.error, 'no process')
  const shown = await app.get(address)
  assert.is(shown.body.output, 'ready\ngot a line\n')

  const killed = await app.post('/api/process/kill', { session_id: id, process_id })
  assert.is(killed.body.process.status, 'exited')
  await ended(pid)

  const [second] = await use(chat, id, ['terminal', { command: 'sleep 600', background: true }])
  await app.post('/api/session/delete', { session_id: id })
  await ended(second.pid)
  const [third] = await use(chat, other, ['terminal', { command: 'sleep 600', background: true }])
  await app.restart()
  await ended(third.pid)
  await chat.close()
})

test('a command at its time limit: moved in an attended turn, running after a stop, gone after a restart', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  const id = await chat.newSession()
  const [moved, listed] = await use(
    chat,
    id,
    ['terminal', { command: 'echo begun; exec sleep 600', timeout: 1 }],
    ['process', { action: 'list' }],
  )
  assert.equal([moved.exit_code, moved.error], [null, null])
  assert.equal(
    listed.processes.map((each: Record<string, unknown>) => each.session_id),
    [moved.session_id],
  )
  provider.clear()
  const call = { name: 'process', arguments: { action: 'wait', session_id: moved.session_id } }
  provider.push({ toolCalls: [call] })
  const stream = await chat.send(id, 'wait for it')
  await chat.follow(stream, 'tool')
  await app.post('/api/chat/cancel', { stream_id: stream })
  await chat.follow(stream)
  const log = `/api/process/log?session_id=${id}&process_id=${moved.session_id}`
  await until(async () => (await app.get(log)).body.output === 'begun\n', 'the output')
  assert.is((await app.get(log)).body.process.status, 'running')
  await app.restart()
  await ended(moved.pid)
  await chat.close()
})

const started = (command: string, notify = false) => ({
  command,
  cwd: '/',
  access: 'unconfined' as const,
  placed: {
    file: 'sh',
    args: ['-c', command],
    cwd: '/',
    env: { PATH: process.env.PATH ?? '' },
  },
  notify,
})
const never = new AbortController().signal

test('bounds memory and number; forgets finished processes', async () => {
  const clock = createTestClock()
  const ended: unknown[] = []
  const all = new ProcessRegistry({
    clock,
    maxProcesses: 2,
    onEnded: (session, { exit_code }) => ended.push([session, exit_code]),
  })
  const own = all.of('a')
  const loud = await own.start(started('yes | head -c 3000000; exit 4', true))
  const done = await own.wait(loud.session_id, 60_000, never)
  assert.equal([done.status, done.exit_code, ended], ['exited', 4, [['a', 4]]])
  const { text, left_out } = own.read(loud.session_id)
  assert.is(text.length, 200_000)
  assert.is(left_out, 2_800_000)
  assert.is(own.poll(loud.session_id).length > 0, true)
  assert.is(own.poll(loud.session_id), '')
  // A finished one frees its slot; a third running one is rejected.
  await own.start(started('sleep 60'))
  await own.start(started('sleep 60'))
  assert.is(own.list().length, 2)
  const refused = await own.start(started('true')).catch(error => error.message)
  assert.match(refused, '2 processes are running already')
  await all.endSession('a')
  assert.equal(own.list(), [])
  const { session_id: short } = await own.start(started('true'))
  await own.wait(short, 10_000, never)
  await clock.advance(31 * 60_000)
  assert.equal(own.list(), [])
  const bad = await own
    .start({ ...started('x'), placed: { ...started('x').placed, file: '/nowhere' } })
    .catch(error => error.message)
  assert.match(bad, 'ENOENT')
  await all.close()
  assert.match(await own.start(started('x')).catch(error => error.message), 'shutting down')
})

test.run()
