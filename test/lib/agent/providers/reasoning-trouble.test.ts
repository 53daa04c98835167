/** Cases in which reasoning and signatures are easily lost or unwanted: summaries, truncation, dropped calls, rejections. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LoopMessage } from '../../../../lib/agent/types.ts'
import { delta, frame } from '../../../_provider.ts'
import type { Body } from './_matrix.ts'
import { converse, create, endpointOf, KINDS, serving, strict } from './_thinkers.ts'

const test = suite('reasoning across retries and compaction')

test('after a compaction within the turn the remaining steps keep their reasoning', () => {
  const kind = KINDS[0]!
  const long = 'word '.repeat(900)
  return serving(
    strict(kind, [
      ...['a', 'b', 'c', 'd', 'e'].map(id =>
        kind.answer(`Thought ${id}.`, long, [{ id, say: long }]),
      ),
      kind.answer('End.', 'done', []),
    ]),
    async server => {
      const { outcome, events } = await converse(kind, server, {
        endpoint: { ...endpointOf(kind, server.url), contextLength: 12_000 },
        compression: {
          settings: {
            enabled: true,
            threshold: 0.5,
            thresholdTokens: 0,
            modelThresholds: {},
            targetRatio: 0.2,
            protectFirst: 1,
            protectLast: 2,
            maxAttempts: 3,
          },
          callModel: async () => 'notes',
          window: 100_000,
          cooldown: { until: () => 0, start: () => undefined },
        },
      })
      assert.ok(events.some(({ type }) => type === 'compressed'))
      assert.is(outcome.text, 'done')
      assert.is(server.requests.length, 6)
    },
  )
})

test('continues a truncated response with its reasoning', () => {
  const kind = KINDS[5]!
  let round = 0
  return serving(
    body => {
      round++
      if (round === 1) {
        const { raw } = kind.answer('Long thought.', 'one, ', [])
        return { raw: String(raw).replace('end_turn', 'max_tokens') }
      }
      const assistant = body.messages.find((m: Body) => m.role === 'assistant')
      return assistant?.content[0].thinking === 'Long thought.'
        ? kind.answer('More.', 'two', [])
        : { status: 400, body: { error: { message: kind.complaint } } }
    },
    async server => {
      assert.is((await converse(kind, server)).outcome.text, 'one, two')
      assert.is(server.requests.length, 2)
    },
  )
})

const FORBIDDEN = {
  type: 'extra_forbidden',
  loc: ['body', 'messages', 2, 'assistant', 'reasoning_content'],
  msg: 'Extra inputs are not permitted',
}
for (const [name, body, status = 400] of [
  ['Groq', { error: { message: "('messages.2' : property 'reasoning_content' is unsupported)" } }],
  ['Mistral', { detail: [FORBIDDEN] }, 422],
  [
    'the first DeepSeek reasoner',
    { error: { message: 'The reasoning_content field is not allowed in the input messages.' } },
  ],
  [
    'a schema',
    { error: { message: 'Unrecognized request argument supplied: messages[2].reasoning' } },
  ],
] as [string, object, number?][])
  test(`stops returning reasoning to an endpoint that rejects it: ${name}`, () => {
    const kind = KINDS[2]!
    let left = 6
    return serving(
      sent => {
        const has = sent.messages.some((m: Body) => m.reasoning_content || m.reasoning)
        if (has) return { status, body }
        return --left > 0 && sent.messages.length < 6
          ? kind.answer('Hm.', '', [{ id: `c${left}`, say: String(left) }])
          : kind.answer('Hm.', 'done', [])
      },
      async server => {
        const providers = create()
        const { outcome } = await converse(
          kind,
          server,
          { endpoint: { ...endpointOf(kind, server.url), effort: 'high' } },
          providers,
        )
        assert.is(outcome.failure?.message, undefined)
        assert.is(outcome.text, 'done')
        const refused = server.requests.filter(one =>
          one.body.messages.some((m: Body) => m.reasoning_content || m.reasoning),
        )
        assert.is(refused.length, 1)
        assert.is(
          server.requests.at(-1)?.body.reasoning_effort,
          'high',
          'the effort is not what it objects to',
        )
      },
    )
  })

test('never sends Claude unsigned thinking', () => {
  const kind = { ...KINDS[5]!, model: 'claude-sonnet-4-5' }
  return serving(
    body =>
      JSON.stringify(body).includes('Unsigned.')
        ? {
            status: 400,
            body: { error: { message: 'messages.1.content.0.thinking.signature: Field required' } },
          }
        : body.messages.length === 1
          ? kind.answer('Unsigned.', '', [{ id: 'a', say: '1' }])
          : kind.answer('x', 'done', []),
    async server => {
      assert.is((await converse(kind, server)).outcome.text, 'done')
      assert.is(server.requests.length, 2)
    },
  )
})

test('signatures stay on their call, also when two calls are equal', () => {
  const call = (index: number, id: string, say: string, signature?: string) => ({
    index,
    id,
    type: 'function',
    function: { name: 'echo', arguments: JSON.stringify({ say }) },
    ...(signature && { extra_content: { google: { thought_signature: signature } } }),
  })
  return serving(
    body =>
      body.messages.length === 1
        ? {
            raw: [
              delta({ tool_calls: [call(0, 'a', '1')] }),
              delta({ tool_calls: [call(1, 'b', '1', 'of a')] }),
              delta({ tool_calls: [call(2, 'c', '2', 'of c')] }),
              delta({}, 'tool_calls'),
            ]
              .map(frame)
              .join(''),
          }
        : { text: 'done' },
    async server => {
      await converse(KINDS[0]!, server)
      const calls = server.requests[1]!.body.messages[1].tool_calls
      assert.equal(
        calls.map((one: Body) => [one.id, one.extra_content?.google.thought_signature]),
        [
          ['a', undefined],
          ['b', 'of a'],
          ['c', 'of c'],
        ],
      )
    },
  )
})

test('interleaved thinking keeps its position between equal calls, and when one came twice', () => {
  const think = (thinking: string) => ({ type: 'thinking', thinking, signature: 'S' })
  const use = (id: string, say: string) => ({ type: 'tool_use', id, name: 'echo', input: { say } })
  const content = [
    think('A'),
    use('a', '1'),
    use('b', '1'),
    use('b', '1'),
    think('B'),
    use('c', '2'),
  ]
  const kind = { ...KINDS[5]!, model: 'claude-opus-4-6' }
  return serving(
    body =>
      body.messages.length === 1
        ? { body: { type: 'message', role: 'assistant', content, stop_reason: 'tool_use' } }
        : kind.answer('x', 'done', []),
    async server => {
      await converse(kind, server)
      assert.equal(
        server.requests[1]!.body.messages[1].content.map((one: Body) => one.thinking ?? one.id),
        ['A', 'a', 'b', 'B', 'c'],
      )
    },
  )
})

test("adds Gemini's placeholder signature to calls of other models", () =>
  serving(
    body =>
      body.messages[1].tool_calls[0].extra_content?.google.thought_signature
        ? { text: 'done' }
        : {
            status: 400,
            body: [
              {
                error: {
                  code: 400,
                  message:
                    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly',
                },
              },
            ],
          },
    async server => {
      const history: LoopMessage[] = [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'o', type: 'function', function: { name: 'echo', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'o', name: 'echo', content: '{}' },
        { role: 'user', content: 'more' },
      ]
      assert.is((await converse(KINDS[0]!, server, { history })).outcome.text, 'done')
    },
  ))

test.run()
