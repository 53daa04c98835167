/** The system's clock, and the one of the tests behaves like it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { systemClock } from '../../../lib/base/clock.ts'

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

test.run()
