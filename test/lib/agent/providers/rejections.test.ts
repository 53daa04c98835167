/** What a rejection changes, for how long, and where: for the call, the session, the endpoint. See `quirks.ts`. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toolLimitIn } from '../../../../lib/agent/providers/rejection-rows.ts'
import type { LoopMessage, ProviderRequest } from '../../../../lib/agent/types.ts'
import type { Effort } from '../../../../lib/base/efforts.ts'
import { createTestClock } from '../../../_clock.ts'
import { createProvider, type Step } from '../../../_provider.ts'
import { type Body, FORMATS, type Format, speaker } from './_matrix.ts'

const MINUTE_MS = 60_000
const TOOLS = ['a', 'b', 'c'].map(name => ({ name, description: name, parameters: {} }))
const format = (apiMode: Format['apiMode']): Format => {
  const found = FORMATS.find(one => one.apiMode === apiMode)
  if (!found) throw new Error(apiMode)
  return found
}

type Rejection = {
  name: string
  apiMode: Format['apiMode']
  model?: string
  effort?: Effort
  /** The error object; a text is its message. */
  error: string | Record<string, unknown>
  status?: number
  /** What is compared of each request. */
  sent: (body: Body) => unknown
  /** Each chat asks once; the server rejects the first request only. */
  chats: unknown[]
  /** As `chats`, with one more after ten minutes. */
  later?: unknown
  messages?: LoopMessage[]
  /** Chats of one session. Absent: each is another one. */
  isOneSession?: boolean
}

const toolsIn = (body: Body): number => body.tools?.length ?? 0
const effortIn = (body: Body): unknown => body.reasoning_effort ?? '-'
const chat = 'chat_completions' as const

const CASES: Rejection[] = [
  {
    name: 'words of the conversation that are also a field',
    apiMode: chat,
    effort: 'high',
    error: 'Invalid request: explain your reasoning is not supported here',
    messages: [{ role: 'user', content: 'explain your reasoning' }],
    sent: effortIn,
    chats: ['high', '-', 'high'],
  },
  {
    name: 'an older llama.cpp without --jinja, which answers 500',
    apiMode: chat,
    status: 500,
    error: 'tools param requires --jinja flag',
    sent: toolsIn,
    chats: [3, 0, 3],
  },
  {
    name: 'no provider with tools right now (OpenRouter)',
    apiMode: chat,
    status: 404,
    error:
      'No endpoints found that support tool use. To learn more about provider routing, visit: …',
    sent: toolsIn,
    chats: [3, 0, 3, 3],
  },
  {
    name: 'vLLM started without its options, then again with them',
    apiMode: chat,
    error: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    sent: toolsIn,
    chats: [3, 0, 3],
  },
  {
    name: 'llama.cpp without --jinja',
    apiMode: chat,
    status: 400,
    error: 'tools param requires --jinja flag',
    sent: toolsIn,
    chats: [3, 0, 3],
  },
  {
    name: 'tools are disabled for a moment',
    apiMode: 'codex_responses',
    error: 'Tool calling is disabled while the model is being updated.',
    sent: toolsIn,
    chats: [3, 0, 3],
  },
  {
    name: 'a model without tools (Ollama)',
    apiMode: chat,
    error: 'registry.ollama.ai/library/gemma3:4b does not support tools',
    sent: toolsIn,
    chats: [3, 0, 0],
    later: 3,
  },
  {
    name: 'a model without tools (Ollama, own format)',
    apiMode: 'ollama_chat',
    error: 'registry.ollama.ai/library/gemma3:4b does not support tools',
    sent: toolsIn,
    chats: [3, 0, 0],
    later: 3,
  },
  {
    name: 'the parameter is refused by name (OpenAI)',
    apiMode: chat,
    error: {
      message: "Unsupported parameter: 'tools' is not supported with this model.",
      param: 'tools',
      code: 'unsupported_parameter',
    },
    sent: toolsIn,
    chats: [3, 0, 0],
    later: 3,
  },
  {
    name: 'a user who talks about the very error',
    apiMode: chat,
    error: 'gemma3:4b does not support tools',
    messages: [{ role: 'user', content: 'What is “gemma3:4b does not support tools”?' }],
    sent: toolsIn,
    chats: [3, 0, 3],
  },
  {
    name: 'the words of the user are quoted',
    apiMode: chat,
    effort: 'high',
    error: 'Invalid request: "explain your reasoning is required" was blocked.',
    sent: effortIn,
    chats: ['high'],
  },
  {
    name: 'the words of the user at their path',
    apiMode: chat,
    effort: 'high',
    error: "Invalid 'messages[3].content': explain your reasoning_effort here",
    sent: effortIn,
    chats: ['high'],
  },
  {
    name: 'the words of the user under their parameter',
    apiMode: chat,
    effort: 'high',
    error: { message: 'reasoning_effort is not supported', param: 'messages[3].content' },
    sent: effortIn,
    chats: ['high'],
  },
  {
    name: 'another parameter decides',
    apiMode: chat,
    effort: 'high',
    error: { message: "'temperature' and reasoning_effort is not supported", param: 'temperature' },
    sent: effortIn,
    chats: ['high'],
  },
  {
    name: 'the effort by its parameter',
    apiMode: chat,
    effort: 'high',
    error: {
      message: 'Unrecognized request argument supplied: reasoning_effort',
      param: 'reasoning_effort',
    },
    sent: effortIn,
    chats: ['high', '-', '-'],
    later: 'high',
  },
  {
    name: 'the effort by its place (pydantic)',
    apiMode: chat,
    effort: 'high',
    status: 422,
    error: {
      detail: [{ loc: ['body', 'reasoning_effort'], msg: 'Extra inputs are not permitted' }],
    },
    sent: effortIn,
    chats: ['high', '-', '-'],
    later: 'high',
  },
  {
    name: 'the effort in the words of xAI',
    apiMode: chat,
    effort: 'high',
    error: 'Model some-model does not support parameter reasoningEffort.',
    sent: effortIn,
    chats: ['high', '-', '-'],
    later: 'high',
  },
  {
    name: 'the effort is mentioned only',
    apiMode: chat,
    effort: 'high',
    error: 'Our backend had trouble with reasoning_effort, sorry',
    sent: effortIn,
    chats: ['high', '-', 'high'],
  },
  {
    name: 'a server that names the efforts it knows gets the nearest one',
    apiMode: chat,
    effort: 'minimal',
    model: 'some-model',
    error: {
      message:
        "Unsupported value: 'reasoning_effort' does not support 'low' with this model. Supported values are: 'medium' and 'high'.",
      param: 'reasoning_effort',
      code: 'unsupported_value',
    },
    sent: effortIn,
    chats: ['low', 'medium', 'medium'],
    later: 'low',
  },
  {
    name: 'the same in the Responses API',
    apiMode: 'codex_responses',
    effort: 'none',
    error: {
      message:
        "Unsupported value: 'none' is not supported with this model. Supported values are: 'low', 'medium', and 'high'.",
      param: 'reasoning.effort',
    },
    sent: body => body.reasoning?.effort ?? '-',
    chats: ['none', 'low', 'low'],
    later: 'none',
  },
  {
    name: 'an effort that serde does not know',
    apiMode: chat,
    effort: 'high',
    error:
      'Failed to deserialize the JSON body: invalid value for reasoning_effort, expected one of `low`, `medium`',
    sent: effortIn,
    chats: ['high', 'medium', 'medium'],
    later: 'high',
  },
  {
    name: 'a path of a message with words about a field behind it',
    apiMode: chat,
    effort: 'high',
    error:
      'messages[3].content was refused: reasoning_effort is not supported, tools are not supported',
    sent: body => [effortIn(body), toolsIn(body)],
    chats: [['high', 3]],
  },
  {
    name: 'the place of a field as Python prints it',
    apiMode: chat,
    effort: 'high',
    error:
      "[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort'), 'msg': 'Extra inputs are not permitted'}]",
    sent: effortIn,
    chats: ['high', '-', '-'],
    later: 'high',
  },
  {
    name: 'LiteLLM',
    apiMode: chat,
    effort: 'high',
    status: 500,
    error: {
      message:
        "litellm.UnsupportedParamsError: groq does not support parameters: ['reasoning_effort'], for model=x. To drop these, set `litellm.drop_params=True`",
      param: 'None',
      code: '500',
    },
    sent: effortIn,
    chats: ['high', '-', '-'],
    later: 'high',
  },
  {
    name: 'the effort of the Responses API',
    apiMode: 'codex_responses',
    effort: 'high',
    error: {
      message: "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
      param: 'reasoning.effort',
    },
    sent: body => body.reasoning?.effort ?? '-',
    chats: ['high', '-', '-'],
    later: 'high',
  },
  {
    name: 'the Responses API quotes the user',
    apiMode: 'codex_responses',
    effort: 'high',
    error: { message: 'Your reasoning about this effort is harmful.', code: 'invalid_prompt' },
    sent: body => body.reasoning?.effort ?? '-',
    chats: ['high'],
  },
  {
    name: 'thinking that a server does not know (Anthropic)',
    apiMode: 'anthropic_messages',
    error: 'thinking: Extra inputs are not permitted',
    sent: body => body.thinking?.type ?? '-',
    chats: ['adaptive', '-', '-'],
    later: 'adaptive',
  },
  {
    name: 'thinking that the user talks about (Anthropic)',
    apiMode: 'anthropic_messages',
    error: 'messages.0.content: text about thinking and effort and the display is too long',
    sent: body => body.thinking?.type ?? '-',
    chats: ['adaptive'],
  },
  {
    name: 'a beta that somebody talks about (Anthropic)',
    apiMode: 'anthropic_messages',
    error: 'Please join the beta program of this prefix',
    sent: body => body.thinking?.type ?? '-',
    chats: ['adaptive'],
  },
  {
    name: 'a model that does not think (Ollama)',
    apiMode: 'ollama_chat',
    effort: 'high',
    error: '"gemma3:4b" does not support thinking',
    sent: body => body.think ?? '-',
    chats: [true, '-', '-'],
    later: true,
  },
  {
    name: 'a prompt about thinking (Ollama)',
    apiMode: 'ollama_chat',
    effort: 'high',
    error: 'cannot parse the prompt: what do you think',
    sent: body => body.think ?? '-',
    chats: [true],
  },
  {
    name: 'no streaming while the model starts',
    apiMode: chat,
    error: 'Streaming is not supported while the model is warming up',
    sent: body => body.stream,
    chats: [true, false, true],
  },
  {
    name: 'no streaming for the moment, in other words',
    apiMode: chat,
    error: 'stream is not supported for this deployment while it scales',
    sent: body => body.stream,
    chats: [true, false, true],
  },
  {
    name: 'no streaming, by its parameter',
    apiMode: chat,
    error: {
      message: "Unsupported value: 'stream' does not support true with this model.",
      param: 'stream',
      code: 'unsupported_value',
    },
    sent: body => body.stream,
    chats: [true, false, false],
    later: true,
  },
  {
    name: 'another name for the limit stays for long',
    apiMode: chat,
    error: {
      message:
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      param: 'max_tokens',
      code: 'unsupported_parameter',
    },
    sent: body => Object.keys(body).filter(key => key.startsWith('max_')),
    chats: [['max_tokens'], ['max_completion_tokens'], ['max_completion_tokens']],
    later: ['max_completion_tokens'],
  },
  {
    name: 'a server without stream_options stays one for long',
    apiMode: chat,
    error: 'Unknown field: stream_options',
    sent: body => body.stream_options !== undefined,
    chats: [true, false, false],
    later: false,
  },
  ...[false, true].map(
    (isOneSession): Rejection => ({
      name: `an invalid signature concerns its chat (${isOneSession ? 'same' : 'another'} one)`,
      apiMode: chat,
      model: 'google/gemini-3-pro',
      isOneSession,
      error: 'Thought signature is not valid',
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'o', type: 'function', function: { name: 'a', arguments: '{}' } }],
          providerState: {
            endpointKey: '',
            items: [
              { marks: { 0: { google: { thought_signature: 'MINE' } } }, chars: 0, calls: 0 },
            ],
          },
        },
        { role: 'tool', tool_call_id: 'o', name: 'a', content: '{}' },
      ],
      sent: body => body.messages[1].tool_calls[0].extra_content?.google.thought_signature ?? '-',
      chats: ['MINE', '-', isOneSession ? '-' : 'MINE'],
    }),
  ),
  {
    name: 'a cache that a server does not know',
    apiMode: 'anthropic_messages',
    error: 'system.0.cache_control: Extra inputs are not permitted',
    sent: body => JSON.stringify(body).includes('cache_control'),
    chats: [true, false, false],
    later: true,
  },
]

const test = suite('rejections')

for (const one of CASES)
  test(`${one.apiMode}: ${one.name}`, async () => {
    const { create, model } = format(one.apiMode)
    const clock = createTestClock()
    const provider = create({ clock })
    const server = await createProvider()
    const body = typeof one.error === 'string' ? { message: one.error } : one.error
    const rejected: Step = {
      status: one.status ?? 400,
      body: 'detail' in body ? body : { error: body },
    }
    let round = 0
    server.otherwise = () => (++round === 1 ? rejected : { text: 'done' })
    const { endpointAt } = speaker(format(one.apiMode))
    const ask = async (sessionKey: string): Promise<void> => {
      const request: ProviderRequest = {
        endpoint: endpointAt(server, {
          model: one.model ?? model,
          maxTokens: 100_000,
          ...(one.effort && { effort: one.effort }),
        }),
        messages: one.messages ?? [{ role: 'user', content: 'hello' }],
        tools: TOOLS,
        signal: new AbortController().signal,
        workspace: '/',
        sessionKey,
      }
      for await (const _ of provider(request));
    }
    const seen = () => server.requests.map(({ body: sent }) => one.sent(sent))
    try {
      // The first chat makes two requests, or one that fails.
      const chats = one.chats.length - 1
      for (let at = 0; at < Math.max(1, chats); at++)
        await ask(one.isOneSession ? 's' : `s${at}`).catch((error: unknown) => {
          if (chats > 0) throw error
        })
      assert.equal(seen(), one.chats)
      if (!('later' in one)) return
      await clock.advance(10 * MINUTE_MS)
      await ask('later')
      assert.equal(seen().at(-1), one.later)
    } finally {
      await server.close()
    }
  })

test('a test of the connection forgets what was learned about the server', async () => {
  const { create, model } = format(chat)
  const provider = create()
  const server = await createProvider()
  let round = 0
  server.otherwise = () =>
    ++round === 1
      ? { status: 400, body: { error: { message: 'gemma3 does not support tools' } } }
      : { text: 'done' }
  const { endpointAt } = speaker(format(chat))
  const ask = async (more: Partial<ProviderRequest>): Promise<void> => {
    const request: ProviderRequest = {
      endpoint: endpointAt(server, { model }),
      messages: [{ role: 'user', content: 'hello' }],
      tools: TOOLS,
      signal: new AbortController().signal,
      workspace: '/',
      ...more,
    }
    for await (const _ of provider(request));
  }
  try {
    await ask({})
    await ask({})
    await ask({ isConnectionTest: true, tools: [], endpoint: endpointAt(server, { model: 'x' }) })
    await ask({})
    assert.equal(
      server.requests.map(({ body }) => toolsIn(body)),
      [3, 0, 0, 0, 3],
    )
  } finally {
    await server.close()
  }
})

test('what the answer did not confirm is not remembered', async () => {
  const { create, model } = format(chat)
  const provider = create()
  const server = await createProvider()
  const { endpointAt } = speaker(format(chat))
  const refusal: Step = {
    status: 400,
    body: { error: { message: "Unknown parameter: 'reasoning_effort'." } },
  }
  server.push(refusal, { status: 401, body: { error: { message: 'no' } } }, { text: 'done' })
  const ask = async (): Promise<void> => {
    for await (const _ of provider({
      endpoint: endpointAt(server, { model, effort: 'high' }),
      messages: [{ role: 'user', content: 'hello' }],
      tools: [],
      signal: new AbortController().signal,
      workspace: '/',
    }));
  }
  try {
    await ask().catch(() => undefined)
    await ask()
    assert.equal(
      server.requests.map(({ body }) => effortIn(body)),
      ['high', '-', 'high'],
    )
  } finally {
    await server.close()
  }
})

test('what was learned with one key is not applied with another', async () => {
  const { create, model } = format(chat)
  const provider = create()
  const server = await createProvider()
  let round = 0
  server.otherwise = () =>
    ++round === 1
      ? { status: 400, body: { error: { message: 'Not verified.', param: 'stream' } } }
      : { text: 'done' }
  const { endpointAt } = speaker(format(chat))
  try {
    for (const apiKey of ['sk-one', 'sk-one', 'sk-two'])
      for await (const _ of provider({
        endpoint: endpointAt(server, { model, apiKey }),
        messages: [{ role: 'user', content: 'hello' }],
        tools: [],
        signal: new AbortController().signal,
        workspace: '/',
      }));
    assert.equal(
      server.requests.map(({ body }) => body.stream),
      [true, false, false, true],
    )
  } finally {
    await server.close()
  }
})

const LIMITS: [sentence: string, most: number | null, param?: string][] = [
  [
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
    128,
    'tools',
  ],
  [
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
    128,
  ],
  ['The maximum number of tools is 128.', 128],
  ['Maximum tools limit reached: 128', 128],
  ["'tools' : maximum number of items is 128", 128],
  ['body.tools: List should have at most 128 items after validation, not 140', 128],
  ['You may not include more than 128 tools in your request.', 128],
  ['Too many tools: at most 128', 128],
  ['At most 64 function declarations are supported.', 64],
  [
    "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
    null,
  ],
  ['string too long. Expected a string with maximum length 64', null, 'tools[0].function.name'],
  ['tools.0.custom.name: String should have at most 64 characters', null],
  ["Invalid schema for function 'x': JSON schema is too deep, maximum nesting 5", null],
  ['tools: the JSON schema is too deep, maximum nesting 5', null],
  ['The description exceeds the maximum length of 1 024 characters for tools', null],
  ['tools.3.input_schema: at most 20 properties', null],
  ["Invalid 'tools[2].function.description': maximum length 1024", null],
  ['Rate limit: at most 3 requests with tools per minute', null],
  ['The maximum number of tools is 200.', null],
  ['"use at most 3 tools" violates our policy', null],
  ['The maximum number of tools is 3.', null, 'messages[0].content'],
]
for (const [message, most, param] of LIMITS)
  test(`${most ?? 'no'} tools: ${message}${param ? ` (${param})` : ''}`, () =>
    assert.is(toolLimitIn({ message, param }, 140), most))

test.run()
