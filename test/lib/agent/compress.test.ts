/** Compaction: the messages a summary replaces, the prompt, and failures. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { COMPRESSION } from './_run.ts'
import { type SummaryModel, compress, mergeSummaries } from '../../../lib/agent/compress.ts'
import {
  type CompressionSettings,
  planCompression,
  thresholdOf,
} from '../../../lib/agent/compress-plan.ts'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import { estimateAllTokens } from '../../../lib/agent/tokens.ts'
import type { LoopMessage } from '../../../lib/agent/types.ts'
import { SUMMARY_MARK, summaryContent } from '../../../lib/schema/summary.ts'

const test = suite('compression')

const settings = COMPRESSION

const say = (role: 'user' | 'assistant', n: number, words = 40): LoopMessage => ({
  role,
  id: `m${n}`,
  content: `${n} `.padEnd(words * 4, 'word '),
})
const call = (n: number): LoopMessage => ({
  role: 'assistant',
  id: `m${n}`,
  content: '',
  tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'read', arguments: '{}' } }],
})
const result = (n: number, content = 'x'.repeat(400)): LoopMessage => ({
  role: 'tool',
  id: `m${n}`,
  tool_call_id: `c${n - 1}`,
  name: 'read',
  content,
})
const talk = (count: number, words = 40): LoopMessage[] =>
  Array.from({ length: count }, (_, at) => say(at % 2 ? 'assistant' : 'user', at + 1, words))
const NONE = { head: -1, tail: -1 }
const summaryOf = (from: string, to: string, text: string): LoopMessage => ({
  role: 'user',
  content: summaryContent(text),
  summary: { from, to, text },
})

test('keeps the first exchange and a tail that is bounded by tokens, not by count', () => {
  const messages = talk(40)
  const { head, tail } = planCompression(messages, { settings, threshold: 1_000 }) ?? NONE
  assert.is(head, 2)
  const kept = estimateAllTokens(messages.slice(tail))
  assert.ok(kept <= 1_000 * 0.2 * 1.5, String(kept))
  assert.ok(messages.length - tail >= 3)
  const roomy = planCompression(messages, { settings, threshold: 4_000 })
  assert.ok((roomy?.tail ?? 0) < tail, 'more stays where there is more room')
  const few = planCompression(messages, {
    settings: { ...settings, protectLast: 1 },
    threshold: 1_000,
  })
  assert.ok((few?.tail ?? 0) > tail, 'the room above the budget is for protected messages')
})

test('never separates calls from results, and keeps them out of the head', () => {
  const messages = [
    say('user', 1),
    call(2),
    result(3),
    ...Array.from({ length: 12 }, (_, at) => [call(4 + at * 2), result(5 + at * 2)]).flat(),
  ]
  for (let threshold = 50; threshold < 4_000; threshold += 50) {
    const plan = planCompression(messages, { settings, threshold })
    if (!plan) continue
    assert.ok(plan.head <= 1)
    assert.is.not(messages[plan.tail]?.role, 'tool', `at ${threshold}`)
    assert.is.not(messages[plan.head]?.role, 'tool')
  }
})

test('messages in between keep the boundary where no message would be hidden', () => {
  // A result that was moved to its call: another message is between them in the transcript.
  const messages = [
    { ...say('user', 1), position: 2 },
    { ...say('assistant', 2), position: 3 },
    { ...call(3), position: 4 },
    { ...result(4), position: 6 },
    { ...say('user', 5), position: 5 },
    { ...say('assistant', 6), position: 7 },
    { ...say('user', 7), position: 8 },
    { ...say('assistant', 8), position: 9 },
  ]
  for (let threshold = 10; threshold < 1_000; threshold += 10) {
    const plan = planCompression(messages, { settings, threshold })
    assert.is.not(plan?.tail, 4, `at ${threshold}: m5 would be hidden unsummarized`)
  }
})

test('thresholds: the configured value applies, above 1 in tokens, capped to leave tokens for the response', () => {
  const of = (more: Partial<CompressionSettings>, contextLength = 10_000, model = 'a/Model-X') =>
    thresholdOf({ ...settings, ...more }, { contextLength, model })
  assert.is(of({ enabled: false }), 0)
  assert.is(of({}, 0), 0, 'unknown window')
  assert.is(of({ threshold: undefined }), 7_500, 'small windows')
  assert.is(of({ threshold: undefined }, 100_000), 50_000)
  assert.is(of({}), 5_000)
  assert.is(of({ threshold: 0.3 }), 3_000)
  assert.is(of({ threshold: 1 }), 9_500)
  assert.is(of({ thresholdTokens: 700 }), 700)
  assert.is(of({ thresholdTokens: 70_000 }), 9_500)
  assert.is(of({ thresholdTokens: 700, modelThresholds: { 'model-x': 0.8 } }), 8_000)
  assert.is(of({ modelThresholds: { model: 0.8, 'model-x': 900 } }), 900)
})

const asking = (...answers: (string | Error)[]) => {
  const asked: string[] = []
  const left = [...answers]
  const callModel: SummaryModel = async (messages, { signal }) => {
    signal.throwIfAborted()
    asked.push(messages.map(({ content }) => String(content)).join('\n'))
    const answer = left.shift()
    if (answer instanceof Error) throw answer
    return answer ?? '## Goal\nshort'
  }
  return { callModel, asked }
}
const options = (callModel: SummaryModel, more = {}) => ({
  callModel,
  window: 100_000,
  signal: new AbortController().signal,
  ...more,
})

test('a failed, empty or longer summary changes nothing', async () => {
  const messages = talk(20)
  const before = structuredClone(messages)
  const plan = { head: 2, tail: 17 }
  for (const answer of [new ProviderFailure('network', 'down'), ' ', 'x'.repeat(100_000)]) {
    const { callModel } = asking(answer)
    await compress(messages, plan, options(callModel)).then(
      () => assert.unreachable(),
      () => undefined,
    )
    assert.equal(messages, before)
  }
  const stopped = new AbortController()
  stopped.abort(new Error('stopped'))
  const { callModel } = asking()
  await compress(messages, plan, options(callModel, { signal: stopped.signal })).then(
    () => assert.unreachable(),
    error => assert.is(error.message, 'stopped'),
  )
})

test('the summary replaces the messages and contains the request and the open steps verbatim', async () => {
  const messages = [
    ...talk(2),
    { role: 'user', id: 'm3', content: 'build the ark, exactly 300 cubits' } as LoopMessage,
    ...Array.from({ length: 12 }, (_, at) => [call(4 + at * 2), result(5 + at * 2)]).flat(),
  ]
  const { callModel, asked } = asking('## Goal\nan ark')
  const done = await compress(
    messages,
    { head: 2, tail: 23 },
    options(callModel, { todos: ['caulk it'], focus: 'wood' }),
  )
  assert.is(asked.length, 1)
  assert.match(asked[0] ?? '', 'build the ark')
  assert.match(asked[0] ?? '', 'wood')
  assert.is(done.messages.length, 2 + 1 + messages.length - 23)
  const standIn = done.messages[2] ?? say('user', 0)
  assert.is(standIn.role, 'user')
  assert.ok(String(standIn.content).startsWith(SUMMARY_MARK))
  assert.match(String(standIn.content), 'build the ark, exactly 300 cubits')
  assert.match(String(standIn.content), '- caulk it')
  assert.equal([done.first, done.last], ['m3', 'm23'])
  assert.equal(done.messages.slice(3), messages.slice(23))
  assert.ok(done.afterTokens < done.beforeTokens)
  assert.is(done.afterTokens, estimateAllTokens(done.messages))

  // The next summary covers this one: notes are updated, the request is kept, the range starts at the same message.
  const more = [...done.messages, call(40), result(41), call(42), result(43), say('assistant', 44)]
  const again = asking('## Goal\nstill an ark')
  const next = await compress(more, { head: 2, tail: more.length - 1 }, options(again.callModel))
  assert.match(again.asked[0] ?? '', '<notes>\n## Goal\nan ark\n</notes>')
  assert.equal([next.first, next.last], ['m3', 'm43'])
  assert.match(next.text, 'build the ark, exactly 300 cubits')
  assert.not.match(next.text, 'caulk it', 'steps are those of the moment')
})

test('summarizes in chunks, and in smaller ones after an overflow', async () => {
  const messages = talk(60, 400)
  const words = messages.map((_, at) => `${at + 1} word`)
  const plan = { head: 2, tail: 57 }
  const { callModel, asked } = asking(
    'one',
    'two',
    'three',
    'four',
    'five',
    'six',
    'seven',
    'eight',
  )
  await compress(messages, plan, options(callModel, { window: 20_000 }))
  assert.ok(asked.length > 1, String(asked.length))
  assert.match(asked[1] ?? '', '<notes>\none\n</notes>')
  for (const word of words.slice(2, 57)) assert.ok(asked.join('\n').includes(`\n${word}`), word)

  const tight = asking(new ProviderFailure('context_overflow', 'too long'), 'one', 'two', 'three')
  await compress(messages, plan, options(tight.callModel))
  assert.is(tight.asked.length, 3)
  for (const word of words.slice(2, 57))
    assert.ok(tight.asked.slice(1).join('\n').includes(`\n${word}`), word)
})

test('truncates long and repeated results in the summary prompt', async () => {
  const long = `BEGIN ${'y'.repeat(20_000)} END`
  const messages = [...talk(2), call(3), result(4, long), call(5), result(6, long), ...talk(4)]
  const { callModel, asked } = asking()
  await compress(messages, { head: 2, tail: 7 }, options(callModel))
  const text = asked[0] ?? ''
  assert.ok(text.length < 8_000, String(text.length))
  assert.match(text, 'BEGIN')
  assert.match(text, 'END')
  assert.match(text, 'come again below')
})

test('keeps the plan that was approved last word for word, also in the next summary', async () => {
  const planned = (n: number, id: string, plan: string): LoopMessage => ({
    ...call(n),
    tool_calls: [
      {
        id,
        type: 'function',
        function: { name: 'exit_plan_mode', arguments: JSON.stringify({ plan }) },
      },
    ],
  })
  const answered = (n: number, id: string, isApproved: boolean): LoopMessage => ({
    ...result(n, `{"approved":${isApproved}}`),
    tool_call_id: id,
    name: 'exit_plan_mode',
  })
  const filler = 'x'.repeat(8_000)
  const messages = [
    ...talk(2),
    planned(3, 'a', '# Approved'),
    answered(4, 'a', true),
    planned(5, 'b', '# Rejected'),
    answered(6, 'b', false),
    { ...result(7, filler) },
    ...talk(4),
  ]
  const first = await compress(messages, { head: 2, tail: 7 }, options(asking().callModel))
  assert.match(first.text, '## Approved plan, word for word\n# Approved')
  assert.not.match(first.text, '# Rejected')
  const later = [...first.messages, { ...result(20, filler) }, ...talk(4)]
  const second = await compress(later, { head: 2, tail: 8 }, options(asking().callModel))
  assert.is(second.text.split('\n# Approved').length, 2)
})

test('merges a summary with an adjacent user message, and nothing else', () => {
  const summary = summaryOf('m1', 'm2', 's')
  const roles = (messages: LoopMessage[]) => mergeSummaries(messages).map(({ role }) => role)
  assert.equal(roles([summary, say('assistant', 3)]), ['user', 'assistant'])
  assert.equal(roles([summary, say('user', 3)]), ['user'])
  assert.equal(roles([say('user', 1), summary, say('user', 3)]), ['user'])
  assert.equal(roles([say('user', 1), say('user', 2)]), ['user', 'user'])
  const picture = { ...say('user', 3), content: [{ type: 'image_url', image_url: {} }] }
  const [merged] = mergeSummaries([summary, picture])
  assert.equal(
    (merged?.content as { type: string }[] | undefined)?.map(({ type }) => type),
    ['text', 'image_url'],
  )
})

test.run()
