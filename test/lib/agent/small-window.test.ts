/** Runs in windows smaller than expected: silent truncation, prompts and tools that barely fit, long results. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Compression } from '../../../lib/agent/compress.ts'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import { truncatedTo } from '../../../lib/agent/silent-truncation.ts'
import type { AgentRequest, LoopMessage, ProviderDelta } from '../../../lib/agent/types.ts'
import type { AskedWindow } from '../../../lib/agent/window-services.ts'
import {
  COMPRESSION,
  endpoint,
  toolOf,
  finish,
  run,
  type Said,
  scripted,
  text,
  use,
} from './_run.ts'

const test = suite('small window')

const tool = (name: string, chars = 10) =>
  toolOf(name, () => ({ content: 'some words '.repeat(chars / 11) }), {
    summary: `${name} ${'does a thing. '.repeat(10)}`,
    kind: 'read',
  })
const SMALL = [tool('terminal', 40_000)]
const ALL = [...SMALL, ...Array.from({ length: 40 }, (_, at) => tool(`other_${at}`))]

const compression = (window = 0): Compression => ({
  settings: COMPRESSION,
  callModel: async () => '## Goal\nnotes',
  window,
  cooldown: { until: () => 0, start: () => undefined },
})

/** `asked`: what the server says; `learned`: what the run kept for later. */
const windowsOf = (asked: AskedWindow | null = null) => {
  const learned: number[] = []
  const windows: NonNullable<AgentRequest['windows']> = {
    ask: async () => asked,
    apply: endpoint => endpoint,
    learn: (_, tokens) => void learned.push(tokens),
    noteRead: () => undefined,
  }
  return { windows, learned }
}

const requestOf = (contextLength: number, more: Partial<AgentRequest> = {}) => ({
  endpoint: endpoint(contextLength, { providerName: 'My Box', model: 'gemma' }),
  compression: compression(),
  ...more,
})

const usage = (inputTokens: number, more = {}): ProviderDelta => ({
  type: 'usage',
  inputTokens,
  outputTokens: 5,
  ...more,
})
const answer = (said: string, ...more: ProviderDelta[]): Said => [
  text(said),
  ...more,
  finish('stop'),
]

/** About 200,000 tokens in ten exchanges. */
const longHistory = (): LoopMessage[] => [
  ...Array.from({ length: 20 }, (_, at) => ({
    role: at % 2 ? ('assistant' as const) : ('user' as const),
    id: `h${at}`,
    position: at,
    content: `${at} ${'lorem ipsum dolor '.repeat(2_200)}`,
  })),
  { role: 'user', id: 'h20', position: 20, content: 'and now?' },
]

const warningsIn = (events: Awaited<ReturnType<typeof run>>['events']) =>
  events.flatMap(event => (event.type === 'warning' ? [event] : []))

test('a server that drops most of the prompt: noticed once, compacted, and called again', async () => {
  const { provider, received } = scripted(
    answer('blind', usage(4_096)),
    answer('seen', usage(2_500)),
  )
  const { windows, learned } = windowsOf()
  const { outcome, events, messages } = await run(
    provider,
    requestOf(1_000_000, { windows, history: longHistory() }),
  )
  assert.equal([outcome.status, outcome.text], ['finished', 'seen'])
  assert.is(messages.length, 1, 'the answer without the conversation is void')
  assert.equal(learned, [4_096])
  assert.is(outcome.usage.context_length, 4_096)
  assert.ok(received[1]!.messages.length < received[0]!.messages.length)
  const [warning, ...others] = warningsIn(events)
  assert.is(others.length, 0)
  assert.is(warning?.kind, 'window')
  assert.match(`${warning?.message}`, /^My Box read only 4.1k of about 19\dk tokens: .*gemma/)
  assert.ok(events.some(({ type }) => type === 'retry'))
})

test('the server’s own word decides: its window, and the advice for that program', async () => {
  const asked = windowsOf({ tokens: 8_192, kind: 'ollama' })
  const { events } = await run(
    scripted(answer('blind', usage(7_000)), answer('seen', usage(2_000))).provider,
    requestOf(131_072, { windows: asked.windows, history: longHistory().slice(16) }),
  )
  assert.equal(asked.learned, [8_192])
  assert.match(`${warningsIn(events)[0]?.message}`, 'model.ollama_num_ctx')
  const roomy = windowsOf({ tokens: 262_144, kind: 'llamacpp' })
  const { outcome } = await run(
    scripted(answer('fine', usage(4_096))).provider,
    requestOf(1_000_000, { windows: roomy.windows, history: longHistory() }),
  )
  assert.equal([outcome.text, roomy.learned], ['fine', []])
})

const COUNTS: [name: string, count: Parameters<typeof truncatedTo>[0], found: number][] = [
  [
    'four thousand of two hundred thousand',
    { counted: 4_096, cached: 0, sent: 200_000, added: 100 },
    4_096,
  ],
  ['whole messages were dropped', { counted: 3_700, cached: 0, sent: 200_000, added: 100 }, 4_096],
  ['an odd window', { counted: 5_000, cached: 0, sent: 200_000, added: 100 }, 5_000],
  ['another tokenizer', { counted: 20_000, cached: 0, sent: 40_000, added: 100 }, 0],
  ['cached tokens are reported', { counted: 4_096, cached: 190_000, sent: 200_000, added: 100 }, 0],
  ['only new tokens are counted', { counted: 4_096, cached: 0, sent: 200_000, added: 4_500 }, 0],
  ['a count that is no length', { counted: 12, cached: 0, sent: 200_000, added: 100 }, 0],
  ['a short prompt', { counted: 1_000, cached: 0, sent: 2_900, added: 100 }, 0],
]
for (const [name, count, found] of COUNTS)
  test(`truncation by the count: ${name}`, () => assert.is(truncatedTo(count, null), found))

test('llama.cpp with -c 8192, believed 131072: fewer tools and a short prompt, and the turn finishes', async () => {
  const tooLong = new ProviderFailure(
    'context_overflow',
    'request (11000 tokens) exceeds the available context size (8192 tokens), try increasing it',
    { status: 400 },
  )
  const { provider, received } = scripted([tooLong], answer('done'))
  const { windows, learned } = windowsOf()
  const reducedTo: number[] = []
  const { outcome } = await run(
    provider,
    requestOf(131_072, {
      windows,
      system: 'You are helpful. '.repeat(1_500),
      tools: ALL,
      reduce: async ({ contextLength }) => {
        reducedTo.push(contextLength)
        return { system: 'You are helpful.', tools: SMALL }
      },
    }),
  )
  assert.equal([outcome.status, outcome.text], ['finished', 'done'])
  assert.equal([reducedTo, learned], [[8_192], [8_192]])
  const [first, second] = received
  assert.equal([first!.tools.length, second!.tools.length], [41, 1])
  assert.is(second!.messages[0]!.content, 'You are helpful.')
})

test('results take a share of the window, and no more than fits in the end', async () => {
  const { provider, received } = scripted(
    ...Array.from(
      { length: 6 },
      (_, at): Said => [use('terminal', {}, 0, `c${at}`), finish('tool_calls')],
    ),
    answer('done'),
  )
  const { outcome, messages } = await run(provider, requestOf(8_192, { tools: SMALL }))
  assert.is(outcome.status, 'finished')
  const results = messages.filter(({ role }) => role === 'tool')
  assert.ok(results.every(({ content }) => String(content).length <= 4_096))
  for (const { messages: sent } of received)
    assert.ok(JSON.stringify(sent).length / 4 < 8_192, 'every prompt fits')
})

test('an overflow of a short prompt teaches nothing for later turns', async () => {
  const { windows, learned } = windowsOf()
  const guess = new ProviderFailure('context_overflow', 'too long', { status: 400 })
  const { outcome } = await run(scripted([guess]).provider, requestOf(60_000, { windows }))
  assert.equal([outcome.failure?.type, learned], ['context_overflow', []])
})

test('a long prompt that is rejected without a message teaches nothing for later turns', async () => {
  const { windows, learned } = windowsOf()
  const guess = new ProviderFailure('context_overflow', 'status 400', {
    status: 400,
    isBodyEmpty: true,
  })
  const { outcome } = await run(
    scripted([guess], answer('done')).provider,
    requestOf(200_000, { windows, history: longHistory().slice(-11) }),
  )
  assert.equal([outcome.status, learned], ['finished', []])
})

test('a window that was learned too small grows with what the server counts', async () => {
  const guess = new ProviderFailure('context_overflow', 'too long', { status: 400 })
  const { windows, learned } = windowsOf()
  const { outcome } = await run(
    scripted([guess], answer('done', usage(100_000))).provider,
    requestOf(200_000, { windows, history: longHistory().slice(14) }),
  )
  assert.is(outcome.status, 'finished')
  assert.equal(learned, [65_536, 131_072])
})

test.run()
