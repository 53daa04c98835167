/** Tokens of an agent's turns: totals of the session by their difference, those of a turn as they are, and those of each call. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countReport, countsOf, toUsage, usageStyle } from '../../../../lib/agent/acp/usage.ts'
import type { ReportedUsage } from '../../../../lib/agent/external-agent.ts'
import { using } from './_external.ts'

const test = suite('acp usage')

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

test('knows by name how an agent counts', () => {
  const cases: [id: string, name: string, style: string][] = [
    ['copilot', 'Copilot', 'session'],
    ['mine', 'GitHub Copilot', 'session'],
    ['mine', '@agentclientprotocol/claude-agent-acp', 'turn'],
    ['codex', 'x', 'turn'],
    ['opencode', 'OpenCode', 'turn'],
    ['x', 'qwen-code', 'turn'],
    ['x', 'y', 'unknown'],
  ]
  for (const [id, name, style] of cases) assert.is(usageStyle(id, { name }), style, `${id} ${name}`)
  assert.is(usageStyle('copilot-acp', null), 'session')
})

type Report = [input: number, output: number]

/** What each report adds to the count; `|` means that the agent's session is loaded again. */
const CASES: [what: string, name: string, reports: (Report | '|')[], counted: number[]][] = [
  [
    'totals of a session',
    'copilot',
    [
      [100, 1],
      [200, 2],
      [500, 5],
      [600, 6],
      [700, 7],
    ],
    [100, 100, 300, 100, 100],
  ],
  [
    'a command without a model call',
    'copilot',
    [
      [100, 1],
      [100, 1],
      [150, 2],
    ],
    [100, 0, 50],
  ],
  [
    'totals of which a part falls',
    'copilot',
    [
      [100, 9],
      [200, 8],
      [300, 10],
    ],
    [100, 100, 100],
  ],
  [
    'totals that start again',
    'copilot',
    [
      [100, 1],
      [300, 2],
      [40, 1],
      [90, 2],
    ],
    [100, 200, 40, 50],
  ],
  ['totals after a restart', 'copilot', [[100, 1], '|', [180, 2]], [100, 80]],
  ['totals that a restart lost', 'copilot', [[100, 1], '|', [30, 1], [50, 2]], [100, 30, 20]],
  [
    'its own of a turn',
    'claude',
    [
      [100, 1],
      [200, 2],
      [500, 5],
    ],
    [100, 200, 500],
  ],
  [
    'its own, falling',
    'codex',
    [
      [500, 9],
      [100, 1],
      [100, 1],
    ],
    [500, 100, 100],
  ],
  [
    'its own, the same again',
    'opencode',
    [
      [7, 1],
      [7, 1],
      [7, 1],
    ],
    [7, 7, 7],
  ],
  [
    'unknown: totals',
    'x',
    [
      [100, 1],
      [200, 2],
      [500, 5],
      [600, 6],
    ],
    [100, 100, 300, 100],
  ],
  [
    'unknown: its own, larger and then smaller',
    'x',
    [
      [100, 5],
      [150, 6],
      [120, 1],
    ],
    [100, 50, 220],
  ],
  [
    'unknown: its own once known',
    'x',
    [
      [9, 5],
      [8, 6],
      [100, 1],
      [200, 9],
    ],
    [9, 8, 100, 200],
  ],
  [
    'unknown: the same again',
    'x',
    [
      [7, 1],
      [7, 1],
      [7, 1],
    ],
    [7, 7, 7],
  ],
  ['unknown: a restart, smaller', 'x', [[100, 1], '|', [30, 1], [90, 3]], [100, 30, 60]],
  [
    'unknown: totals, a command, then a new start',
    'x',
    [
      [10, 1],
      [20, 2],
      [30, 3],
      [40, 4],
      [40, 4],
      [5, 1],
    ],
    [10, 10, 10, 10, 0, 5],
  ],
  [
    'unknown: input grows and output falls',
    'x',
    [
      [100, 50],
      [200, 3],
    ],
    [100, 300 - 100],
  ],
]
for (const [what, name, reports, counted] of CASES)
  test(`counts ${what}`, () => {
    let before: ReportedUsage | null = null
    let isReopened = false
    const found: number[] = []
    for (const report of reports) {
      if (report === '|') {
        isReopened = true
        continue
      }
      const [input, output] = report
      const counts = { input, output, read: 0, written: 0 }
      const style = usageStyle('', { name })
      const { spent, after } = countReport(counts, before, { style, isReopened })
      before = after
      isReopened = false
      found.push(spent.input)
    }
    assert.equal(found, counted)
  })

const spend = (report: object) => `spend ${JSON.stringify(report)}`
const total = (inputTokens: number, outputTokens: number) =>
  spend({ usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens } })

test(
  'totals of a session are counted by their difference, also after a restart of the service',
  using('', {}, async at => {
    at.place.env = { ACP_TEST_NAME: 'copilot' }
    const counted: number[] = []
    for (const input of [100, 200, 500])
      counted.push((await at.say(total(input, input / 10))).outcome.usage.input_tokens)
    await at.restart()
    counted.push((await at.say(total(600, 60))).outcome.usage.input_tokens)
    assert.equal(counted, [100, 100, 300, 100])
  }),
)

test(
  'counts what Gemini and Qwen report in their own ways',
  using('', {}, async at => {
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
      assert.equal(
        [usage.input_tokens, usage.output_tokens],
        [input, output],
        JSON.stringify(report),
      )
    }
  }),
)

test(
  'what a stopped turn used counts, and is not counted again',
  using('', {}, async at => {
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
  }),
)

test.run()
