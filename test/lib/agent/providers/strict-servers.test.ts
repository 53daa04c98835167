/** Chat servers that reject what others accept: the request is adapted and the turn continues. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import type { LoopMessage, Tool } from '../../../../lib/agent/types.ts'
import { delta, frame, type Step } from '../../../_provider.ts'
import { type Body, echo } from './_matrix.ts'
import { converse, endpointOf, KINDS, serving } from './_thinkers.ts'

const test = suite('strict servers')

const chat = KINDS[0]!
const refuse = (message: string, status = 400): Step => ({ status, body: { error: { message } } })
const says = (body: Body) => body.messages as Body[]

const called = (id: string, name = 'echo'): LoopMessage[] => [
  { role: 'user', content: 'go' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id, type: 'function', function: { name, arguments: '{"say":"x"}' } }],
  },
  { role: 'tool', tool_call_id: id, name, content: '{"say":"x"}' },
]

test('ids of nine letters and digits, the same in the call and its result', () =>
  serving(
    body => {
      const ids = says(body).flatMap(m => [
        ...(m.tool_calls ?? []).map((call: Body) => call.id),
        ...(m.tool_call_id ? [m.tool_call_id] : []),
      ])
      const wrong = ids.find(id => !/^[a-zA-Z0-9]{9}$/.test(id))
      if (wrong)
        return refuse(`Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`)
      if (ids[0] !== ids[1] || new Set(ids).size !== ids.length / 2) return refuse('odd ids')
      return ids.length < 4
        ? { toolCalls: [{ id: 'AbCdEfGh1', name: 'echo', arguments: { say: 'y' } }] }
        : { text: 'done' }
    },
    async server => {
      const history = [...called('call_abcdefghijk'), { role: 'user' as const, content: 'more' }]
      const { outcome } = await converse(chat, server, { history })
      assert.is(outcome.text, 'done')
      assert.is(server.requests.length, 3, 'asked once in vain')
    },
  ))

for (const complaint of [
  "Unexpected role 'user' after role 'tool'",
  'After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
])
  test(`roles that alternate: ${complaint}`, () =>
    serving(
      body => {
        const roles = says(body).map(m => m.role)
        const isOdd = roles.some(
          (role, at) => role === 'user' && ['tool', 'user'].includes(roles[at - 1]),
        )
        return isOdd ? refuse(complaint) : { text: 'done' }
      },
      async server => {
        const history: LoopMessage[] = [
          ...called('c1'),
          { role: 'user', content: 'stop that' },
          { role: 'user', content: 'and do this' },
        ]
        const { outcome } = await converse(chat, server, { history })
        assert.is(outcome.text, 'done')
        assert.is(says(server.requests[1]!.body).at(-1).content, 'stop that\n\nand do this')
      },
    ))

for (const [complaint, status] of [
  ['registry.ollama.ai/library/gemma3:4b does not support tools', 400],
  ['No endpoints found that support tool use. To learn more about provider routing, visit: …', 404],
  ['"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', 400],
] as const)
  test(`calls a model without tool support without tools and shows one notice: ${complaint}`, () =>
    serving(
      body =>
        body.tools || says(body).some(m => m.tool_calls || m.role === 'tool')
          ? refuse(complaint, status)
          : { text: 'Only words.' },
      async server => {
        const history = [...called('c1'), { role: 'user' as const, content: 'more' }]
        const { outcome, events } = await converse(chat, server, { history })
        assert.is(outcome.text, 'Only words.')
        assert.is(events.filter(({ type }) => type === 'warning').length, 1)
        assert.is(server.requests.length, 2)
        assert.match(JSON.stringify(server.requests.at(-1)?.body), 'Result of echo')
      },
    ))

for (const format of ['chat_completions', 'codex_responses'] as const)
  for (const complaint of [
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
    'The maximum number of tools is 128.',
    'Maximum tools limit reached: 128',
  ])
    test(`truncates the tools and shows a notice: ${format}, ${complaint}`, () => {
      const kind = KINDS.find(one => one.format === format)!
      const tools: Tool[] = Array.from({ length: 140 }, (_, n) => ({
        ...echo,
        name: `tool_${n}`,
        input: z.object({}),
      }))
      return serving(
        body => (body.tools.length > 128 ? refuse(complaint) : kind.answer('Hm.', 'done', [])),
        async server => {
          const { outcome, events } = await converse(kind, server, { tools })
          assert.is(outcome.text, 'done')
          assert.is(server.requests[1]!.body.tools.length, 128)
          assert.match(JSON.stringify(events), 'so 12 are left out')
        },
      )
    })

for (const [complaint, most] of [
  [
    "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 40960 tokens and your request has 20000 input tokens (32000 > 40960 - 20000).",
    20_896,
  ],
  [
    "This model's maximum context length is 16384 tokens. However, you requested 20000 tokens (4000 in the messages, 16000 in the completion). Please reduce the length of the messages or completion.",
    12_320,
  ],
  [
    'max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.',
    16_384,
  ],
] as const)
  test(`lowers the output limit instead of compacting: ${most}`, () =>
    serving(
      body => (body.max_tokens > most ? refuse(complaint) : { text: 'done' }),
      async server => {
        const endpoint = { ...endpointOf(chat, server.url), maxTokens: 32_000 }
        const { outcome } = await converse(chat, server, { endpoint })
        assert.is(outcome.text, 'done')
        assert.is(server.requests[1]!.body.max_tokens, most)
      },
    ))

test('sanitizes invalid tool names in the history', () =>
  serving(
    body =>
      says(body).some(m =>
        [m.name, ...(m.tool_calls ?? []).map((call: Body) => call.function.name)].some(
          name => name !== undefined && !/^[a-zA-Z0-9_-]{1,64}$/.test(name),
        ),
      )
        ? refuse(
            "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern.",
          )
        : { text: 'done' },
    async server => {
      const history = [...called('a', 'my tool!'), ...called('b', '')]
      const { outcome } = await converse(chat, server, {
        history: [...history, { role: 'user', content: 'x' }],
      })
      assert.is(outcome.text, 'done')
      assert.is(server.requests.length, 1)
    },
  ))

test('Azure: keeps the query behind the path and sends the key in `api-key`', () =>
  serving(
    () => ({ text: 'done' }),
    async server => {
      const baseUrl = `${server.url}/openai/deployments/gpt-4o?api-version=2024-10-21`
      await converse(chat, server, { endpoint: { ...endpointOf(chat, baseUrl) } })
      const [request] = server.requests
      assert.is(
        request?.path,
        '/v1/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
      )
      assert.equal([request?.headers['api-key'], request?.headers.authorization], ['k', undefined])
    },
  ))

test('marks error results for Anthropic', () => {
  const kind = { ...KINDS[5]!, model: 'claude-sonnet-4-5' }
  return serving(
    body =>
      body.messages.length === 1
        ? {
            toolCalls: [
              { id: 'a', name: 'echo', arguments: { say: '1' } },
              { id: 'b', name: 'no_such_tool', arguments: {} },
            ],
          }
        : kind.answer('x', 'done', []),
    async server => {
      await converse(kind, server)
      const results = server.requests[1]!.body.messages[2].content
      assert.equal(
        results.map((block: Body) => [block.tool_use_id, block.is_error]),
        [
          ['a', undefined],
          ['b', true],
        ],
      )
    },
  )
})

/** The tool calls in a stream of these deltas. */
const CALLS: [string, unknown[], [string, unknown][]][] = [
  [
    'index 0 and no id for two calls',
    [
      { tool_calls: [{ index: 0, id: '', function: { name: 'echo', arguments: '{"say":"A"}' } }] },
      {
        tool_calls: [{ index: 0, id: '', function: { name: 'second', arguments: '{"say":"B"}' } }],
      },
    ],
    [
      ['echo', { say: 'A' }],
      ['second', { say: 'B' }],
    ],
  ],
  [
    'the same, in pieces',
    [
      { tool_calls: [{ index: 0, function: { name: 'echo', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"say":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '"A"}' } }] },
      { tool_calls: [{ index: 0, function: { name: 'second', arguments: '{"sa' } }] },
      { tool_calls: [{ index: 0, function: { arguments: 'y":"B"}' } }] },
    ],
    [
      ['echo', { say: 'A' }],
      ['second', { say: 'B' }],
    ],
  ],
  [
    'another id on what goes on',
    [
      { tool_calls: [{ index: 0, id: 'one', function: { name: 'echo', arguments: '' } }] },
      { tool_calls: [{ index: 0, id: 'two', function: { arguments: '{"say":' } }] },
      { tool_calls: [{ index: 0, id: 'three', function: { arguments: '"hi"}' } }] },
    ],
    [['echo', { say: 'hi' }]],
  ],
  [
    'the last chunk says all of it again',
    [
      { tool_calls: [{ index: 0, id: 'x', function: { name: 'echo', arguments: '{"say":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '"hi"}' } }] },
      {
        tool_calls: [{ index: 0, id: 'x', function: { name: 'echo', arguments: '{"say":"hi"}' } }],
      },
    ],
    [['echo', { say: 'hi' }]],
  ],
  [
    'the one call of long ago',
    [
      { function_call: { name: 'echo', arguments: '' } },
      { function_call: { arguments: '{"say":' } },
      { function_call: { arguments: '"hi"}' } },
    ],
    [['echo', { say: 'hi' }]],
  ],
  [
    'a line break, quotes of Python, a comma at the end',
    [
      {
        tool_calls: [
          { index: 0, id: 'a', function: { name: 'echo', arguments: '{"say":"one\ntwo"}' } },
          {
            index: 1,
            id: 'b',
            function: { name: 'second', arguments: "{'say': 'it\\'s \"so\"',}" },
          },
        ],
      },
    ],
    [
      ['echo', { say: 'one\ntwo' }],
      ['second', { say: 'it\'s "so"' }],
    ],
  ],
]

for (const [name, deltas, expected] of CALLS)
  test(`extracts calls from text: ${name}`, () => {
    const ran: [string, unknown][] = []
    const tool = (name: string): Tool => ({
      ...echo,
      name,
      kind: 'execute',
      run(_, input) {
        ran.push([name, input])
        return { content: '{}' }
      },
    })
    return serving(
      body =>
        says(body).length === 1
          ? {
              raw: [...deltas, {}]
                .map((one, at) => frame(delta(one, at === deltas.length ? 'tool_calls' : null)))
                .join(''),
            }
          : { text: 'done' },
      async server => {
        const { outcome } = await converse(chat, server, { tools: [tool('echo'), tool('second')] })
        assert.is(outcome.text, 'done')
        assert.equal(ran, expected)
        // Arguments are returned as valid JSON.
        for (const message of says(server.requests[1]!.body))
          for (const call of message.tool_calls ?? []) JSON.parse(call.function.arguments)
      },
    )
  })

test.run()
