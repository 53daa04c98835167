/** Ticks at the beginning of each minute, whatever happens to the clock, until they are stopped. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { everyMinute } from '../../../lib/cron/cron.ts'

const test = suite('every minute')

const begin = (start: number) => {
  const clock = createTestClock(start)
  const ticks: number[] = []
  everyMinute(clock, () => ticks.push(clock.now()))
  return { clock, ticks }
}

test('at the beginning of each minute', async () => {
  const { clock, ticks } = begin(61_500)
  assert.equal(clock.waiting(), [58_500])
  await clock.advance(118_500)
  assert.equal(ticks, [120_000, 180_000])
  assert.equal(clock.waiting(), [60_000])
})

test('a timer that fires early, a computer that slept, and a clock that was set back', async () => {
  const { clock, ticks } = begin(60_000)
  /** The timer that waits fires when the clock shows this. */
  const fire = async (wall: number) => {
    const [wait = 0] = clock.waiting()
    clock.set(wall - wait)
    await clock.advance(wait)
    return clock.waiting()
  }
  assert.equal(await fire(119_999), [1])
  assert.equal(await fire(120_000), [60_000])
  assert.equal(await fire(7_200_030), [59_970])
  assert.equal(await fire(3_600_010), [59_990])
  assert.equal(ticks, [119_999, 120_000, 7_200_030, 3_600_010])
})

test('a tick that throws does not stop the next ones; nothing comes after a stop', async () => {
  const clock = createTestClock()
  let count = 0
  const stop = everyMinute(clock, () => {
    count += 1
    throw new Error('not this time')
  })
  for (const n of [1, 2]) {
    const error = await clock.advance(60_000).catch(String)
    assert.equal([error, count], ['Error: not this time', n])
  }
  stop()
  assert.equal(clock.waiting(), [])
})

test.run()
