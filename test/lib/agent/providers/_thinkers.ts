/** Endpoints with their ways of sending reasoning, and servers that reject a conversation without it. */
import { systemClock } from '../../../../lib/base/clock.ts'
import { httpProvider } from '../../../../lib/agent/providers/http-provider.ts'
import { FORMATS } from '../../../../lib/agent/providers/registry.ts'
import type { AgentRequest, ModelEndpoint, Providers } from '../../../../lib/agent/types.ts'
import { createProvider, delta, frame, type Recorded, type Step } from '../../../_provider.ts'
import { run } from '../_run.ts'
import { type Body, echo } from './_matrix.ts'

/** How an endpoint sends reasoning, and where it expects it in the next request. */
export type Kind = {
  name: string
  format: 'chat_completions' | 'anthropic_messages' | 'codex_responses'
  model: string
  /** A response with this reasoning, text and calls. */
  answer: (thought: string, words: string, calls: Call[]) => Step
  /** The reasoning of each message with calls, undefined without one. */
  thoughts: (body: Body) => unknown[]
  /** The real server's error when reasoning is missing. */
  complaint: string
  /** The server requires reasoning for calls of earlier turns and other models, too. */
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

export const KINDS: Kind[] = [
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
    // Reasoning precedes the calls of each response.
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

export const create = () => ({
  chat_completions: httpProvider(FORMATS.chat_completions, systemClock),
  anthropic_messages: httpProvider(FORMATS.anthropic_messages, systemClock),
  codex_responses: httpProvider(FORMATS.codex_responses, systemClock),
})

export const endpointOf = (kind: Kind, baseUrl: string): ModelEndpoint => ({
  provider: 'custom',
  model: kind.model,
  apiMode: kind.format,
  baseUrl,
  apiKey: 'k',
  contextLength: 100_000,
})

/** Rejects like the real servers; otherwise responds by the state of the conversation. */
export const strict = (
  kind: Kind,
  turns: Step[],
  isRight = (_thought: unknown, _at: number) => true,
) => {
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

export const serving = async (
  otherwise: (body: Body) => Step,
  work: (server: Served) => Promise<void>,
): Promise<void> => {
  await using server = await createProvider()
  server.otherwise = otherwise
  await work(server)
}

export const converse = (
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
