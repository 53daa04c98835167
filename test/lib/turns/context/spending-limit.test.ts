/** Spending limits of a turn, a session and a day. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApprovalChoice } from '../../../../lib/schema/question.ts'
import { SpendingLimit } from '../../../../lib/turns/context/spending-limit.ts'
import { createTestClock } from '../../../_clock.ts'

const test = suite('spending limit')
const usage = (tokens: number, cost = 0) => ({
  input_tokens: tokens,
  output_tokens: 0,
  estimated_cost: cost,
})

/** A turn with these limits and usage; `answers` are given in order. */
const setup = (
  budgets: Record<string, unknown>,
  answers: ApprovalChoice[] = [],
  { unattended = null as unknown, day = usage(0), session = usage(0) } = {},
) => {
  const meta: Record<string, unknown> = {}
  const asked: string[] = []
  const turn = { usage: usage(0) }
  const home = {
    name: 'default',
    config: () => ({
      budgets: { turn: {}, session: {}, day: {}, ...budgets },
      approvals: { gateway_timeout: 1 },
    }),
  }
  const limit = new SpendingLimit(
    { sessionId: 's', home, turn, unattended } as never,
    {
      head: () => ({ meta }),
      require: () => session,
      append: (_: string, [entry]: { patch: object }[]) => Object.assign(meta, entry?.patch),
    } as never,
    { since: () => day } as never,
    async ({ description }) => {
      asked.push(description)
      return answers.shift() ?? 'deny'
    },
    createTestClock(1_700_000_000_000),
  )
  const spend = (tokens: number, cost = 0) => {
    turn.usage = usage(tokens, cost)
    return limit.check()
  }
  return { spend, asked, meta }
}

test('once: extends the limit by its own amount', async () => {
  const { spend, asked } = setup({ turn: { tokens: 100 } }, ['once'])
  assert.is(await spend(150), null)
  assert.is(await spend(249), null)
  assert.is(asked.length, 1)
  assert.match(`${await spend(250)}`, /250 tokens/)
})

test('for the session: lifts the limit in the session’s record', async () => {
  const { spend, meta } = setup({ session: { usd: 1 } }, ['session'], { session: usage(0, 2) })
  assert.is(await spend(0, 0), null)
  assert.equal(meta.budget_lifted, ['session usd'])
  assert.is(await spend(0, 100), null)
})

test('an extension of the day counts for that day', async () => {
  const { spend, meta } = setup({ day: { tokens: 10 } }, ['once'], { day: usage(15) })
  assert.is(await spend(0), null)
  const { upTo, day } = (meta.budget_granted as Record<string, { upTo: number; day: string }>)[
    'day tokens'
  ]!
  assert.is(upTo, 25)
  assert.ok(day.includes('2023'))
})

test('parallel checks share one question', async () => {
  const { spend, asked } = setup({ turn: { tokens: 100 } }, ['once'])
  assert.equal(await Promise.all([spend(150), spend(150), spend(150)]), [null, null, null])
  assert.is(asked.length, 1)
})

test.run()
