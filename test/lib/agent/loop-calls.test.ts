/** The loop and calls that are not made as they should be: written as text, not readable, made again and again. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import type { Provider, Tool } from '../../../lib/agent/types.ts'
import { createTestClock } from '../../_clock.ts'
import { toolOf, finish, run, scripted, type Said, text, thought, use } from './_run.ts'
import { echo, FORMATS, speaker, withServer } from './providers/_matrix.ts'

const test = suite('calls in the loop')

const ok = toolOf('ok', () => ({ content: '{"fine":true}' }), {
  input: z.object({ n: z.int().optional() }),
})
const WRITTEN = '<function=echo>\n<parameter=say>\nhi\n</parameter>\n</function>'
const BROKEN = '<tool_call>{"name": "ok", "arguments": {"n": }}</tool_call>'

for (const format of FORMATS) {
  const { converse } = speaker(format)
  test(`${format.apiMode}: a call in the text, and one in the reasoning, are run`, () =>
    withServer(
      [
        { text: ['I look.', WRITTEN.slice(0, 9), WRITTEN.slice(9)] },
        { reasoning: `Now echo.\n${WRITTEN}`, text: '' },
        { text: 'done' },
      ],
      async server => {
        const { outcome, messages, events } = await converse(server, { tools: [echo] })
        assert.equal([outcome.status, outcome.text], ['finished', 'done'])
        assert.equal(
          messages.flatMap(({ tool_calls: calls = [] }) => calls.map(call => call.function)),
          [
            { name: 'echo', arguments: '{"say":"hi"}' },
            { name: 'echo', arguments: '{"say":"hi"}' },
          ],
        )
        assert.is(messages[0]?.content, 'I look.')
        const shown = events.map(event => (event.type === 'token' ? event.text : ''))
        assert.is(shown.join('').trim(), 'I look.done')
        const last = server.requests.at(-1)?.body
        assert.equal(format.resultsSent(last), format.callsSent(last))
      },
    ))
}

test('the model is told once that its call cannot be read; what it then writes is the answer', async () => {
  const { provider, received } = scripted([text(BROKEN)], [use('ok', {})], [text(BROKEN)])
  const { outcome, messages, events } = await run(provider, { tools: [ok] })
  assert.equal([outcome.status, outcome.text], ['finished', BROKEN])
  assert.equal(
    messages.map(({ id, role, content }) => [id, role, content]),
    [
      ['m1', 'assistant', ''],
      ['m2', 'tool', '{"fine":true}'],
      ['m3', 'assistant', BROKEN],
    ],
  )
  const told = received[1]?.messages.slice(-2).map(({ role, content }) => [role, content])
  assert.equal(told?.[0], ['assistant', BROKEN])
  assert.is(told?.[1]?.[0], 'user')
  // What the model reads of an earlier step is what the next turn sends.
  assert.equal(
    received[2]?.messages.slice(-2).map(({ role }) => role),
    ['assistant', 'tool'],
  )
  assert.is(received[2]?.messages.length, (received[0]?.messages.length ?? 0) + 2)
  assert.equal(
    events.flatMap(event => (event.type === 'retry' ? [event.messageId] : [])),
    ['m1'],
  )
})

test('JSON of the form that was asked for is the answer, though it looks like a call', async () => {
  const answer = '{"name":"ok","arguments":{"n":1}}'
  const provider: Provider = async function* () {
    yield text(answer)
  }
  const answerForm = { name: 'call', schema: {}, strict: true, problemOf: () => null }
  const { outcome, messages } = await run(provider, { tools: [ok], answerForm })
  assert.equal([outcome.text, messages.length], [answer, 1])
})

test('any JSON object is the answer that was asked for, but not a call with its mark', async () => {
  const answerForm = { name: 'answer', schema: null, strict: false, problemOf: () => null }
  const object = '{"name":"ok","arguments":{"n":1}}'
  for (const [said, texts] of [
    [object, [object]],
    [`<tool_call>${object}</tool_call>`, ['', '{"fine":true}', '{}']],
  ] as const) {
    const left = [said, '{}']
    const provider: Provider = async function* () {
      yield text(left.shift() ?? '')
    }
    const { messages } = await run(provider, { tools: [ok], answerForm })
    assert.equal(
      messages.map(({ content }) => content),
      texts,
    )
  }
})

test('a call whose arguments lack their end after the length limit is not run', async () => {
  const { provider } = scripted([use('ok', '{"n":1'), finish('length')], [text('shorter')])
  const { messages, outcome } = await run(provider, { tools: [ok] })
  assert.is(outcome.text, 'shorter')
  assert.is(messages.filter(({ role }) => role === 'tool').length, 0)
})

test('a call in a text that was cut is not run: its last number and what should follow it are missing', async () => {
  const cut = '[TOOL_CALLS]ok[ARGS]{"n":1'
  const cases: Record<string, Said[]> = {
    'nothing more': [[text(cut), finish('length')], [finish('length')]],
    'only thoughts': [
      [text(cut), finish('length')],
      [thought('hm'), finish('length')],
    ],
    'the server fails': [[text(cut), finish('length')], [new Error('gone')]],
    'the window is full': [[text(cut), finish('window_full')]],
  }
  for (const [name, said] of Object.entries(cases)) {
    const { outcome, messages, events } = await run(scripted(...said).provider, { tools: [ok] })
    assert.is(outcome.status, 'finished', name)
    assert.equal(
      messages.map(({ content }) => content),
      [cut],
      name,
    )
    const shown = events.map(event => (event.type === 'token' ? event.text : '')).join('')
    assert.is(shown, cut, name)
    const warnings = events.flatMap(event => (event.type === 'warning' ? [event.kind] : []))
    assert.equal(warnings, ['cut'], name)
  }
})

test('an answer whose rest does not come is shown as cut', async () => {
  const cases: Record<string, Said[]> = {
    'the rest is empty': [[text('Half'), finish('length')], [finish('length')]],
    'the rest is a thought': [
      [text('Half'), finish('length')],
      [thought('hm'), finish('length')],
    ],
    'the call is not made again': [
      [text('Half'), use('ok', '{"n":'), finish('length')],
      [thought('hm'), finish('stop')],
    ],
  }
  for (const [name, said] of Object.entries(cases)) {
    const { outcome, messages, events } = await run(scripted(...said).provider, { tools: [ok] })
    assert.equal([outcome.status, messages[0]?.content], ['finished', 'Half'], name)
    // Who reads nothing but the text.
    assert.ok(outcome.text.startsWith('Half') && outcome.text.length > 'Half'.length, name)
    const warnings = events.flatMap(event => (event.type === 'warning' ? [event.kind] : []))
    assert.equal(warnings, ['cut'], name)
  }
})

/** Results as the model reads them. */
const resultsIn = (received: { messages: readonly { role: string; content: unknown }[] }[]) =>
  received
    .at(-1)
    ?.messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : [])) ?? []
const again = (times: number, said: (n: number) => Said): Said[] =>
  Array.from({ length: times }, (_, n) => said(n))

test('the model is told of a call that it repeats, and then the turn ends with an answer', async () => {
  const { provider, received } = scripted(...again(6, n => [use('ok', { n: 1 }, 0, `c${n}`)]), [
    text('I am stuck.'),
  ])
  const { outcome, events, messages } = await run(provider, { tools: [ok], maxSteps: 90 })
  assert.equal([outcome.status, outcome.text], ['finished', 'I am stuck.'])
  assert.equal(
    resultsIn(received).map(content => '_repeated' in JSON.parse(content)),
    [false, false, true, true, true, true],
  )
  assert.equal(
    events.flatMap(event => (event.type === 'warning' ? [event.kind] : [])),
    ['repeated_calls'],
  )
  assert.is(messages.at(-1)?._step_limit, undefined)
})

test('a test that fails the same way after each edit, and a command that waits, are not', async () => {
  const edits = scripted(
    ...again(20, n => [use('ok', { n: n % 2 === 0 ? 1 : n + 1 }, 0, `c${n}`)]),
    [text('done')],
  )
  assert.is((await run(edits.provider, { tools: [ok], maxSteps: 90 })).outcome.text, 'done')
  assert.not.ok(resultsIn(edits.received).some(content => content.includes('_repeated')))
  const clock = createTestClock()
  const slow: Tool = {
    ...ok,
    async run() {
      await clock.advance(30_000)
      return { content: '{"status":"pending"}' }
    },
  }
  const waits = scripted(...again(9, n => [use('ok', {}, 0, `c${n}`)]), [text('done')])
  const { outcome, events } = await run(waits.provider, { tools: [slow], maxSteps: 90, clock })
  assert.is(outcome.text, 'done')
  assert.not.ok(events.some(event => event.type === 'warning'))
})

test('a text that repeats itself is not continued', async () => {
  const sentence = 'I will now look at the file again. '
  const { provider, received } = scripted(
    [text(sentence.repeat(400)), finish('length')],
    [text('more')],
  )
  const { outcome } = await run(provider)
  assert.is(outcome.status, 'finished')
  assert.is(received.length, 1)
  const lines = Array.from({ length: 400 }, (_, n) => `${n}. ${sentence}`).join('')
  const other = scripted([text(lines), finish('length')], [text('more')])
  await run(other.provider)
  assert.is(other.received.length, 2)
})

test('calls of a script, and hooks, get the names of our arguments, too', async () => {
  const seen: unknown[] = []
  const place: Tool = {
    ...ok,
    name: 'place',
    input: z.object({ workdir: z.string().optional() }),
    run(_, input) {
      seen.push(input)
      return { content: '{}' }
    },
  }
  const script: Tool = {
    ...ok,
    name: 'script',
    input: z.object({}),
    async run(ctx) {
      await ctx.call?.('place', { cwd: 'sub' })
      return (await ctx.call?.('place', { user: 'root' })) ?? { content: '' }
    },
  }
  const { provider, received } = scripted(
    [use('script', {}, 0), use('place', { working_directory: 'a' }, 1)],
    [text('done')],
  )
  const { events } = await run(provider, { tools: [script, place] })
  assert.equal(seen, [{ workdir: 'sub' }, { workdir: 'a' }])
  assert.match(resultsIn(received)[0] ?? '', /user: there is no such argument/)
  const shown = events.flatMap(event => (event.type === 'tool' ? [event.args] : []))
  assert.equal(shown, [{}, { workdir: 'a' }])
})

test.run()
