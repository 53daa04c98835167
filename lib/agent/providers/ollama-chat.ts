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
  fieldsOf,
  isObject,
  type JsonObject,
} from '../../base/json.ts'
import type { ProviderDelta, ProviderRequest } from '../types.ts'
import { ollamaAnswer } from './answer-fields.ts'
import { type ContentPart, contentParts } from './content-parts.ts'
import { authHeaders } from './http-post.ts'
import type { WireFormat } from './http-provider.ts'
import { type ChatMessage, type ChatShape, toChatMessages } from './openai-messages.ts'
import type { Quirks } from './quirks.ts'
import { pieceOf, ResponseReader, throwErrorIn } from './stream-request.ts'
import { ThinkSplitter } from './think-tags.ts'
import { offeredTools } from './tool-limit.ts'

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

/** The base64 data of an image; undefined for an address, which Ollama does not fetch. */
const imageData = (part: ContentPart): string | undefined =>
  'image' in part ? parseDataUrl(part.image)?.data : undefined

const textPart = (part: ContentPart): string | undefined => {
  if ('text' in part) return part.text
  return imageData(part) === undefined ? `[image: ${part.image}]` : undefined
}

/** Text and images apart, arguments as an object, reasoning in `thinking`. */
const toMessage = (
  { role, content, tool_calls, tool_call_id, name }: ChatMessage,
  thinking: string,
) => {
  const parts = contentParts(content ?? '')
  const images = parts.flatMap(part => imageData(part) ?? [])
  return {
    role,
    content: parts.flatMap(part => textPart(part) ?? []).join('\n'),
    ...(thinking !== '' && { thinking }),
    ...(images.length > 0 && { images }),
    ...(tool_calls && {
      tool_calls: tool_calls.map(({ id, function: { name: tool, arguments: text } }) => ({
        id,
        function: { name: tool, arguments: fieldsOf(text) },
      })),
    }),
    ...(role === 'tool' && { tool_name: name ?? '', tool_call_id }),
  }
}

const thinkingOf = ({ providerState }: ProviderRequest['messages'][number]): string =>
  providerState?.items.map(item => asString(asObject(item).thinking)).join('') ?? ''

const toMessages = (request: ProviderRequest, quirks: Quirks) => {
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
  quirks: Quirks,
): JsonObject => {
  if (effort === undefined || quirks.has('no effort')) return {}
  if (!/gpt-oss/i.test(model) || quirks.has('no levels')) return { think: effort !== 'none' }
  const isLow = effort === 'none' || effort === 'minimal'
  return { think: isLow ? 'low' : effort === 'xhigh' ? 'high' : effort }
}

const toBody = (request: ProviderRequest, quirks: Quirks) => {
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

class OllamaReader extends ResponseReader {
  readonly #think = new ThinkSplitter()
  #thinking = ''
  #isComplete = false

  read(event: unknown): ProviderDelta[] {
    if (!isObject(event)) return []
    throwErrorIn(event)
    const message = asObject(event.message)
    const thought = asString(message.thinking)
    this.#thinking += thought
    const deltas = [
      ...pieceOf('reasoning', thought),
      ...this.#think.push(asString(message.content)),
      ...asObjects(message.tool_calls).map(call => this.#readCall(call)),
    ]
    if (event.done === true) {
      this.#isComplete = true
      this.finish = event.done_reason === 'length' ? 'length' : null
      // Counts are absent when the whole prompt was cached.
      const inputTokens = asCount(event.prompt_eval_count)
      if (inputTokens > 0)
        this.usage = { type: 'usage', inputTokens, outputTokens: asCount(event.eval_count) }
    }
    return deltas
  }

  #readCall(call: JsonObject): ProviderDelta {
    const { name, arguments: args } = asObject(call.function)
    return {
      type: 'tool_call',
      index: this.calls++,
      id: asString(call.id),
      name: asString(name),
      arguments: isObject(args) ? JSON.stringify(args) : asString(args),
    }
  }

  progress() {
    return this.#isComplete ? 'complete' : 'streaming'
  }

  /** The last event always says `done`; a stream without it was cut. */
  isIntact(): boolean {
    return false
  }

  override end(): ProviderDelta[] {
    const thinking = this.#thinking
    return [
      ...this.#think.end(),
      ...(thinking === '' ? [] : [{ type: 'provider_state' as const, item: { thinking } }]),
      ...super.end(),
    ]
  }
}

export const ollamaChat: WireFormat = {
  url: ({ baseUrl }) => urlOf(baseUrl),
  headers: ({ endpoint }) => authHeaders(endpoint),
  body: toBody,
  // Only messages of the user are documented to have images.
  imagesInResults: false,
  createReader: () => new OllamaReader(),
}
