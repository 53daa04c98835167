/**
 * The wire format `ollama_chat`: Ollama's own `POST /api/chat`. Its OpenAI-compatible endpoint ignores a context size in
 * the request (docs/api/openai-compatibility.mdx) and drops what does not fit; here, `num_ctx` and `truncate` are honored.
 */
import { parseDataUrl } from '../../base/data-url.ts'
import {
  asCount,
  asObject,
  asObjects,
  asString,
  isObject,
  type JsonObject,
} from '../../base/json.ts'
import type { ProviderFailure } from '../failure.ts'
import type { Provider, ProviderDelta, ProviderRequest } from '../types.ts'
import { ollamaAnswer } from './answer-fields.ts'
import { type Part, partsOf } from './content-parts.ts'
import { authHeaders } from './http-post.ts'
import { createHttpProvider, type HttpProviderOptions } from './http-provider.ts'
import { type ChatMessage, type ChatShape, toChatMessages } from './openai-messages.ts'
import type { Objection } from './quirks.ts'
import { type ResponseReader, throwErrorIn } from './stream-request.ts'
import { createThinkSplitter } from './think-tags.ts'
import { findObjection, type QuirkRow } from './rejection.ts'
import { NO_TOOLS, offeredTools, TOOLS_REFUSED } from './tool-limit.ts'

type Quirk = 'no tools' | 'tools refused' | 'no think' | 'no levels'

/** Everything that only `chat_completions` servers need is off. */
const SHAPE: ChatShape = {
  developer: false,
  cache: false,
  details: false,
  thoughts: false,
  blanks: false,
  signatures: false,
  words: false,
  turns: false,
  shortIds: false,
}

/** The base URL is usually that of the compatible API, which ends in `/v1`. */
const urlOf = (baseUrl: string): string =>
  `${baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/api/chat`

const argumentsOf = (text: string): unknown => {
  try {
    return asObject(JSON.parse(text))
  } catch {
    // A call that was rejected for broken arguments stays in the history.
    return {}
  }
}

/** The base64 data of an image; undefined for an address, which Ollama does not fetch. */
const imageData = (part: Part): string | undefined =>
  'image' in part ? parseDataUrl(part.image)?.data : undefined

const textOf = (part: Part): string | undefined => {
  if ('text' in part) return part.text
  return imageData(part) === undefined ? `[image: ${part.image}]` : undefined
}

/** Text and images apart, arguments as an object, reasoning in `thinking`. */
const toMessage = (
  { role, content, tool_calls, tool_call_id, name }: ChatMessage,
  thinking: string,
) => {
  const parts = partsOf(content ?? '')
  const images = parts.flatMap(part => imageData(part) ?? [])
  return {
    role,
    content: parts.flatMap(part => textOf(part) ?? []).join('\n'),
    ...(thinking !== '' && { thinking }),
    ...(images.length > 0 && { images }),
    ...(tool_calls && {
      tool_calls: tool_calls.map(({ id, function: { name: tool, arguments: text } }) => ({
        id,
        function: { name: tool, arguments: argumentsOf(text) },
      })),
    }),
    ...(role === 'tool' && { tool_name: name ?? '', tool_call_id }),
  }
}

const thinkingOf = ({ providerState }: ProviderRequest['messages'][number]): string =>
  providerState?.items.map(item => asString(asObject(item).thinking)).join('') ?? ''

const toMessages = (request: ProviderRequest, quirks: ReadonlySet<Quirk>) => {
  const words = quirks.has('no tools') || quirks.has('tools refused')
  const messages = toChatMessages(request, { ...SHAPE, words })
  return messages.map((message, at) => {
    const source = words ? undefined : request.messages[at]
    return toMessage(message, source ? thinkingOf(source) : '')
  })
}

/** gpt-oss always thinks and takes a level, other models only on or off. Absent: the model's default. */
export const ollamaThinking = (
  { effort, model }: ProviderRequest['endpoint'],
  quirks: ReadonlySet<Quirk>,
): JsonObject => {
  if (effort === undefined || quirks.has('no think')) return {}
  if (!/gpt-oss/i.test(model) || quirks.has('no levels')) return { think: effort !== 'none' }
  const isLow = effort === 'none' || effort === 'minimal'
  return { think: isLow ? 'low' : effort === 'xhigh' ? 'high' : effort }
}

const toBody = (request: ProviderRequest, quirks: ReadonlySet<Quirk>) => {
  const { endpoint } = request
  const tools = offeredTools(request, quirks)
  return {
    model: endpoint.model,
    messages: toMessages(request, quirks),
    stream: true,
    // A prompt that does not fit is to be rejected, not shortened silently; older servers ignore both.
    truncate: false,
    shift: false,
    ...(tools.length > 0 && { tools: tools.map(tool => ({ type: 'function', function: tool })) }),
    ...ollamaAnswer(request),
    ...ollamaThinking(endpoint, quirks),
    options: {
      ...(endpoint.ollamaContext && { num_ctx: endpoint.ollamaContext }),
      ...(endpoint.maxTokens && { num_predict: endpoint.maxTokens }),
    },
  }
}

/** Sentences of Ollama (server/routes.go, api/types.go). */
const ROWS: readonly QuirkRow<Quirk>[] = [
  { quirk: 'no tools', field: /^tools$/, says: NO_TOOLS, scope: 'endpoint' },
  { quirk: 'tools refused', field: /^tools$/, says: TOOLS_REFUSED, scope: 'call' },
  {
    quirk: 'no levels',
    field: /^think$/,
    says: /think value .{0,20} is not supported|invalid think value/i,
    scope: 'endpoint',
  },
  { quirk: 'no think', field: /^think$/, says: /does not support thinking/i, scope: 'endpoint' },
  { quirk: 'no think', field: /^think$/, scope: 'endpoint' },
]

const objection = (
  failure: ProviderFailure,
  known: ReadonlySet<Quirk>,
  request: ProviderRequest,
): Objection<Quirk> | null => findObjection(ROWS, failure, known, request)

const createReader = (): ResponseReader => {
  const think = createThinkSplitter()
  let thinking = ''
  let calls = 0
  let end: ProviderDelta[] | null = null

  const readCall = (call: Readonly<Record<string, unknown>>): ProviderDelta => {
    const { name, arguments: args } = asObject(call.function)
    return {
      type: 'tool_call',
      index: calls++,
      id: asString(call.id),
      name: asString(name),
      arguments: isObject(args) ? JSON.stringify(args) : asString(args),
    }
  }

  /** Counts are absent when the whole prompt was cached. */
  const endOf = (event: Readonly<Record<string, unknown>>): ProviderDelta[] => {
    const inputTokens = asCount(event.prompt_eval_count)
    const isLong = event.done_reason === 'length'
    return [
      ...(inputTokens > 0
        ? [{ type: 'usage' as const, inputTokens, outputTokens: asCount(event.eval_count) }]
        : []),
      { type: 'finish', reason: isLong ? 'length' : calls > 0 ? 'tool_calls' : 'stop' },
    ]
  }

  return {
    read(event) {
      if (!isObject(event)) return []
      throwErrorIn(event)
      const message = asObject(event.message)
      const thought = asString(message.thinking)
      thinking += thought
      const deltas: ProviderDelta[] = [
        ...(thought === '' ? [] : [{ type: 'reasoning' as const, text: thought }]),
        ...think.push(asString(message.content)),
        ...asObjects(message.tool_calls).map(readCall),
      ]
      if (event.done === true) end = endOf(event)
      return deltas
    },
    progress: () => (end ? 'complete' : 'streaming'),
    // The last event always says `done`; a stream without it was cut.
    isIntact: () => false,
    end: () => [
      ...think.end(),
      ...(thinking === '' ? [] : [{ type: 'provider_state' as const, item: { thinking } }]),
      ...(end ?? []),
    ],
  }
}

export const createOllamaChat = (options: HttpProviderOptions): Provider =>
  createHttpProvider<Quirk>(
    {
      url: ({ baseUrl }) => urlOf(baseUrl),
      headers: ({ endpoint }) => authHeaders(endpoint),
      body: toBody,
      // Only messages of the user are documented to have images.
      imagesInResults: false,
      createReader,
      objection,
    },
    options,
  )
