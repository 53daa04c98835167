/** The wire format `anthropic_messages`: `POST /v1/messages` of Anthropic and compatible servers, with API keys only. */
import { asObject } from '../../base/json.ts'
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import { type Block, toTurns, type Turn } from './anthropic-history.ts'
import { isClaude, betasFor, thinkingFields } from './anthropic-thinking.ts'
import { withAnthropicAnswer } from './answer-fields.ts'
import { hostname } from './stream-request.ts'
import { bearerHeader, appendPath } from './http-post.ts'
import { type CacheControl, cacheControl, CACHED_MESSAGES } from './prompt-cache.ts'
import { AnthropicReader } from './anthropic-events.ts'
import type { WireFormat } from './http-provider.ts'
import type { Quirks } from './quirks.ts'
import { offeredTools } from './tool-limit.ts'

const VERSION = '2023-06-01'

const isAnthropic = ({ provider, baseUrl }: ModelEndpoint): boolean =>
  provider === 'anthropic' || hostname(baseUrl) === 'api.anthropic.com'

/** A base URL may include the API version. */
export const messagesUrl = (baseUrl: string): string =>
  appendPath(baseUrl, /\/v\d+\/?(?:\?|$)/.test(baseUrl) ? '/messages' : '/v1/messages')

/** Compatible servers disagree about the header of the key, so they get both. */
export const anthropicHeaders = (
  { endpoint, tools }: ProviderRequest,
  quirks: Quirks,
): Record<string, string> => {
  const { apiKey } = endpoint
  const isOwn = isAnthropic(endpoint) || apiKey?.startsWith('sk-ant-')
  const betas = betasFor(endpoint, quirks, tools.length > 0)
  return {
    'anthropic-version': VERSION,
    ...(apiKey && { 'x-api-key': apiKey }),
    ...(!isOwn && bearerHeader(apiKey)),
    ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
  }
}

/** Anthropic's model ids have hyphenated versions and no `anthropic/` prefix. */
const modelId = (endpoint: ModelEndpoint): string =>
  isAnthropic(endpoint)
    ? endpoint.model.replace(/^anthropic\//, '').replace(/(\d)\.(\d)/g, '$1-$2')
    : endpoint.model

export const toAnthropicBody = (
  request: ProviderRequest,
  quirks: Quirks,
): Record<string, unknown> => {
  const { endpoint } = request
  const { system, turns } = toTurns(request.messages, {
    providerState: !quirks.has('no reasoning state'),
    signedOnly: isClaude(endpoint.model),
    blanks: quirks.has('blank thoughts'),
  })
  const mark = request.sessionKey && !quirks.has('no cache') ? cacheControl(endpoint) : null
  if (mark) addCacheBreakpoints(turns, mark)
  return {
    model: modelId(endpoint),
    stream: true,
    ...(system !== '' && {
      system: [{ type: 'text', text: system, ...(mark && { cache_control: mark }) }],
    }),
    messages: turns,
    ...toolFields(request, turns, quirks),
    ...withAnthropicAnswer(thinkingFields(endpoint, quirks), request),
    ...(endpoint.routing && { provider: endpoint.routing }),
  }
}

/** Adds cache breakpoints. Thinking blocks must be returned unchanged, so they get none. */
const addCacheBreakpoints = (turns: Turn[], mark: CacheControl): void => {
  const last = turns.flatMap(({ content }) => content.at(-1) ?? [])
  const markable = last.filter(({ type }) => !type.endsWith('thinking'))
  for (const block of markable.slice(-CACHED_MESSAGES)) block.cache_control = mark
}

/** The API requires definitions of all tools used in the history, even when none may be called. */
const toolFields = (
  request: ProviderRequest,
  turns: Turn[],
  quirks: Quirks,
): Record<string, unknown> => {
  const tools = offeredTools(request, quirks)
  const none = quirks.has('no tool_choice') ? {} : { tool_choice: { type: 'none' } }
  if (tools.length > 0)
    return {
      ...(request.toolChoice && none),
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: { type: 'object', ...asObject(parameters) },
      })),
    }
  const names = new Set(turns.flatMap(({ content }) => content.flatMap(nameOfUse)))
  if (names.size === 0) return {}
  return {
    tools: [...names].map(name => ({ name, input_schema: { type: 'object' } })),
    ...none,
  }
}

const nameOfUse = ({ type, name }: Block): string[] => (type === 'tool_use' ? [String(name)] : [])

export const anthropicMessages: WireFormat = {
  url: ({ baseUrl }) => messagesUrl(baseUrl),
  headers: anthropicHeaders,
  body: toAnthropicBody,
  imagesInResults: true,
  createReader: () => new AnthropicReader(),
}
