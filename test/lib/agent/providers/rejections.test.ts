/** What a rejection changes, for how long, and where: for the call, the session, the endpoint. See `quirks.ts` and `rejection-rows.ts`. */
import { ProviderFailure } from '../../../../lib/agent/failure.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { toolLimitIn } from '../../../../lib/agent/providers/rejection-rows.ts'
import type {
  LoopMessage,
  ModelEndpoint,
  ProviderRequest,
  Tool,
} from '../../../../lib/agent/types.ts'
import { createTestClock, type TestClock } from '../../../_clock.ts'
import type { Step } from '../../../_provider.ts'
import { type Body, echo, FORMATS, type Format, speaker, withServer } from './_matrix.ts'

const TOOLS = ['a', 'b', 'c'].map(name => ({ name, description: name, parameters: {} }))
const [chat, anthropic, responses, ollama] = FORMATS as [Format, Format, Format, Format]

/** What is compared of each request. */
const tools = (body: Body): number => body.tools?.length ?? 0
const effort = (body: Body): unknown => body.reasoning_effort ?? body.reasoning?.effort ?? '-'
const stream = (body: Body): boolean => body.stream
const thinking = (body: Body): unknown => body.thinking?.type ?? '-'
const has = (field: string) => (body: Body) => body[field] !== undefined
const limits = (body: Body) => Object.keys(body).filter(key => key.startsWith('max_'))
const cache = (body: Body) => JSON.stringify(body).includes('cache_control')

type Rejection = [
  format: Format,
  /** The error object; a text is its message. */
  error: string | Record<string, unknown>,
  sent: (body: Body) => unknown,
  /** Each chat asks once; the server rejects the first request only. One request: the chat fails. */
  chats: unknown[],
  more?: Partial<ModelEndpoint> & {
    /** As `chats`, ten minutes later. */
    later?: unknown
    status?: number
    /** The user's own words. */
    said?: string
  },
]
const high = { effort: 'high' } as const
const FOR_CALL = [3, 0, 3]
const FOR_TEN_MINUTES = [3, 0, 0]
const NO_TOOLS = 'registry.ollama.ai/library/gemma3:4b does not support tools'

const CASES: Rejection[] = [
  // Tools: of the model, or of the moment.
  [chat, 'tools param requires --jinja flag', tools, FOR_CALL, { status: 500 }],
  [chat, 'tools param requires --jinja flag', tools, FOR_CALL],
  [
    chat,
    'No endpoints found that support tool use. To learn more, visit: …',
    tools,
    FOR_CALL,
    { status: 404 },
  ],
  [chat, '"auto" tool choice requires --enable-auto-tool-choice to be set', tools, FOR_CALL],
  [responses, 'Tool calling is disabled while the model is being updated.', tools, FOR_CALL],
  [chat, NO_TOOLS, tools, FOR_TEN_MINUTES, { later: 3 }],
  [ollama, NO_TOOLS, tools, FOR_TEN_MINUTES, { later: 3 }],
  [
    chat,
    { message: "Unsupported parameter: 'tools' is not supported with this model.", param: 'tools' },
    tools,
    FOR_TEN_MINUTES,
    { later: 3 },
  ],
  [chat, NO_TOOLS, tools, FOR_CALL, { said: `What is “${NO_TOOLS}”?` }],
  // Words of the user, quoted, at their path, under their parameter, or only alike.
  [
    chat,
    'Invalid request: explain your reasoning is not supported here',
    effort,
    ['high', '-', 'high'],
    { ...high, said: 'explain your reasoning' },
  ],
  [
    chat,
    'Invalid request: "explain your reasoning is required" was blocked.',
    effort,
    ['high'],
    high,
  ],
  [
    chat,
    "Invalid 'messages[3].content': explain your reasoning_effort here",
    effort,
    ['high'],
    high,
  ],
  [
    chat,
    { message: 'reasoning_effort is not supported', param: 'messages[3].content' },
    effort,
    ['high'],
    high,
  ],
  [
    chat,
    'messages[3].content was refused: reasoning_effort is not supported, tools are not supported',
    tools,
    [3],
    high,
  ],
  [responses, { message: 'Your reasoning about this effort is harmful.' }, effort, ['high'], high],
  [
    anthropic,
    'messages.0.content: text about thinking and effort and the display is too long',
    thinking,
    ['adaptive'],
  ],
  [anthropic, 'Please join the beta program of this prefix', thinking, ['adaptive']],
  [ollama, 'cannot parse the prompt: what do you think', has('think'), [true], high],
  // The effort, as servers name it.
  [
    chat,
    { message: "'temperature' and reasoning_effort is not supported", param: 'temperature' },
    effort,
    ['high'],
    high,
  ],
  ...[
    {
      message: 'Unrecognized request argument supplied: reasoning_effort',
      param: 'reasoning_effort',
    },
    'Model some-model does not support parameter reasoningEffort.',
    "[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort'), 'msg': 'Extra inputs are not permitted'}]",
    { detail: [{ loc: ['body', 'reasoning_effort'], msg: 'Extra inputs are not permitted' }] },
    {
      message:
        "litellm.UnsupportedParamsError: groq does not support parameters: ['reasoning_effort'], for model=x",
      param: 'None',
      code: '500',
    },
  ].map(
    (error): Rejection => [
      chat,
      error,
      effort,
      ['high', '-', '-'],
      { ...high, later: 'high', status: JSON.stringify(error).includes('litellm') ? 500 : 422 },
    ],
  ),
  [
    chat,
    'Our backend had trouble with reasoning_effort, sorry',
    effort,
    ['high', '-', 'high'],
    high,
  ],
  [
    responses,
    "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    effort,
    ['high', '-', '-'],
    { ...high, later: 'high' },
  ],
  // One that names the efforts it knows gets the nearest.
  [
    chat,
    {
      message:
        "Unsupported value: 'reasoning_effort' does not support 'low' with this model. Supported values are: 'medium' and 'high'.",
      param: 'reasoning_effort',
    },
    effort,
    ['low', 'medium', 'medium'],
    { effort: 'minimal', later: 'low' },
  ],
  [
    responses,
    {
      message: "Unsupported value: 'none'. Supported values are: 'low', 'medium', and 'high'.",
      param: 'reasoning.effort',
    },
    effort,
    ['none', 'low', 'low'],
    { effort: 'none', later: 'none' },
  ],
  [
    chat,
    'Failed to deserialize: invalid value for reasoning_effort, expected one of `low`, `medium`',
    effort,
    ['high', 'medium', 'medium'],
    { ...high, later: 'high' },
  ],
  // Thinking.
  [
    anthropic,
    'thinking: Extra inputs are not permitted',
    thinking,
    ['adaptive', '-', '-'],
    { later: 'adaptive' },
  ],
  [anthropic, 'thinking: unknown field', thinking, ['adaptive', '-', '-']],
  [
    anthropic,
    'adaptive thinking is not supported on this model',
    thinking,
    ['adaptive', 'enabled', 'enabled'],
  ],
  [
    anthropic,
    'output_config: Extra inputs are not permitted. effort',
    has('output_config'),
    [true, false, false],
  ],
  [
    ollama,
    '"gemma3:4b" does not support thinking',
    has('think'),
    [true, false, false],
    { ...high, later: true },
  ],
  // Fields of one format each.
  [chat, 'Streaming is not supported while the model is warming up', stream, [true, false, true]],
  [
    chat,
    'stream is not supported for this deployment while it scales',
    stream,
    [true, false, true],
  ],
  [
    chat,
    { message: "Unsupported value: 'stream' does not support true.", param: 'stream' },
    stream,
    [true, false, false],
    { later: true },
  ],
  [
    chat,
    {
      message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
      param: 'max_tokens',
    },
    limits,
    [['max_tokens'], ['max_completion_tokens'], ['max_completion_tokens']],
    { later: ['max_completion_tokens'] },
  ],
  [
    chat,
    'Unknown field: stream_options',
    has('stream_options'),
    [true, false, false],
    { later: false },
  ],
  [
    anthropic,
    'system.0.cache_control: Extra inputs are not permitted',
    cache,
    [true, false, false],
    { later: true },
  ],
  [
    responses,
    'Encrypted content is not supported with this model.',
    has('include'),
    [true, false, false],
  ],
  [
    responses,
    'Unsupported parameter: max_output_tokens',
    has('max_output_tokens'),
    [true, false, false],
  ],
  [responses, 'Unknown parameter: prompt_cache_key', has('prompt_cache_key'), [true, false, false]],
  [
    responses,
    'Your organization must be verified to generate reasoning summaries.',
    body => body.reasoning,
    [{ effort: 'medium', summary: 'auto' }, { effort: 'medium' }, { effort: 'medium' }],
  ],
  // Limits of the answer: the model's own, and what the prompt leaves of the window.
  ...(
    [
      [anthropic, 'max_tokens: 64000 > 8192, which is the maximum allowed', 8_192, true],
      [
        anthropic,
        'input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000',
        9_936,
        false,
      ],
      [
        chat,
        "'max_tokens' is too large: 32000. This model's maximum context length is 40960 tokens and your request has 20000 input tokens.",
        20_896,
        false,
      ],
      [
        chat,
        "This model's maximum context length is 16384 tokens. However, you requested 20000 tokens (4000 in the messages, 16000 in the completion).",
        12_320,
        false,
      ],
      [
        chat,
        'max_tokens is too large: 32000. This model supports at most 16384 completion tokens',
        16_384,
        true,
      ],
    ] as const
  ).map(
    ([format, error, most, isOfModel]): Rejection => [
      format,
      error,
      body => body.max_tokens,
      [100_000, most, isOfModel ? most : 100_000],
    ],
  ),
]

const test = suite('rejections')

type Ask = (more?: Partial<ProviderRequest>, extra?: Partial<ModelEndpoint>) => Promise<void>
/** One provider for several requests to one server. */
const withProvider = (
  format: Format,
  steps: Step[],
  work: (ask: Ask, bodies: () => Body[], clock: TestClock) => Promise<void>,
) =>
  withServer(steps, async server => {
    const clock = createTestClock()
    const provider = format.create({ clock })
    server.otherwise = () => ({ text: 'done' })
    await work(
      async (more, extra) => {
        for await (const _ of await provider({
          endpoint: speaker(format).endpointAt(server, { maxTokens: 100_000, ...extra }),
          messages: [{ role: 'user', content: 'hello' }],
          tools: TOOLS,
          signal: new AbortController().signal,
          workspace: '/',
          ...more,
        }));
      },
      () => server.requests.map(({ body }) => body),
      clock,
    )
  })
const rejected = (error: string | Record<string, unknown>, status = 400): Step => {
  const body = typeof error === 'string' ? { message: error } : error
  return { status, body: 'detail' in body ? body : { error: body } }
}

for (const [format, error, sent, chats, { later, status, said, ...extra } = {}] of CASES)
  test(`${format.apiMode}: ${JSON.stringify(error)}${said ? ', as the user says' : ''}`, () =>
    withProvider(format, [rejected(error, status)], async (ask, bodies, clock) => {
      const messages: LoopMessage[] = [{ role: 'user', content: said ?? 'hello' }]
      for (let at = 0; at < Math.max(1, chats.length - 1); at++)
        await ask({ messages, sessionKey: `s${at}` }, extra).catch((reason: unknown) => {
          if (chats.length > 1) throw reason
        })
      assert.equal(bodies().map(sent), chats)
      if (later === undefined) return
      await clock.advance(600_000)
      await ask({ messages, sessionKey: 'later' }, extra)
      assert.equal(sent(bodies().at(-1)), later)
    }))

for (const [sessions, last] of [
  [['s', 's'], '-'],
  [['s', 'another'], 'MINE'],
] as const)
  test(`an invalid signature concerns its chat: ${sessions.join(', ')}`, () =>
    withProvider(chat, [rejected('Thought signature is not valid')], async (ask, bodies) => {
      const marks = { 0: { google: { thought_signature: 'MINE' } } }
      const messages: ProviderRequest['messages'] = [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'o', type: 'function', function: { name: 'a', arguments: '{}' } }],
          providerState: { endpointKey: '', items: [{ marks, chars: 0, calls: 0 }] },
        },
        { role: 'tool', tool_call_id: 'o', name: 'a', content: '{}' },
      ]
      for (const sessionKey of sessions)
        await ask({ sessionKey, messages }, { model: 'google/gemini-3-pro' })
      assert.equal(
        bodies().map(
          body => body.messages[1].tool_calls[0].extra_content?.google.thought_signature ?? '-',
        ),
        ['MINE', '-', last],
      )
    }))

test('a test of the connection forgets what was learned about the server', () =>
  withProvider(chat, [rejected('gemma3 does not support tools')], async (ask, bodies) => {
    await ask()
    await ask()
    await ask({ isConnectionTest: true, tools: [] }, { model: 'x' })
    await ask()
    assert.equal(bodies().map(tools), [3, 0, 0, 0, 3])
  }))

test('what the answer did not confirm is not remembered', () => {
  const steps = [rejected("Unknown parameter: 'reasoning_effort'."), rejected('no', 401)]
  return withProvider(chat, steps, async (ask, bodies) => {
    await ask({}, high).catch(() => undefined)
    await ask({}, high)
    assert.equal(bodies().map(effort), ['high', '-', 'high'])
  })
})

test('what was learned with one key is not applied with another', () => {
  const steps = [rejected({ message: 'Not verified.', param: 'stream' })]
  return withProvider(chat, steps, async (ask, bodies) => {
    for (const apiKey of ['sk-one', 'sk-one', 'sk-two']) await ask({}, { apiKey })
    assert.equal(bodies().map(stream), [true, false, false, true])
  })
})

const called = (id: string, name = 'echo'): LoopMessage[] => [
  { role: 'user', content: 'go' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id, type: 'function', function: { name, arguments: '{"say":"x"}' } }],
  },
  { role: 'tool', tool_call_id: id, name, content: '{"say":"x"}' },
]
/** Servers that reject each request with this in it: the request is adapted, and the turn continues. */
const STRICT: {
  name: string
  says: string
  isWrong: (messages: Body[], body: Body) => boolean
  history?: LoopMessage[]
  tools?: Tool[]
  requests?: number
  /** A part of the last request, and of the warnings. */
  sent?: string
  warned?: string
}[] = [
  {
    name: 'ids of nine letters and digits, the same in the call and its result',
    says: 'Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.',
    isWrong: messages => {
      const ids = messages.flatMap(m => m.tool_calls?.[0].id ?? m.tool_call_id ?? [])
      return ids[0] !== ids[1] || ids.some(id => !/^[a-zA-Z0-9]{9}$/.test(id))
    },
    history: [...called('call_abcdefghijk'), { role: 'user', content: 'more' }],
  },
  ...[
    "Unexpected role 'user' after role 'tool'",
    'After the optional system message, conversation roles must alternate user/assistant/user/...',
  ].map(says => ({
    name: says,
    says,
    isWrong: (messages: Body[]) =>
      messages.some(
        ({ role }, at) => role === 'user' && ['tool', 'user'].includes(messages[at - 1]?.role),
      ),
    history: [
      ...called('c1'),
      { role: 'user' as const, content: 'stop that' },
      { role: 'user' as const, content: 'and do this' },
    ],
    sent: 'stop that\\n\\nand do this',
  })),
  {
    name: 'calls in the history of a model without tools',
    says: NO_TOOLS,
    isWrong: (messages, body) =>
      body.tools || messages.some(m => m.tool_calls || m.role === 'tool'),
    history: [...called('c1'), { role: 'user', content: 'more' }],
    sent: 'Result of echo',
    warned: 'text',
  },
  {
    name: 'more tools than it takes',
    says: 'The maximum number of tools is 128.',
    isWrong: (_, body) => body.tools.length > 128,
    tools: Array.from({ length: 140 }, (_, n) => ({
      ...echo,
      name: `tool_${n}`,
      input: z.object({}),
    })),
    warned: 'so 12 are left out',
  },
  {
    name: 'names that are none: they are never sent',
    says: 'string does not match pattern.',
    isWrong: messages =>
      messages.some(m =>
        [m.name, m.tool_calls?.[0].function.name].some(
          name => name !== undefined && !/^[a-zA-Z0-9_-]{1,64}$/.test(name),
        ),
      ),
    history: [...called('a', 'my tool!'), ...called('b', ''), { role: 'user', content: 'x' }],
    requests: 1,
  },
]
for (const { name, says, isWrong, requests = 2, sent, warned, ...request } of STRICT)
  test(`strict about ${name}`, () =>
    withServer([], async server => {
      server.otherwise = body => (isWrong(body.messages, body) ? rejected(says) : { text: 'done' })
      const { outcome, events } = await speaker(chat).converse(server, request)
      assert.equal([outcome.text, server.requests.length], ['done', requests])
      if (sent) assert.match(JSON.stringify(server.requests.at(-1)?.body), sent)
      const warnings = events.filter(({ type }) => type === 'warning')
      assert.is(warnings.length, warned ? 1 : 0)
      if (warned) assert.match(JSON.stringify(warnings), warned)
    }))

/** Sentences, and how many of 140 tools they allow. */
const LIMITS: [most: number | null, sentence: string, param?: string][] = [
  [
    128,
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
  ],
  [
    128,
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 140.",
    'tools',
  ],
  [128, 'The maximum number of tools is 128.'],
  [128, 'Maximum tools limit reached: 128'],
  [128, "'tools' : maximum number of items is 128"],
  [128, 'body.tools: List should have at most 128 items after validation, not 140'],
  [128, 'You may not include more than 128 tools in your request.'],
  [128, 'Too many tools: at most 128'],
  [64, 'At most 64 function declarations are supported.'],
  [null, "Invalid 'tools[0].function.name': string too long. Expected a maximum length 64"],
  [null, 'string too long. Expected a string with maximum length 64', 'tools[0].function.name'],
  [null, 'tools.0.custom.name: String should have at most 64 characters'],
  [null, "Invalid schema for function 'x': JSON schema is too deep, maximum nesting 5"],
  [null, 'tools: the JSON schema is too deep, maximum nesting 5'],
  [null, 'The description exceeds the maximum length of 1 024 characters for tools'],
  [null, 'tools.3.input_schema: at most 20 properties'],
  [null, "Invalid 'tools[2].function.description': maximum length 1024"],
  [null, 'Rate limit: at most 3 requests with tools per minute'],
  [null, 'The maximum number of tools is 200.'],
  [null, '"use at most 3 tools" violates our policy'],
  [null, 'The maximum number of tools is 3.', 'messages[0].content'],
]
test('limits of the number of tools', () => {
  for (const [most, message, param] of LIMITS)
    assert.is(toolLimitIn(new ProviderFailure('error', message, { param }), 140), most, message)
})

test.run()
