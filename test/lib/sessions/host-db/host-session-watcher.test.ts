/** The watcher of CLI sessions: its liveness, one per home with readers, emits changes only. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  HostSessionWatcher,
  POLL_MS,
} from '../../../../lib/sessions/host-db/host-session-watcher.ts'
import type { SessionRow } from '../../../../lib/schema/session.ts'
import { createTestClock } from '../../../_clock.ts'

const home = { name: 'default', dir: '/home' }
const row = (id: string) => ({ session_id: id }) as SessionRow

const setup = () => {
  const clock = createTestClock()
  const state = {
    rows: [row('a')] as SessionRow[],
    problem: null as string | null,
    enabled: true,
    looks: 0,
  }
  const said: unknown[] = []
  const gateway = new HostSessionWatcher({
    rowsOf: () => {
      state.looks += 1
      return state.rows
    },
    problemOf: () => state.problem,
    enabled: () => state.enabled,
    publish: each => said.push(each),
    clock,
  })
  const poll = () => clock.advance(POLL_MS)
  return { gateway, state, said, poll, clock }
}

const test = suite('host session watcher')

test('is_alive is false before start, true while running, false after stop', () => {
  const { gateway } = setup()
  assert.is(gateway.isAlive(home), false)
  gateway.start()
  gateway.start()
  assert.is(gateway.isAlive(home), true)
  gateway.stop()
  assert.is(gateway.isAlive(home), false)
})

test('an unreadable home is not watched', async () => {
  const { gateway, state, said, poll } = setup()
  gateway.start()
  const leave = gateway.watch(home)
  state.problem = 'file is not a database'
  await poll()
  await poll()
  assert.is(gateway.isAlive(home), false)
  state.problem = null
  await poll()
  assert.equal(said, [
    { alive: false, profile: 'default' },
    { alive: true, profile: 'default' },
  ])
  leave()
})

test('does not poll homes without readers', async () => {
  const { gateway, state, poll } = setup()
  gateway.start()
  await poll()
  assert.is(state.looks, 0)
  const [first, second] = [gateway.watch(home), gateway.watch(home)]
  assert.equal(gateway.watched(), ['/home'])
  first()
  assert.equal(gateway.watched(), ['/home'])
  second()
  assert.equal(gateway.watched(), [])
})

test('does not poll while the setting is off; switching it on is a change', async () => {
  const { gateway, state, said, poll } = setup()
  state.enabled = false
  gateway.start()
  const leave = gateway.watch(home)
  await poll()
  assert.is(state.looks, 0)
  state.enabled = true
  await poll()
  await poll()
  assert.equal(said, [{ alive: true, profile: 'default', changed: true }])
  leave()
})

test('a reader receives the rows at once, then changes, and a heartbeat when idle', async () => {
  const { gateway, state, poll, clock } = setup()
  const leave = new AbortController()
  gateway.start()
  const reader = gateway.read(home, leave.signal)
  assert.equal((await reader.next()).value, { id: 0, rows: [row('a')], first: true })
  const next = reader.next()
  await poll()
  state.rows = [row('b')]
  await poll()
  assert.equal((await next).value, { id: 1, rows: [row('b')], first: false })
  const quiet = reader.next()
  // 15 s without a change.
  await poll()
  assert.is((await quiet).value, null)
  // A reader that takes its time gets the newest state, not a queue.
  state.rows = [row('c')]
  await poll()
  state.rows = [row('d')]
  await poll()
  assert.equal((await reader.next()).value, { id: 3, rows: [row('d')], first: false })
  const last = reader.next()
  leave.abort()
  assert.is((await last).done, true)
  assert.equal([gateway.watched(), clock.waiting().length], [[], 1])
})

test('stop ends every reader', async () => {
  const { gateway } = setup()
  gateway.start()
  const reader = gateway.read(home, new AbortController().signal)
  await reader.next()
  const last = reader.next()
  gateway.stop()
  assert.is((await last).done, true)
})

test('publishes our own changes immediately', () => {
  const { gateway, state, said } = setup()
  gateway.start()
  gateway.checkNow(home)
  const leave = gateway.watch(home)
  state.rows = []
  gateway.checkNow(home)
  assert.equal(said, [{ alive: true, profile: 'default', changed: true }])
  leave()
})

test.run()
