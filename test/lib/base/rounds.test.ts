/** Rounds: each item once, at once when idle, with bounded pauses under load. */
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Rounds } from '../../../lib/base/rounds.ts'

const test = suite('rounds')

const setUp = (costMs: number) => {
  const done: string[] = []
  const pauses: number[] = []
  let now = 0
  let run = () => {}
  const rounds = new Rounds<string>(
    item => {
      done.push(item)
      now += costMs
    },
    () => now,
    (work, ms) => {
      pauses.push(ms)
      run = work
    },
  )
  const ask = (item: string) => rounds.ask(item)
  return { done, pauses, ask, pass: (ms: number) => (now += ms), resume: () => run() }
}

test('an item is served once for all that is asked in one iteration, in the same iteration', async () => {
  const { ask, done, pauses } = setUp(0)
  ask('a')
  ask('b')
  ask('a')
  assert.equal(done, [])
  await immediate()
  assert.equal(done, ['a', 'b'])
  ask('a')
  await immediate()
  assert.equal(done, ['a', 'b', 'a'])
  assert.equal(pauses, [])
})

test('the next round begins after a pause as long as the last one took, and never more than 16 ms', async () => {
  const { ask, done, pauses, pass, resume } = setUp(5)
  ask('a')
  await immediate()
  await immediate()
  ask('a')
  ask('b')
  await immediate()
  assert.equal(done, ['a'])
  assert.equal(pauses, [5])
  pass(5)
  resume()
  assert.equal(done, ['a', 'a', 'b'])
  await immediate()
  pass(4)
  ask('a')
  assert.equal(pauses, [5, 6])

  const slow = setUp(400)
  slow.ask('a')
  await immediate()
  await immediate()
  slow.ask('a')
  assert.equal(slow.pauses, [16])
})

test('after the pause a round begins at once', async () => {
  const { ask, done, pauses, pass } = setUp(5)
  ask('a')
  await immediate()
  await immediate()
  pass(5)
  ask('a')
  await immediate()
  assert.equal(done, ['a', 'a'])
  assert.equal(pauses, [])
})

test('what is asked for by the work itself is served in the next round', async () => {
  const done: number[] = []
  const rounds = new Rounds<number>(
    item => {
      done.push(item)
      if (item < 3) rounds.ask(item + 1)
    },
    () => 0,
  )
  rounds.ask(1)
  for (let round = 1; round <= 3; round++) await immediate()
  assert.equal(done, [1, 2, 3])
})

test.run()
