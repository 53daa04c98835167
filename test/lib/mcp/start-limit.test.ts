/** Starts of an MCP server: pauses after failures, a limit per minute. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { StartLimit } from '../../../lib/mcp/start-limit.ts'

const setUp = () => {
  const clock = createTestClock()
  return { clock, limit: new StartLimit(clock) }
}
const test = suite('mcp: start limit')

test('rejects a sixth start within a minute', async () => {
  const { clock, limit } = setUp()
  for (let n = 0; n < 5; n++) {
    assert.ok(limit.mayStart())
    limit.recordStart()
  }
  assert.not(limit.mayStart())
  await clock.advance(60_000)
  assert.ok(limit.mayStart())
})

test('pauses longer after each failure, except the first', async () => {
  const { clock, limit } = setUp()
  limit.recordFailure()
  assert.ok(limit.mayStart())
  for (const pauseMs of [2_000, 10_000, 30_000, 60_000, 60_000]) {
    limit.recordFailure()
    await clock.advance(pauseMs - 1)
    assert.not(limit.mayStart(), `${pauseMs}`)
    await clock.advance(1)
    assert.ok(limit.mayStart(), `${pauseMs}`)
  }
})

test('a success or a reset ends the pause', () => {
  const { limit } = setUp()
  for (const end of [limit.recordSuccess, limit.reset]) {
    limit.recordFailure()
    limit.recordFailure()
    assert.not(limit.mayStart())
    end()
    assert.ok(limit.mayStart())
  }
})

test.run()
