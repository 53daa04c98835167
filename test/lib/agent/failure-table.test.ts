/** Every answer of `_failures.ts` over the wire: kind, type, advice, repeats, and the turn that ends with it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { adviceOf, KINDS } from '../../../lib/agent/failure-kinds.ts'
import { ROWS } from '../../../lib/agent/failure-rows.ts'
import { attemptsFor } from '../../../lib/agent/retry.ts'
import { systemClock } from '../../../lib/base/clock.ts'
import { CASES, NOW } from './_failures.ts'
import { FORMATS, failing, speaker, withServer } from './providers/_matrix.ts'

const test = suite('table of failures')
const [format] = FORMATS
const { ask, converse } = speaker(format!)
const clock = { ...systemClock, now: () => NOW }

/** A call that succeeds ends the number of attempts that the kind allows. */
const DEFAULT_ATTEMPTS: Readonly<Record<string, number>> = { none: 1, once: 2, busy: 6 }

for (const [name, { step, kind, attempts, resetMs, code, param }] of Object.entries(CASES))
  test(name, async () => {
    await withServer([step], async server => {
      const failure = await failing(ask(server, { options: { clock } }))
      assert.is(failure.kind, kind, failure.message)
      assert.is(failure.type, KINDS[kind].type)
      assert.is(failure.retryable, KINDS[kind].repeats !== 'none')
      const expected = attempts ?? DEFAULT_ATTEMPTS[KINDS[kind].repeats]
      if (expected !== undefined) assert.is(attemptsFor(failure), expected)
      if (resetMs !== undefined) assert.is(failure.retryAfterMs, resetMs)
      if (code !== undefined) assert.is(failure.code, code)
      if (param !== undefined) assert.is(failure.param, param)
      assert.not.match(failure.message, /^\s*\{"/)
    })
    // The turn: as many requests as the kind allows, and its advice.
    const count = KINDS[kind].repeats === 'none' ? 1 : 3
    await withServer(
      Array.from({ length: count }, () => step),
      async server => {
        const { outcome } = await converse(server, { maxAttempts: count })
        assert.is(server.requests.length, count)
        assert.is(outcome.failure?.type, KINDS[kind].type)
        const isLimit = kind === 'rate_limit' || kind === 'spending_limit'
        if (!isLimit) assert.is(outcome.failure?.hint, adviceOf(kind))
      },
    )
  })

test('every row is of a known kind and names a public source', () => {
  for (const row of ROWS) {
    assert.ok(Object.hasOwn(KINDS, row.kind), row.kind)
    assert.is(URL.parse(row.source)?.protocol, 'https:', row.source)
  }
})

test('every kind a row can have is met by a case', () => {
  const met = new Set(Object.values(CASES).map(({ kind }) => kind))
  assert.equal(
    ROWS.map(({ kind }) => kind).filter(kind => !met.has(kind)),
    [],
  )
})

test.run()
