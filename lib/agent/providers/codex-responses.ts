/** The wire format `codex_responses`: OpenAI's `POST /responses`. */
import { asObject, asString, type JsonObject } from '../../base/json.ts'
import { jwtClaims } from '../../base/jwt.ts'
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import type { Effort } from '../../base/efforts.ts'
import { nearestEffort, UP_TO_MAX } from './effort-words.ts'
import { responsesAnswer } from './answer-fields.ts'
import { hostname } from './stream-request.ts'
import { appendPath, authHeaders } from './http-post.ts'
import { type Quirks, smallestLimit } from './quirks.ts'
import { toItems } from './responses-input.ts'
import { ResponsesReader } from './responses-events.ts'
import type { WireFormat } from './http-provider.ts'
import { offeredTools } from './tool-limit.ts'

/** Output tokens for reasoning that cannot be turned off. */
const REASONING_TOKENS = 4_096
/** The smallest limit the API accepts. */
const MIN_TOKENS = 16
const MAX_KEY_CHARS = 64

/** ChatGPT sign-in: requires instructions and does not accept output limits. */
const isSignedIn = ({ baseUrl }: ModelEndpoint): boolean => hostname(baseUrl) === 'chatgpt.com'

export const responsesHeaders = ({ endpoint }: ProviderRequest): Record<string, string> => {
  const account = isSignedIn(endpoint) ? accountIn(endpoint.apiKey) : ''
  return { ...authHeaders(endpoint), ...(account !== '' && { 'chatgpt-account-id': account }) }
}

/** The account id in the claims of a sign-in token. Empty for a key: the server will reject it. */
const accountIn = (token: string | null): string =>
  asString(asObject(jwtClaims(token)['https://api.openai.com/auth']).chatgpt_account_id)

export const toResponsesBody = (request: ProviderRequest, quirks: Quirks): JsonObject => {
  const { endpoint, sessionKey } = request
  const isChosen = request.toolChoice !== undefined && !quirks.has('no tool_choice')
  const tools = request.toolChoice && !isChosen ? [] : offeredTools(request, quirks)
  const { instructions, input } = toItems(request.messages, {
    providerState: !quirks.has('no reasoning state'),
    phases: !quirks.has('no phase'),
    encryptedOnly: isSignedIn(endpoint) || hostname(endpoint.baseUrl) === 'api.openai.com',
  })
  const thinks = isReasoning(endpoint.model) && !quirks.has('no effort')
  const withDefault = instructions || (isSignedIn(endpoint) ? 'You are a helpful assistant.' : '')
  return {
    model: endpoint.model,
    ...(withDefault !== '' && { instructions: withDefault }),
    input,
    stream: true,
    // Nothing is stored at the provider; reasoning is returned with each request.
    store: false,
    ...(tools.length > 0 && {
      tools: tools.map(tool => ({ type: 'function', ...tool, strict: false })),
      ...(isChosen && { tool_choice: request.toolChoice }),
      ...(!quirks.has('no parallel') && { parallel_tool_calls: true }),
    }),
    ...(thinks && !quirks.has('no encrypted') && { include: ['reasoning.encrypted_content'] }),
    ...(thinks && reasoningOf(endpoint, quirks)),
    ...(sessionKey &&
      !quirks.has('no cache key') && { prompt_cache_key: sessionKey.slice(0, MAX_KEY_CHARS) }),
    ...responsesAnswer(request),
    ...limitOf(endpoint, quirks),
    ...(endpoint.routing && { provider: endpoint.routing }),
  }
}

const limitOf = (endpoint: ModelEndpoint, quirks: Quirks): JsonObject => {
  const { model, maxTokens, effort } = endpoint
  if (!maxTokens || quirks.has('no limit') || isSignedIn(endpoint)) return {}
  const thinksAnyway = effort === 'none' && isReasoning(model) && effortOf(model, effort) !== 'none'
  const tokens = maxTokens + (thinksAnyway ? REASONING_TOKENS : 0)
  const most = Math.min(tokens, smallestLimit(quirks, 'at most '))
  return { max_output_tokens: Math.max(most, MIN_TOKENS) }
}

const modelName = (model: string): string => model.slice(model.lastIndexOf('/') + 1).toLowerCase()

/** Unknown models are assumed to be new, and new ones reason. */
export const isReasoning = (model: string): boolean =>
  !/^(?:gpt-[34]|chatgpt|gpt-5(?:\.\d+)?-chat)/.test(modelName(model))

/** GPT-5 supports `minimal`; its successors support `none` and `xhigh`. */
const hasMinimal = (name: string) => /^gpt-5(?:-mini|-nano|-\d{4}|$)/.test(name)
const hasNone = (name: string) => /^gpt-5\.\d+(?!.*codex)/.test(name)
const hasXhigh = (name: string) => /^gpt-5\.(?:[2-9]|1-codex-max|\d\d)|^gpt-[6-9]/.test(name)

/** The effort level for the model; undefined: omit it. */
export const effortOf = (model: string, effort: Effort): string | undefined => {
  const name = modelName(model)
  if (/deepseek/.test(name)) return effort === 'none' ? 'none' : UP_TO_MAX[effort]
  if (effort === 'none') {
    if (hasMinimal(name)) return 'minimal'
    return hasNone(name) ? 'none' : undefined
  }
  if (effort === 'minimal') return hasMinimal(name) ? 'minimal' : 'low'
  return effort === 'xhigh' && !hasXhigh(name) ? 'high' : effort
}

const reasoningOf = ({ model, effort = 'medium' }: ModelEndpoint, quirks: Quirks): JsonObject => {
  const level = effortOf(model, effort)
  if (level === undefined) return {}
  const summary = effort === 'none' || quirks.has('no summary') ? {} : { summary: 'auto' }
  return { reasoning: { effort: nearestEffort(level, quirks), ...summary } }
}

/** Request fields for the configured effort. */
export const responsesEffort = (endpoint: ModelEndpoint): JsonObject =>
  isReasoning(endpoint.model) ? reasoningOf(endpoint, new Set()) : {}

export const codexResponses: WireFormat = {
  url: ({ baseUrl }) => appendPath(baseUrl, '/responses'),
  headers: responsesHeaders,
  body: toResponsesBody,
  imagesInResults: true,
  createReader: () => new ResponsesReader(),
}
