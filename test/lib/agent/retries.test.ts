/** Retries: attempts, delays, and the streamed text of failed calls. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import { waitOn } from '../../../lib/agent/retry.ts'
import { run, scripted, shape, text } from './_run.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('retries')

const down = new ProviderFailure('network', 'down')

test('six attempts, announced, with doubling waits', async () => {
  const { outcome, events, waits, messages } = await run(
    scripted(...Array.from({ length: 6 }, () => [down])).provider,
  )
  assert.is(outcome.failure?.type, 'network')
  assert.is(shape(events), 'retry retry retry retry retry')
  assert.equal(waits, [2000, 4000, 8000, 16_000, 32_000])
  assert.is(messages.length, 0)
  assert.equal(events[0], {
    type: 'retry',
    messageId: 'm1',
    attempt: 1,
    attempts: 6,
    delayMs: 2000,
    message: 'down',
    reason: 'connection',
    provider: 'custom',
  })
})

test('ends the wait early, announces it, and removes the handle when the wait is over', async () => {
  const pending = new Set<() => void>()
  const { events } = await run(
    scripted([down], [down], [text('x')]).provider,
    {
      onRetryWait(retryNow) {
        pending.add(retryNow)
        return () => pending.delete(retryNow)
      },
    },
    () => {},
    // Only the first wait ends early.
    async (ms, signal, end) => {
      const [retryNow] = pending
      if (ms > 2_000) return
      const ended = waitOn(createTestClock())(600_000, signal, end)
      retryNow?.()
      await ended
    },
  )
  assert.is(pending.size, 0)
  assert.equal(
    events.flatMap(event => (event.type === 'retry' ? [[event.attempt, event.delayMs]] : [])),
    [
      [1, 2000],
      [1, 0],
      [2, 4000],
    ],
  )
})

test('a wait ends with the time, with its end, and with the turn', async () => {
  const [turn, end] = [new AbortController(), new AbortController()]
  const clock = createTestClock()
  const wait = waitOn(clock)
  const whole = wait(1_000, turn.signal, end.signal)
  await clock.advance(1_000)
  await whole
  const ended = wait(600_000, turn.signal, end.signal)
  end.abort()
  await ended
  await wait(600_000, turn.signal, end.signal)
  const stopped = wait(600_000, turn.signal)
  turn.abort(new Error('stopped'))
  await stopped.then(
    () => assert.unreachable(),
    error => assert.is(error.message, 'stopped'),
  )
})

test('a call that costs the whole prompt again is repeated once, whatever is set; others at least as often as asked', async () => {
  const cut = new ProviderFailure('network', 'cut', { kind: 'cut_while_working' })
  const full = new ProviderFailure('network', 'full', { status: 529 })
  for (const [failure, request, made] of [
    [cut, {}, 2],
    [cut, { maxAttempts: 9 }, 2],
    [cut, { minAttempts: 8 }, 2],
    [cut, { maxAttempts: 1 }, 1],
    [full, { minAttempts: 8 }, 8],
    [full, { minAttempts: 8, maxAttempts: 3 }, 3],
    [new ProviderFailure('rate_limit', 'slow', { retryAfterMs: 9 }), { minAttempts: 8 }, 14],
  ] as const) {
    const { provider, received } = scripted(...Array.from({ length: 15 }, () => [failure]))
    await run(provider, request)
    assert.is(received.length, made)
  }
})

test.run()
