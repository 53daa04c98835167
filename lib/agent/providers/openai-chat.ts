/** The wire format `chat_completions`: OpenAI's `POST /chat/completions` and the many servers compatible with it. */
import type { JsonObject } from '../../base/json.ts'
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import { chatEffort } from './effort.ts'
import { nearestEffort } from './effort-words.ts'
import { chatAnswer } from './answer-fields.ts'
import { hostname } from './stream-request.ts'
import { preservedThinkingFields } from './earlier-reasoning.ts'
import { toChatMessages, wantsDeveloper, wantsCacheBreakpoints } from './openai-messages.ts'
import { type Quirk, type Quirks, smallestLimit } from './quirks.ts'
import { appendPath, authHeaders } from './http-post.ts'
import type { WireFormat } from './http-provider.ts'
import { ChunkReader } from './openai-chunks.ts'
import { offeredTools } from './tool-limit.ts'

/** Without tools, calls in the history become text. */
const WORDS: readonly Quirk[] = ['no tools', 'tools refused', 'no tool_choice', 'calls as text']

const toBody = (request: ProviderRequest, quirks: Quirks) => {
  const { endpoint } = request
  const isChosen = request.toolChoice !== undefined && !quirks.has('no tool_choice')
  const tools = request.toolChoice && !isChosen ? [] : offeredTools(request, quirks)
  const stream = !quirks.has('no stream')
  return {
    model: endpoint.model,
    messages: toChatMessages(request, {
      developer: wantsDeveloper(endpoint.model) && !quirks.has('no developer'),
      cache: wantsCacheBreakpoints(endpoint) && !quirks.has('no cache'),
      details: !quirks.has('no details'),
      thoughts: !quirks.has('no thoughts'),
      blanks: quirks.has('blank thoughts'),
      signatures: quirks.has('blank signatures'),
      words: tools.length === 0 && WORDS.some(quirk => quirks.has(quirk)),
      turns: quirks.has('strict turns'),
      shortIds: quirks.has('short ids'),
    }),
    stream,
    ...(stream && !quirks.has('no stream_options') && { stream_options: { include_usage: true } }),
    ...(tools.length > 0 && {
      tools: tools.map(tool => ({ type: 'function', function: tool })),
      ...(isChosen && { tool_choice: request.toolChoice }),
    }),
    ...chatAnswer(request),
    ...limit(endpoint, quirks),
    // Never dropped after a rejection: it may exclude providers for privacy.
    ...(endpoint.routing && { provider: endpoint.routing }),
    ...thinkingFields(endpoint, quirks),
  }
}

const limit = (endpoint: ModelEndpoint, quirks: Quirks) => {
  const most = Math.min(
    endpoint.maxTokens || Number.POSITIVE_INFINITY,
    smallestLimit(quirks, 'at most '),
  )
  if (!Number.isFinite(most)) return {}
  const modern =
    (isOpenAi(endpoint) || quirks.has('new max_tokens')) && !quirks.has('old max_tokens')
  return modern ? { max_completion_tokens: most } : { max_tokens: most }
}

const isOpenAi = ({ baseUrl }: ModelEndpoint) => hostname(baseUrl) === 'api.openai.com'

/** The effort, and the fields with which a server keeps reasoning of earlier turns; both may be in `thinking`. */
const thinkingFields = (endpoint: ModelEndpoint, quirks: Quirks): JsonObject => {
  if (quirks.has('thinking off')) return { thinking: { type: 'disabled' } }
  const isForced = endpoint.effort === 'none' && quirks.has('always thinks')
  const { chat_template_kwargs, reasoning_effort, ...effort } = chatEffort(
    isForced ? { ...endpoint, effort: 'low' } : endpoint,
  )
  return {
    ...(!quirks.has('no effort') && {
      ...effort,
      ...(typeof reasoning_effort === 'string' && {
        reasoning_effort: nearestEffort(reasoning_effort, quirks),
      }),
      ...(chat_template_kwargs !== undefined &&
        !quirks.has('no template') && { chat_template_kwargs }),
    }),
    ...preservedThinkingFields(endpoint, quirks),
  }
}

export const chatCompletions: WireFormat = {
  url: ({ baseUrl }) => appendPath(baseUrl, '/chat/completions'),
  headers: ({ endpoint }) => authHeaders(endpoint),
  body: toBody,
  imagesInResults: false,
  createReader: () => new ChunkReader(),
}
