/** The HTTP wire formats under test, and requests to each of them over real HTTP. */
import type { Dispatcher } from 'undici'
import { type Clock, systemClock } from '../../../../lib/base/clock.ts'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { ProviderFailure } from '../../../../lib/agent/failure.ts'
import { httpProvider } from '../../../../lib/agent/providers/http-provider.ts'
import { FORMATS as ALL } from '../../../../lib/agent/providers/registry.ts'
import type {
  AgentRequest,
  ApiMode,
  LoopMessage,
  ModelEndpoint,
  Provider,
  ProviderDelta,
  Tool,
} from '../../../../lib/agent/types.ts'
import { createProvider, type Scripted, type Step } from '../../../_provider.ts'
import { run } from '../_run.ts'

export const KEY = 'sk-secret-key-1234567890'

// biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary request bodies
export type Body = any

type ProviderOptions = { clock?: Clock; dispatcher?: Dispatcher }

export type Format = {
  apiMode: ApiMode
  path: string
  model: string
  create: (options?: ProviderOptions) => Provider
  /** Ollama reports neither cached tokens nor content filters, and every one of its streams has an end event. */
  isNative?: true
  /** Ids of calls and of results in the order in which they were sent. */
  callsSent: (body: Body) => string[]
  resultsSent: (body: Body) => string[]
}

// biome-ignore format: one line per format
const blocks = (body: Body, type: string) => body.messages.flatMap((m: Body) => Array.isArray(m.content) ? m.content.filter((b: Body) => b.type === type) : [])
const items = (body: Body, type: string) => body.input.filter((item: Body) => item.type === type)

export const FORMATS: Format[] = [
  {
    apiMode: 'chat_completions',
    path: '/v1/chat/completions',
    model: 'some-model',
    create: ({ clock = systemClock, dispatcher } = {}) =>
      httpProvider(ALL.chat_completions, clock, dispatcher),
    callsSent: body =>
      body.messages.flatMap((m: Body) => (m.tool_calls ?? []).map((call: Body) => call.id)),
    resultsSent: body =>
      body.messages.flatMap((m: Body) => (m.role === 'tool' ? [m.tool_call_id] : [])),
  },
  {
    apiMode: 'anthropic_messages',
    path: '/v1/messages',
    model: 'claude-opus-4-6',
    create: ({ clock = systemClock, dispatcher } = {}) =>
      httpProvider(ALL.anthropic_messages, clock, dispatcher),
    callsSent: body => blocks(body, 'tool_use').map((block: Body) => block.id),
    resultsSent: body => blocks(body, 'tool_result').map((block: Body) => block.tool_use_id),
  },
  {
    apiMode: 'codex_responses',
    path: '/v1/responses',
    model: 'gpt-5.4',
    create: ({ clock = systemClock, dispatcher } = {}) =>
      httpProvider(ALL.codex_responses, clock, dispatcher),
    callsSent: body => items(body, 'function_call').map((item: Body) => item.call_id),
    resultsSent: body => items(body, 'function_call_output').map((item: Body) => item.call_id),
  },
  {
    apiMode: 'ollama_chat',
    path: '/api/chat',
    model: 'qwen3:8b',
    create: ({ clock = systemClock, dispatcher } = {}) =>
      httpProvider(ALL.ollama_chat, clock, dispatcher),
    isNative: true,
    callsSent: body =>
      body.messages.flatMap((m: Body) => (m.tool_calls ?? []).map((call: Body) => call.id)),
    resultsSent: body =>
      body.messages.flatMap((m: Body) => (m.role === 'tool' ? [m.tool_call_id] : [])),
  },
]

export const echo: Tool = {
  name: 'echo',
  summary: 'Says it again.',
  input: z.object({ say: z.string() }),
  kind: 'read',
  preview: () => 'echo',
  run: (_ctx, input) => ({ content: JSON.stringify(input) }),
}

export const withServer = async (steps: Step[], work: (server: Scripted) => Promise<void>) => {
  await using server = await createProvider(...steps)
  await work(server)
}

export const failing = async (work: Promise<unknown>): Promise<ProviderFailure> => {
  try {
    await work
  } catch (error) {
    assert.instance(error, ProviderFailure)
    return error as ProviderFailure
  }
  return assert.unreachable('it should have failed') as never
}

export const textOf = (deltas: ProviderDelta[], type: 'text' | 'reasoning' | 'refusal' = 'text') =>
  deltas.map(one => (one.type === type ? one.text : '')).join('')
export const finishOf = (deltas: ProviderDelta[]) =>
  deltas.flatMap(one => (one.type === 'finish' ? [one.reason] : []))

/** An error body in Anthropic's shape. */
export const said = (type: string, message: string) => ({ type: 'error', error: { type, message } })

type Ask = {
  extra?: Partial<ModelEndpoint>
  options?: ProviderOptions
  react?: (delta: ProviderDelta) => void
  signal?: AbortSignal
  messages?: LoopMessage[]
}

export const speaker = (format: Format) => {
  const endpointAt = (server: Scripted, extra: Partial<ModelEndpoint> = {}): ModelEndpoint => ({
    provider: 'custom',
    model: format.model,
    apiMode: format.apiMode,
    baseUrl: server.url,
    apiKey: KEY,
    contextLength: 1000,
    ...extra,
  })

  const ask = async (server: Scripted, { extra, options, react, signal, messages }: Ask = {}) => {
    const deltas: ProviderDelta[] = []
    const stream = format.create(options)({
      endpoint: endpointAt(server, extra),
      messages: messages ?? [{ role: 'user', content: 'hello' }],
      tools: [],
      signal: signal ?? new AbortController().signal,
      workspace: '/',
    })
    for await (const one of await stream) {
      deltas.push(one)
      react?.(one)
    }
    return deltas
  }

  /** A whole run of the loop against the server. */
  const converse = (server: Scripted, request: Partial<AgentRequest> = {}) =>
    run(format.create(), {
      endpoint: endpointAt(server),
      tools: [echo],
      providers: { [format.apiMode]: format.create() },
      sessionKey: 'session-1',
      ...request,
    })

  return { endpointAt, ask, converse }
}
