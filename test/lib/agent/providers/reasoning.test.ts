/** Thinking models over HTTP, on servers that refuse a conversation in which a thought is missing, changed or not theirs. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createAnthropicMessages } from '../../../../lib/agent/providers/anthropic-messages.ts'
import { createCodexResponses } from '../../../../lib/agent/providers/codex-responses.ts'
import { createOpenAiChat } from '../../../../lib/agent/providers/openai-chat.ts'
import { delegate } from '../../../../lib/agent/tools/delegate.ts'
import type {
  AgentRequest,
  LoopMessage,
  ModelEndpoint,
  Providers,
  Steered,
  Tool,
} from '../../../../lib/agent/types.ts'
import { createProvider, delta, frame, type Recorded, type Step } from '../../../_provider.ts'
import { run } from '../_run.ts'
import { type Body, echo } from './_matrix.ts'

const test = suite('thoughts go back')

/** How one endpoint says a thought, and where it looks for it in the next request. */
type Kind = {
  name: string
  format: 'chat_completions' | 'anthropic_messages' | 'codex_responses'
  model: string
  /** An answer with this thought, these words and these calls. */
  answer: (thought: string, words: string, calls: Call[]) => Step
  /** Of each message with calls: the thought that stands with it, undefined where none does. */
  thoughts: (body: Body) => unknown[]
  /** What the real server answers when one is missing. */
  complaint: string
  /** Its server wants one with calls of earlier turns and of other models as well. */
  always?: boolean
}
type Call = { id: string; say: string }

const toolCalls = (calls: Call[]) =>
  calls.map(({ id, say }, index) => ({
    index,
    id,
    type: 'function',
    function: { name: 'echo', arguments: JSON.stringify({ say }) },
  }))

const chatAnswer =
  (think: (thought: string) => object[]) =>
  (thought: string, words: string, calls: Call[]): Step => ({
    raw: `${[
      ...think(thought).map(fields => delta(fields)),
      ...(words === '' ? [] : [delta({ content: words })]),
      ...(calls.length > 0 ? [delta({ tool_calls: toolCalls(calls) })] : []),
      delta({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    ]
      .map(frame)
      .join('')}data: [DONE]\n\n`,
  })

const halves = (text: string) => [text.slice(0, 3), text.slice(3)]
const withCalls = (body: Body) => body.messages.filter((m: Body) => m.tool_calls)

const anthropicAnswer =
  (signature: object, signatureDelta: object[]) =>
  (thought: string, words: string, calls: Call[]): Step => {
    const blocks = [
      {
        block: { type: 'thinking', thinking: '', ...signature },
        deltas: [
          ...halves(thought).map(thinking => ({ type: 'thinking_delta', thinking })),
          ...signatureDelta,
        ],
      },
      ...(words === ''
        ? []
        : [{ block: { type: 'text', text: '' }, deltas: [{ type: 'text_delta', text: words }] }]),
      ...calls.map(({ id, say }) => ({
        block: { type: 'tool_use', id, name: 'echo', input: {} },
        deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify({ say }) }],
      })),
    ]
    const stop_reason = calls.length > 0 ? 'tool_use' : 'end_turn'
    return {
      raw: [
        { type: 'message_start', message: { type: 'message', role: 'assistant', content: [] } },
        ...blocks.flatMap(({ block, deltas }, index) => [
          { type: 'content_block_start', index, content_block: block },
          ...deltas.map(one => ({ type: 'content_block_delta', index, delta: one })),
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ]
        .map(frame)
        .join(''),
    }
  }

const turnsWithCalls = (body: Body) =>
  body.messages.filter(
    (m: Body) => Array.isArray(m.content) && m.content.some((b: Body) => b.type === 'tool_use'),
  )
const blockBefore = (body: Body) =>
  turnsWithCalls(body).map((m: Body) => {
    const [first] = m.content
    return first.type === 'thinking' ? first.thinking : undefined
  })

const KINDS: Kind[] = [
  {
    name: 'reasoning_content (DeepSeek, Kimi, GLM)',
    always: true,
    format: 'chat_completions',
    model: 'deepseek-reasoner',
    answer: chatAnswer(thought =>
      halves(thought).map(reasoning_content => ({ reasoning_content })),
    ),
    thoughts: body => withCalls(body).map((m: Body) => m.reasoning_content),
    complaint:
      'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
  },
  {
    name: 'reasoning (vLLM, SGLang, routers)',
    format: 'chat_completions',
    model: 'qwen3-thinking',
    answer: chatAnswer(thought => halves(thought).map(reasoning => ({ reasoning }))),
    thoughts: body => withCalls(body).map((m: Body) => m.reasoning),
    complaint: 'The reasoning in the thinking mode must be passed back to the API.',
  },
  {
    name: 'both names at once',
    format: 'chat_completions',
    model: 'gpt-oss',
    answer: chatAnswer(thought =>
      halves(thought).map(text => ({ reasoning: text, reasoning_content: text })),
    ),
    thoughts: body =>
      withCalls(body).map((m: Body) =>
        m.reasoning === m.reasoning_content ? m.reasoning : undefined,
      ),
    complaint: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
  },
  {
    name: '<think> in the content (MiniMax)',
    format: 'chat_completions',
    model: 'MiniMax-M2',
    answer: chatAnswer(thought =>
      ['<thi', `nk>\n${thought}`, '</think>\n\n'].map(content => ({ content })),
    ),
    thoughts: body =>
      withCalls(body).map(
        (m: Body) => /^<think>\n([\s\S]*)<\/think>\n\n/.exec(m.content ?? '')?.[1],
      ),
    complaint: 'reasoning is required in assistant messages with tool calls',
  },
  {
    name: 'parts of the content (Magistral)',
    format: 'chat_completions',
    model: 'magistral-medium',
    answer: chatAnswer(thought =>
      halves(thought).map(text => ({
        content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }],
      })),
    ),
    thoughts: body =>
      withCalls(body).map((m: Body) =>
        Array.isArray(m.content) ? m.content[0].thinking?.[0].text : undefined,
      ),
    complaint: 'thinking is required in assistant messages with tool calls',
  },
  {
    name: 'blocks without a signature',
    always: true,
    format: 'anthropic_messages',
    model: 'deepseek-v4-pro',
    answer: anthropicAnswer({}, []),
    thoughts: blockBefore,
    complaint: 'The `content[].thinking` in the thinking mode must be passed back to the API.',
  },
  {
    name: 'blocks with an empty signature',
    always: true,
    format: 'anthropic_messages',
    model: 'kimi-k2.6',
    answer: anthropicAnswer({ signature: '' }, [{ type: 'signature_delta', signature: '' }]),
    thoughts: blockBefore,
    complaint:
      'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
  },
  {
    name: 'items in plain words',
    format: 'codex_responses',
    model: 'some-thinker',
    answer: (thought, words, calls) => {
      const output = [
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [],
          content: [{ type: 'reasoning_text', text: thought }],
        },
        ...(words === ''
          ? []
          : [
              {
                type: 'message',
                role: 'assistant',
                content: [{ type: 'output_text', text: words }],
              },
            ]),
        ...calls.map(({ id, say }) => ({
          type: 'function_call',
          call_id: id,
          name: 'echo',
          arguments: JSON.stringify({ say }),
        })),
      ]
      return {
        raw: [
          ...output.map((item, output_index) => ({
            type: 'response.output_item.done',
            output_index,
            item,
          })),
          { type: 'response.completed', response: { status: 'completed', output } },
        ]
          .map(frame)
          .join(''),
      }
    },
    // One thought stands before each answer's calls.
    thoughts: body => {
      const found: unknown[] = []
      let before: unknown
      for (const item of body.input) {
        if (item.type === 'reasoning') before = item.content?.[0]?.text
        else if (item.type === 'function_call') found.push(before)
        else if (item.type === 'function_call_output') before = undefined
      }
      return [...new Set(found)]
    },
    complaint: 'reasoning is missing in assistant tool call message at index 2',
  },
]

const create = () => ({
  chat_completions: createOpenAiChat(),
  anthropic_messages: createAnthropicMessages(),
  codex_responses: createCodexResponses(),
})

const endpointOf = (kind: Kind, baseUrl: string): ModelEndpoint => ({
  provider: 'custom',
  model: kind.model,
  apiMode: kind.format,
  baseUrl,
  apiKey: 'k',
  contextLength: 100_000,
})

/** Refuses as the real servers do, else answers by how far the conversation is. */
const strict = (kind: Kind, turns: Step[], isRight = (_thought: unknown, _at: number) => true) => {
  let next = 0
  return (body: Body): Step => {
    const thoughts = kind.thoughts(body)
    const isMissing = thoughts.some(
      (thought, at) => typeof thought !== 'string' || thought === '' || !isRight(thought, at),
    )
    if (isMissing)
      return {
        status: 400,
        body: { error: { message: kind.complaint, type: 'invalid_request_error' } },
      }
    return turns[next++] ?? { status: 500, body: { error: { message: 'The script has ended.' } } }
  }
}

type Served = { requests: Recorded[]; url: string }

const serving = async (
  otherwise: (body: Body) => Step,
  work: (server: Served) => Promise<void>,
): Promise<void> => {
  const server = await createProvider()
  server.otherwise = otherwise
  try {
    await work(server)
  } finally {
    await server.close()
  }
}

const converse = (
  kind: Kind,
  { url }: Served,
  request: Partial<AgentRequest> = {},
  providers: Providers = create(),
) =>
  run(create().chat_completions, {
    endpoint: endpointOf(kind, url),
    tools: [echo],
    providers,
    sessionKey: 's',
    ...request,
  })

const statuses = (requests: Recorded[]) => requests.length

for (const kind of KINDS) {
  test(`${kind.name}: three steps, parallel calls, words between, a message from the person`, () => {
    const said = ['First thought. ', 'Second: 漢字 "quoted"\n', 'Third.']
    return serving(
      strict(
        kind,
        [
          kind.answer(said[0]!, '', [
            { id: 'a', say: '1' },
            { id: 'b', say: '2' },
          ]),
          kind.answer(said[1]!, 'I go on.', [{ id: 'c', say: '3' }]),
          kind.answer(said[2]!, '', [{ id: 'd', say: '4' }]),
          kind.answer('Last.', 'done', []),
        ],
        (thought, at) => thought === said[at],
      ),
      async server => {
        let asked = 0
        const steered: Steered = {
          key: 'k',
          said: 'and quickly',
          read: 'and quickly',
          attachments: [],
        }
        const { outcome, messages } = await converse(kind, server, {
          inbox: () => (++asked === 3 ? [steered] : []),
        })
        assert.is(outcome.failure?.message, undefined)
        assert.is(outcome.text, 'done')
        assert.is(statuses(server.requests), 4, 'nothing had to be asked twice')
        assert.is(messages[0]?.reasoning?.trim(), said[0]!.trim())
        assert.not.match(JSON.stringify(messages.map(({ content }) => content)), 'think')
      },
    )
  })

  if (kind.always)
    test(`${kind.name}: a turn that follows, and one that another model began, are not refused for ever`, () =>
      serving(
        strict(kind, [
          kind.answer('Now I think.', '', [{ id: 'z', say: 'z' }]),
          kind.answer('Again.', 'done', []),
        ]),
        async server => {
          const history: LoopMessage[] = [
            { role: 'user', content: 'go' },
            {
              role: 'assistant',
              content: '',
              tool_calls: [
                { id: 'o', type: 'function', function: { name: 'echo', arguments: '{}' } },
              ],
            },
            { role: 'tool', tool_call_id: 'o', name: 'echo', content: '{}' },
            { role: 'assistant', content: 'gone' },
            { role: 'user', content: 'more' },
          ]
          const { outcome } = await converse(kind, server, { history })
          assert.is(outcome.failure?.message, undefined)
          assert.is(outcome.text, 'done')
        },
      ))

  test(`${kind.name}: nothing goes to another endpoint that stands in`, () =>
    serving(
      (() => {
        let round = 0
        return () =>
          ++round === 1
            ? kind.answer('A secret thought.', '', [{ id: 'a', say: '1' }])
            : { status: 402, body: { error: { message: 'no credit' } } }
      })(),
      first =>
        serving(
          () => kind.answer('Mine.', 'done', []),
          async second => {
            const { outcome } = await converse(kind, first, {
              recover: async () => ({
                endpoint: { ...endpointOf(kind, second.url), provider: 'other' },
                kind: 'fallback',
                message: 'x',
              }),
            })
            assert.is(outcome.text, 'done')
            assert.match(JSON.stringify(first.requests[1]!.body), 'A secret thought')
            assert.not.match(JSON.stringify(second.requests[0]!.body), 'A secret thought')
          },
        ),
    ))

  test(`${kind.name}: a step that has to be made again still has the thoughts of those before`, () =>
    serving(
      (() => {
        const turns = strict(kind, [
          kind.answer('One.', '', [{ id: 'a', say: '1' }]),
          kind.answer('Two.', 'done', []),
        ])
        let round = 0
        return (body: Body) =>
          ++round === 2 ? { status: 529, body: { error: { message: 'Overloaded' } } } : turns(body)
      })(),
      async server => {
        assert.is((await converse(kind, server)).outcome.text, 'done')
      },
    ))

  test(`${kind.name}: a subagent's thoughts, too`, () =>
    serving(
      body => {
        const written = JSON.stringify(body)
        const isSub = written.includes('You are a subagent')
        const thoughts = kind.thoughts(body)
        if (thoughts.some(thought => typeof thought !== 'string'))
          return { status: 400, body: { error: { message: kind.complaint } } }
        if (!isSub)
          return thoughts.length === 0
            ? asDelegation(kind.answer('Somebody else.', '', [{ id: 'p', say: 'DELEGATE' }]))
            : kind.answer('Good.', 'all done', [])
        return thoughts.length === 0
          ? kind.answer('Sub one.', '', [{ id: 's', say: '1' }])
          : kind.answer('Sub two.', 'sub done', [])
      },
      async server => {
        const { outcome, messages } = await converse(kind, server, {
          tools: [echo, delegate as unknown as Tool],
          delegation: { depth: 0, maxDepth: 1, maxSteps: 5 },
        })
        assert.is(outcome.text, 'all done')
        assert.match(JSON.stringify(messages), 'sub done')
        assert.is(server.requests.length, 4)
      },
    ))
}

const asDelegation = (step: Step): Step => ({
  raw: String(step.raw)
    .replaceAll('"name":"echo"', '"name":"delegate_task"')
    .replaceAll('{\\"say\\":\\"DELEGATE\\"}', '{\\"goal\\":\\"look\\"}'),
})

test('after a summary in the middle of the turn the steps that are left keep their thoughts', () => {
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
          ask: async () => 'notes',
          window: 100_000,
          rest: { until: () => 0, begin: () => undefined },
        },
      })
      assert.ok(events.some(({ type }) => type === 'compressed'))
      assert.is(outcome.text, 'done')
      assert.is(server.requests.length, 6)
    },
  )
})

test('an answer cut at its length is continued with its thought', () => {
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

for (const [name, status, body] of [
  [
    'Groq',
    400,
    {
      error: {
        message:
          "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
      },
    },
  ],
  [
    'Mistral',
    422,
    {
      detail: [
        {
          type: 'extra_forbidden',
          loc: ['body', 'messages', 2, 'assistant', 'reasoning_content'],
          msg: 'Extra inputs are not permitted',
        },
      ],
    },
  ],
  [
    'the first DeepSeek reasoner',
    400,
    { error: { message: 'The reasoning_content field is not allowed in the input messages.' } },
  ],
  [
    'a schema',
    400,
    { error: { message: 'Unrecognized request argument supplied: messages[2].reasoning' } },
  ],
] as const)
  test(`an endpoint that says thoughts and refuses them is asked without, once for all: ${name}`, () => {
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

test('Claude is never sent a thought it has not signed', () => {
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

test('marks stay on their call when a double is dropped, and thoughts before theirs', () => {
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
          ['a', 'of a'],
          ['c', 'of c'],
        ],
      )
    },
  )
})

test('interleaved thoughts keep their places when a double is dropped', () => {
  const think = (thinking: string) => ({ type: 'thinking', thinking, signature: 'S' })
  const use = (id: string, say: string) => ({ type: 'tool_use', id, name: 'echo', input: { say } })
  const content = [think('A'), use('a', '1'), use('b', '1'), think('B'), use('c', '2')]
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
        ['A', 'a', 'B', 'c'],
      )
    },
  )
})

test('Gemini misses its mark on calls another model made: they are sent with the words it lets pass', () =>
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
