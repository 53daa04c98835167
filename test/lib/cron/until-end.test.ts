/** The limits of a run, by the clock: nothing happened for too long, and it took too long in total. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import type { Outcome } from '../../../lib/agent/types.ts'
import { Sentence } from '../../../lib/base/sentences.ts'
import { type RunOutcome, untilEnd } from '../../../lib/cron/until-end.ts'

const test = suite('until the end of a run')

const codedError = (outcome: RunOutcome | null) =>
  outcome && 'error' in outcome && outcome.error instanceof Sentence ? outcome.error.coded : outcome

const begin = (limits: { idleMs: number; maxMs: number }) => {
  const clock = createTestClock()
  const state = { position: 0, isWaiting: false, stopped: [] as string[] }
  const result = Promise.withResolvers<Outcome | null>()
  const turn = {
    ...{ sessionId: 's', streamId: 'stream', isResumable: false, parking: null },
    log: { position: () => state.position },
    retries: { isWaiting: () => state.isWaiting },
  }
  const ended = untilEnd(
    clock,
    id => state.stopped.push(id),
    { turn, result: result.promise },
    limits,
    new AbortController().signal,
  )
  return { clock, state, result, ended }
}

test('a run without events is stopped; events, and the wait before a retry, count as some', async () => {
  const { clock, state, ended } = begin({ idleMs: 20_000, maxMs: 0 })
  for (let n = 0; n < 5; n++) {
    await clock.advance(15_000)
    state.position += 1
  }
  state.isWaiting = true
  await clock.advance(600_000)
  assert.equal(state.stopped, [])
  state.isWaiting = false
  await clock.advance(20_000)
  assert.equal(codedError(await ended), { code: 'task.idle', values: { seconds: 20 } })
  assert.equal([state.stopped, clock.waiting()], [['stream'], []])
})

test('a run that takes too long is stopped, whatever happens in it', async () => {
  const { clock, state, ended } = begin({ idleMs: 0, maxMs: 7_200_000 })
  await clock.advance(7_199_999)
  assert.equal(state.stopped, [])
  await clock.advance(1)
  assert.equal(codedError(await ended), { code: 'task.too_long', values: { seconds: 7_200 } })
})

test('a run that ends leaves no timer', async () => {
  const { clock, result, ended } = begin({ idleMs: 20_000, maxMs: 7_200_000 })
  result.resolve(null)
  assert.equal(codedError(await ended), { code: 'task.stopped' })
  assert.equal(clock.waiting(), [])
})

test.run()
