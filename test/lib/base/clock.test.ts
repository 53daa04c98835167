/** The system's clock, and the one of the tests behaves like it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { fromSeconds, systemClock, toSeconds } from '../../../lib/base/clock.ts'

const test = suite('clock')

test('an aborted delay rejects with the reason, before and while it waits', async () => {
  for (const clock of [systemClock, createTestClock()]) {
    const reason = new Error('stopped')
    await clock.delay(60_000, AbortSignal.abort(reason)).then(
      () => assert.unreachable(),
      error => assert.is(error, reason),
    )
    const controller = new AbortController()
    const waiting = clock.delay(60_000, controller.signal)
    controller.abort(reason)
    await waiting.then(
      () => assert.unreachable(),
      error => assert.is(error, reason),
    )
  }
})

test('a canceled timer does not run; the others do', async () => {
  const ran: string[] = []
  await new Promise<void>(resolve => {
    systemClock.timer(0, () => ran.push('canceled'))()
    systemClock.timer(0, () => ran.push('timer'))
    void systemClock.delay(1).then(resolve)
  })
  assert.equal(ran, ['timer'])
})

test('a timer that is longer than those of Node does not run at once', async () => {
  let runs = 0
  const cancel = systemClock.timer(2 ** 31 + 5, () => (runs += 1))
  const controller = new AbortController()
  void systemClock.delay(2 ** 32, controller.signal).then(
    () => (runs += 1),
    () => undefined,
  )
  await systemClock.delay(5)
  cancel()
  controller.abort()
  assert.is(runs, 0)
})

test('timers of a test run in their order, each at its own time, also those that one starts', async () => {
  const clock = createTestClock(1_000)
  const ran: [string, number][] = []
  clock.timer(20, () => ran.push(['second', clock.now()]))
  clock.timer(10, () => {
    ran.push(['first', clock.now()])
    clock.timer(5, () => ran.push(['started', clock.now()]))
  })
  void clock.delay(30).then(() => ran.push(['delay', clock.now()]))
  assert.equal(clock.waiting(), [10, 20, 30])
  await clock.advance(29)
  assert.is(clock.now(), 1_029)
  await clock.advance(1)
  assert.equal(ran, [
    ['first', 1_010],
    ['started', 1_015],
    ['second', 1_020],
    ['delay', 1_030],
  ])
})

test('a clock that is set moves no timer', async () => {
  const clock = createTestClock(1_000)
  let runs = 0
  clock.timer(10, () => (runs += 1))
  clock.set(500_000)
  assert.equal([clock.now(), clock.monotonic(), clock.waiting()], [500_000, 0, [10]])
  await clock.advance(10)
  assert.equal([clock.now(), clock.monotonic(), runs], [500_010, 10, 1])
})

test('files and the wire count seconds', () => {
  assert.is(toSeconds(1_500), 1.5)
  assert.is(fromSeconds(1.5), 1_500)
})

test.run()
