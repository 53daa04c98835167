/** Which sessions are compared with their files again, and when. */
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createResolvedIds } from '../../../lib/sessions/resolved-ids.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('resolved ids')

const create = () => {
  const clock = createTestClock()
  const state = { version: 1, isWatched: true, compared: [] as string[] }
  const ids = createResolvedIds({
    compare(id) {
      state.compared.push(id)
      return id === 'missing' ? undefined : `real-${id}`
    },
    version: () => state.version,
    isWatched: () => state.isWatched,
    clock,
  })
  return { clock, state, ...ids }
}

test('again after a report, and after a change of a row', async () => {
  const { state, resolve, forget } = create()
  for (let n = 0; n < 3; n++) {
    assert.is(resolve('a'), 'real-a')
    assert.is(resolve('missing'), undefined)
    await immediate()
  }
  assert.equal(state.compared, ['a', 'missing'])
  forget()
  resolve('a')
  state.version += 1
  resolve('a')
  resolve('a')
  assert.equal(state.compared, ['a', 'missing', 'a', 'a'])
})

test('after a second, where changes are not reported', async () => {
  const { clock, state, resolve } = create()
  resolve('a')
  await clock.advance(1_000)
  resolve('a')
  assert.equal(state.compared, ['a'])
  await clock.advance(1)
  resolve('a')
  assert.equal(state.compared, ['a', 'a'])
})

test('without a watch, once for each iteration of the event loop', async () => {
  const { state, resolve } = create()
  state.isWatched = false
  resolve('a')
  resolve('a')
  assert.equal(state.compared, ['a'])
  await immediate()
  resolve('a')
  assert.equal(state.compared, ['a', 'a'])
})

test.run()
