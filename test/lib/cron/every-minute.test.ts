/** Ticks at the beginning of each minute, whatever happens to the clock, until they are stopped. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { until } from '../../_wait.ts'
import { everyMinute } from '../../../lib/cron/every-minute.ts'

const test = suite('every minute')

/** A wall clock and timers that follow another one, as on a computer whose clock is set. */
const createClock = (at: number) => {
  const clock = {
    wall: at,
    ticks: [] as number[],
    waits: [] as number[],
    run: undefined as (() => void) | undefined,
  }
  const stop = everyMinute(() => clock.ticks.push(clock.wall), {
    now: () => clock.wall,
    after(run, ms) {
      clock.waits.push(ms)
      clock.run = run
      return () => {
        clock.run = undefined
      }
    },
  })
  /** The timer fires when the wall clock shows this. */
  const fire = (wall: number) => {
    clock.wall = wall
    clock.run?.()
  }
  return { clock, fire, stop }
}

test('at the beginning of each minute', () => {
  const { clock, fire } = createClock(61_500)
  fire(120_000)
  fire(180_003)
  assert.equal(clock.ticks, [120_000, 180_003])
  assert.equal(clock.waits, [58_500, 60_000, 59_997])
})

test('a timer that fires early, a computer that slept, and a clock that was set back', () => {
  const { clock, fire } = createClock(60_000)
  fire(119_999)
  fire(120_000)
  fire(7_200_030)
  fire(3_600_010)
  assert.equal(clock.waits, [60_000, 1, 60_000, 59_970, 59_990])
  assert.is(clock.ticks.length, 4)
})

test('a tick that throws does not stop the next ones; nothing comes after a stop', () => {
  const runs: (() => void)[] = []
  let count = 0
  const stop = everyMinute(
    () => {
      count += 1
      throw new Error('not this time')
    },
    {
      now: () => 0,
      after(run) {
        runs.push(run)
        return () => void runs.pop()
      },
    },
  )
  assert.throws(() => runs.pop()?.(), /not this time/)
  assert.throws(() => runs.pop()?.(), /not this time/)
  assert.is(runs.length, 1)
  stop()
  assert.is(runs.length, 0)
  assert.is(count, 2)
})

test('with timers of Node', async () => {
  const ticks: number[] = []
  const stop = everyMinute(() => ticks.push(1), { now: () => 59_990 })
  await until(() => ticks.length >= 2, 'two ticks')
  stop()
})

test.run()
