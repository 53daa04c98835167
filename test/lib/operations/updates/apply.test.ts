/** The restart after an update: two seconds later, behind a running update, and with the lock in its hands. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../../lib/base/clock.ts'
import { ownCheckout, Updates } from '../../../../lib/operations/updates/updates.ts'
import { createRepositories, GIT_ENV, type Repositories } from '../../../_git.ts'

type Context = { ours: Repositories; agent: Repositories }
const test = suite<Context>('updates/apply')
test.before.each(context => {
  context.ours = createRepositories({ 'router.ts': '' })
  context.agent = createRepositories({ 'a.py': '' })
})
test.after.each(({ ours, agent }) => {
  ours.remove()
  agent.remove()
})

const setup = ({ ours, agent }: Context, build: (dir: string) => Promise<string>) => {
  const timers: { run: () => void; ms: number }[] = []
  const leaving = Promise.withResolvers<void>()
  const state = { restarts: 0, lines: [] as string[] }
  const updates = new Updates({
    checkouts: () => ({ webui: ours.checkout, agent: agent.checkout }),
    env: GIT_ENV,
    restart: () => {
      state.restarts += 1
      return leaving.promise
    },
    log: line => state.lines.push(line),
    build,
    clock: {
      ...systemClock,
      timer(ms, run) {
        timers.push({ run, ms })
        return () => timers.splice(0)
      },
    },
  })
  return { updates, timers, leaving, state }
}

test('the restart takes the apply lock and keeps it, so nothing more is applied', async context => {
  const gate = Promise.withResolvers<string>()
  const { updates, timers, leaving, state } = setup(context, async () => '')
  context.ours.push({ 'router.ts': '2' })
  assert.is((await updates.apply('webui')).restart_scheduled, true)
  assert.equal(
    timers.map(({ ms }) => ms),
    [2_000],
  )
  context.agent.push({ 'a.py': '2' })
  const agent = updates.apply('agent')
  timers[0]!.run()
  assert.is(state.restarts, 0, 'the agent is being updated')
  assert.is((await agent).ok, true)
  await Promise.resolve()
  assert.is(state.restarts, 1)
  const { message, error } = await updates.apply('agent')
  assert.equal([message, error], ['Update already in progress', 'Update already in progress'])
  // A process that could not be replaced keeps running.
  leaving.reject(new Error('no such program'))
  await leaving.promise.catch(() => undefined)
  await Promise.resolve()
  await Promise.resolve()
  assert.equal(state.lines, ['the restart failed'])
  assert.is((await updates.apply('agent')).ok, true)
  gate.resolve('')
})

test('two updates in a row request two restarts, and none after close', async context => {
  const { updates, timers } = setup(context, async () => '')
  context.ours.push({ 'router.ts': '2' })
  await updates.apply('webui')
  updates.close()
  assert.equal(timers, [])
})

test('a throwing build is an error of ours, and the lock is released', async context => {
  const { updates } = setup(context, async () => {
    throw new Error('no room')
  })
  context.ours.push({ 'router.ts': '2' })
  await updates.apply('webui').then(
    () => assert.unreachable(),
    (error: Error) => assert.is(error.message, 'no room'),
  )
  assert.is((await updates.apply('agent')).ok, true)
})

test('the checkout is the directory of router.ts and .git, or the parent of the built file', ({
  ours,
}) => {
  assert.is(ownCheckout(ours.checkout), ours.checkout)
  assert.is(ownCheckout(`${ours.checkout}/dist`), ours.checkout)
  assert.is(ownCheckout(`${ours.checkout}/lib`), null)
  assert.is(ownCheckout(ours.root), null)
})

test.run()
