/** The card of a call that is about to be repeated: its text, the server's clock, and the Retry now button. */
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type ShownRetry, shownRetryOf } from '../../../public/features/transcript/pending-retry.ts'
import type { LiveTurn } from '../../../lib/schema/session.ts'
import { RetryCard } from '../../../public/features/transcript/retry-card.tsx'
import { createServerClock } from '../../../public/parts/server-clock.ts'
import { createTestClock } from '../../_clock.ts'
import { toSeconds } from '../../../lib/base/clock.ts'

const test = suite('retry card')

const clock = createServerClock(createTestClock())
const draw = (given: Partial<ShownRetry>): string =>
  renderToString(
    h(RetryCard, {
      retry: {
        attempt: 1,
        attempts: 6,
        delay_ms: 12_000,
        until: toSeconds(clock.now()) + 11.5,
        reason: 'rate_limit',
        provider: 'OpenAI',
        message: '<b>Slow down.</b>',
        goal: null,
        others: 0,
        ...given,
      },
      clock,
      onRetryNow: async () => {},
      onStop() {},
    }),
  )
const wordsOf = (html: string): string =>
  html
    .replace(/<[^>]+>/g, '|')
    .replace(/\|+/g, '|')
    .slice(1, -1)

test('names the cause, the time, the attempt, and the provider’s words', () => {
  assert.is(
    wordsOf(draw({})),
    'Rate limit at OpenAI|Retrying in 12 s · attempt 2 of 6|&lt;b>Slow down.&lt;/b>|Retry now|Stop',
  )
  for (const [given, expected] of [
    [{ reason: 'overloaded' }, 'OpenAI is overloaded'],
    [{ reason: 'connection' }, 'The connection to OpenAI broke off'],
    [{ delay_ms: 600_000 }, 'OpenAI asks to wait 10 min'],
    [{ delay_ms: 625_000 }, 'OpenAI asks to wait 10 min 25 s'],
    [{ reason: undefined, message: 'Odd.' }, 'Odd|Retrying'],
    [{ provider: undefined }, 'Rate limit at the provider'],
    [{ goal: 'Count files', others: 2 }, 'Rate limit at OpenAI (subagent)'],
    [{ goal: 'Count files', others: 2 }, 'Count files'],
    [{ others: 1 }, '1 more step is waiting'],
    [{ until: toSeconds(clock.now()) + 581 }, 'Retrying in 9 min 41 s'],
    [{ until: 1 }, 'Retrying now… · attempt 2 of 6'],
    [{ attempts: 0 }, 'Retrying in 12 s|'],
  ] as const)
    assert.ok(wordsOf(draw(given)).includes(expected), `${expected}: ${wordsOf(draw(given))}`)
})

test('the countdown is no live region, and the button is off when the time is up', () => {
  const html = draw({})
  assert.match(html, /<p class="retry-when" aria-hidden="true">/)
  assert.is(html.match(/role="status"/g)?.length, 1)
  assert.match(html, /role="status"[^>]*><\/p>/)
  assert.not.match(html, /disabled/)
  assert.is(draw({ until: 1 }).match(/disabled/g)?.length, 1)
})

test('takes the server’s clock when the device’s clock is clearly wrong', () => {
  const device = createTestClock(Date.parse('2026-11-22T12:00:00.700Z'))
  const server = createServerClock(device)
  assert.is(server.now(), device.now())
  for (const [header, aheadMs] of [
    ['Sun, 22 Nov 2026 12:00:01 GMT', 0],
    ['Sun, 22 Nov 2026 12:00:00 GMT', 0],
    [null, 0],
    ['soon', 0],
    ['Sun, 22 Nov 2026 12:05:00 GMT', 299_800],
    ['Sun, 22 Nov 2026 11:00:00 GMT', -3_600_200],
    ['Sun, 22 Nov 2026 12:00:01 GMT', 0],
  ] as const) {
    server.observe(header)
    assert.is(server.now() - device.now(), aheadMs, String(header))
  }
})

test('of several waits the one that ends first is shown; those of subagents that ended are none', () => {
  const retry = (until: number) => ({ attempt: 1, attempts: 4, until, message: 'x' })
  const agent = (goal: string, status: string, until: number) => ({
    goal,
    status,
    retry: retry(until),
  })
  const live = (own: number | null, ...subagents: object[]) =>
    ({ ...(own !== null && { retry: retry(own) }), subagents }) as unknown as LiveTurn
  const shown = (turn: LiveTurn | null) => {
    const first = shownRetryOf(turn)
    return first && [first.goal, first.until, first.others]
  }
  assert.is(shown(null), null)
  assert.is(shown(live(null)), null)
  assert.equal(shown(live(5)), [null, 5, 0])
  assert.equal(shown(live(null, agent('a', 'running', 9), agent('b', 'running', 7))), ['b', 7, 1])
  assert.equal(shown(live(8, agent('a', 'running', 9), agent('b', 'interrupted', 7))), [null, 8, 1])
})

test.run()
