/** Tokens of an agent's turns: totals of the session by their difference, those of a turn as they are, and those of each call. */
import * as assert from 'uvu/assert'
import { countsOf, reportsTotals, tokensSince, toUsage } from '../../../../lib/agent/acp/usage.ts'
import { agentSuite } from './_external.ts'

const test = agentSuite('acp usage')

test('counts cached tokens once, whether they are part of the input or not', () => {
  const cases: [Parameters<typeof countsOf>[0], Partial<ReturnType<typeof toUsage>>][] = [
    [null, { input_tokens: 0, output_tokens: 0 }],
    [
      { inputTokens: 10, outputTokens: 2, cachedReadTokens: 5, totalTokens: 17 },
      { input_tokens: 15, output_tokens: 2, cache_read_tokens: 5 },
    ],
    [
      { inputTokens: 10, outputTokens: 2, cachedReadTokens: 5, totalTokens: 12 },
      { input_tokens: 10, output_tokens: 2, cache_read_tokens: 5 },
    ],
  ]
  for (const [used, wanted] of cases) assert.equal(toUsage(countsOf(used)), wanted)
})

test('counts totals of a session by their difference; one that is smaller begins anew', () => {
  const counts = ([input, output]: readonly [number, number]) => ({
    input,
    output,
    read: 0,
    written: 0,
  })
  const cases: [reports: [number, number][], counted: number[]][] = [
    [
      [
        [100, 1],
        [200, 2],
        [500, 5],
        [500, 5],
      ],
      [100, 100, 300, 0],
    ],
    [
      [
        [100, 9],
        [200, 8],
        [300, 10],
      ],
      [100, 100, 100],
    ],
    [
      [
        [100, 1],
        [300, 2],
        [40, 1],
        [90, 2],
      ],
      [100, 200, 40, 50],
    ],
  ]
  for (const [reports, counted] of cases)
    assert.equal(
      reports.map((report, at) => {
        const last = reports[at - 1]
        return tokensSince(counts(report), last ? counts(last) : null).input
      }),
      counted,
    )
  assert.ok(reportsTotals('mine', { name: 'GitHub Copilot' }))
  assert.ok(reportsTotals('copilot-acp', null))
  assert.not(reportsTotals('codex', { name: 'x' }))
})

const spend = (report: object) => `spend ${JSON.stringify(report)}`
const total = (inputTokens: number, outputTokens: number) =>
  spend({ usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens } })

test('totals of a session are counted by their difference, also after a restart of the service', async at => {
  at.place.env = { ACP_TEST_NAME: 'copilot' }
  const counted: number[] = []
  for (const input of [100, 200, 500])
    counted.push((await at.say(total(input, input / 10))).outcome.usage.input_tokens)
  await at.restart()
  counted.push((await at.say(total(600, 60))).outcome.usage.input_tokens)
  assert.equal(counted, [100, 100, 300, 100])
})

test('counts what Gemini and Qwen report in their own ways', async at => {
  const quota = (input_tokens: number, output_tokens: number) => ({
    _meta: { quota: { token_count: { input_tokens, output_tokens }, model_usage: [] } },
  })
  const call = (inputTokens: number, outputTokens: number, more = {}) => ({
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...more,
  })
  const cases: [object, number, number][] = [
    [quota(120, 7), 120, 7],
    [quota(80, 3), 80, 3],
    [quota(0, 0), 0, 0],
    [{ calls: [call(100, 5), call(150, 6, { cachedReadTokens: 90 })] }, 250, 11],
    // The end of the turn says it all.
    [{ calls: [call(10, 1)], usage: call(40, 4) }, 40, 4],
    [{ _meta: { quota: 'none' }, usage: { inputTokens: 'x' } }, 0, 0],
    [{ _meta: { quota: { token_count: { input_tokens: -1, output_tokens: null } } } }, 0, 0],
    [{ calls: ['x', { inputTokens: 3 }] }, 3, 0],
  ]
  for (const [report, input, output] of cases) {
    const { usage } = (await at.say(spend(report))).outcome
    assert.equal([usage.input_tokens, usage.output_tokens], [input, output], JSON.stringify(report))
  }
})

test('what a stopped turn used counts, and is not counted again', async at => {
  at.place.env = { ACP_TEST_NAME: 'copilot' }
  const stopped = async (report: object) => {
    const stop = new AbortController()
    const { outcome } = await at.say(spend({ ...report, waits: true }), {
      signal: stop.signal,
      react: ({ type }) => type === 'token' && stop.abort(),
    })
    assert.is(outcome.status, 'stopped')
    return outcome.usage.input_tokens
  }
  assert.is(await stopped({ calls: [{ inputTokens: 30, outputTokens: 1 }] }), 30)
  assert.is(await stopped({ usage: { inputTokens: 90, outputTokens: 5 } }), 90)
  assert.is((await at.say(total(100, 10))).outcome.usage.input_tokens, 10)
})

test.run()
