/** Tokens of programs by the clock: what runs under one ends with it. */
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { ApiTokens } from '../../../lib/people/api-tokens.ts'
import { toSeconds } from '../../../lib/base/clock.ts'
import { tempDir } from '../../_temp-dir.ts'

const DAY_MS = 86_400_000
const test = suite<{ dir: string }>('api tokens')
test.before.each(context => {
  context.dir = tempDir('api-tokens')
})

const make = (dir: string, days: number) => {
  const clock = createTestClock()
  const tokens = new ApiTokens(join(dir, 'api-tokens.json'), clock)
  tokens.setEnabled(true)
  const { token } = tokens.create({
    ...{ name: 'x', profile: 'default', workspace: '', scope: 'work', paths: ['v1'] },
    ...{ approvals: 'ask', disconnect: 'stop' },
    expires_at: toSeconds(clock.now() + days * DAY_MS),
  })
  return { clock, tokens, token, signal: tokens.signal(token.id) }
}

test('requests end when their token expires, not when the longest timer does', async ({ dir }) => {
  const { clock, tokens, token, signal } = make(dir, 60)
  await clock.advance(59 * DAY_MS)
  assert.is(signal.aborted, false)
  assert.is(tokens.find(token.id)?.id, token.id)
  await clock.advance(DAY_MS)
  assert.is(signal.aborted, true)
  assert.is(tokens.find(token.id), null)
})

test('requests end with a token that is revoked, which leaves no timer', ({ dir }) => {
  const { clock, tokens, token, signal } = make(dir, 1)
  assert.is(tokens.revoke(token.id), true)
  assert.equal([signal.aborted, clock.waiting()], [true, []])
})

test.run()
