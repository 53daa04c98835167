/** The restart after an update: two seconds later, behind a running update, and with the lock in its hands. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createUpdateRunner } from '../../../lib/updates/apply.ts'
import { ownCheckout } from '../../../lib/updates/updates.ts'
import { createRepositories, GIT_ENV, type Repositories } from '../../_git.ts'

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
  const state = { restarts: 0, dropped: 0, lines: [] as string[] }
  const updates = createUpdateRunner({
    checkouts: () => ({ webui: ours.checkout, agent: agent.checkout }),
    env: GIT_ENV,
    restart: () => {
      state.restarts += 1
      return leaving.promise
    },
    whenIdle: async () => undefined,
    onApplied: () => {
      state.dropped += 1
    },
    log: line => state.lines.push(line),
    build,
    schedule(run, ms) {
      timers.push({ run, ms })
      return () => timers.splice(0)
    },
  })
  return { updates, timers, leaving, state }
}

test('the restart waits for the apply lock and keeps it: nothing is applied any more', async context => {
  const gate = Promise.withResolvers<string>()
  const { updates, timers, leaving, state } = setup(context, async () => '')
  context.ours.push({ 'router.ts': '2' })
  assert.is((await updates.apply('webui')).restart_scheduled, true)
  assert.is(state.dropped, 1)
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
  assert.equal((await updates.apply('agent')).message, 'Update already in progress')
  // A process that could not be replaced goes on as it was.
  leaving.reject(new Error('no such program'))
  await leaving.promise.catch(() => undefined)
  await Promise.resolve()
  await Promise.resolve()
  assert.equal(state.lines, ['the restart failed'])
  assert.is((await updates.apply('agent')).ok, true)
  gate.resolve('')
})

test('two updates of the service in a row are two restarts asked for, none after close', async context => {
  const { updates, timers } = setup(context, async () => '')
  context.ours.push({ 'router.ts': '2' })
  await updates.apply('webui')
  updates.close()
  assert.equal(timers, [])
})

test('a build that throws is an error of ours, and the lock is free again', async context => {
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

test('the own checkout is where router.ts and .git are, or one above the built file', ({
  ours,
}) => {
  assert.is(ownCheckout(ours.checkout), ours.checkout)
  assert.is(ownCheckout(`${ours.checkout}/dist`), ours.checkout)
  assert.is(ownCheckout(`${ours.checkout}/lib`), null)
  assert.is(ownCheckout(ours.root), null)
})

test.run()
