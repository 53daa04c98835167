/** Requests of the format `codex_responses`, and the quirks learned from rejections. */
import { asObject, asString, type JsonObject } from '../../base/json.ts'
import { jwtClaims } from '../../base/jwt.ts'
import type { Effort, ModelEndpoint, ProviderRequest } from '../types.ts'
import { responsesAnswer } from './answer-fields.ts'
import { hostname } from './stream-request.ts'
import { authHeaders } from './http-post.ts'
import type { Objection } from './quirks.ts'
import { toItems } from './responses-input.ts'
import { offeredTools, toolLimit } from './tool-limit.ts'

export type ResponsesQuirk =
  | 'no reasoning'
  | 'no summary'
  | 'no encrypted'
  | 'no limit'
  | 'no cache key'
  | 'no parallel'
  | 'no reasoning state'
  | 'no phase'
  | `tools ${number}`

type Quirks = ReadonlySet<ResponsesQuirk>

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
  const tools = offeredTools(request, quirks)
  const { instructions, input } = toItems(request.messages, {
    providerState: !quirks.has('no reasoning state'),
    phases: !quirks.has('no phase'),
    encryptedOnly: isSignedIn(endpoint) || hostname(endpoint.baseUrl) === 'api.openai.com',
  })
  const thinks = isReasoning(endpoint.model) && !quirks.has('no reasoning')
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
  const most = maxTokens + (thinksAnyway ? REASONING_TOKENS : 0)
  return { max_output_tokens: Math.max(most, MIN_TOKENS) }
}

const nameOf = (model: string): string => model.slice(model.lastIndexOf('/') + 1).toLowerCase()

/** Unknown models are assumed to be new, and new ones reason. */
const isReasoning = (model: string): boolean =>
  !/^(?:gpt-[34]|chatgpt|gpt-5(?:\.\d+)?-chat)/.test(nameOf(model))

/** GPT-5 supports `minimal`; its successors support `none` and `xhigh`. */
const hasMinimal = (name: string) => /^gpt-5(?:-mini|-nano|-\d{4}|$)/.test(name)
const hasNone = (name: string) => /^gpt-5\.\d+(?!.*codex)/.test(name)
const hasXhigh = (name: string) => /^gpt-5\.(?:[2-9]|1-codex-max|\d\d)|^gpt-[6-9]/.test(name)

/** The effort level for the model; undefined: omit it. */
const effortOf = (model: string, effort: Effort): string | undefined => {
  const name = nameOf(model)
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
  return { reasoning: { effort: level, ...summary } }
}

const OBJECTIONS: {
  pattern: RegExp
  quirk: ResponsesQuirk
  scope: Objection<ResponsesQuirk>['scope']
}[] = [
  {
    pattern: /encrypted.{0,40}not supported|\binclude\b/i,
    quirk: 'no encrypted',
    scope: 'endpoint',
  },
  {
    pattern:
      /encrypted content.{0,400}(?:could not|cannot|invalid)|item with id|without its required/i,
    quirk: 'no reasoning state',
    scope: 'call',
  },
  { pattern: /\bphase\b/i, quirk: 'no phase', scope: 'endpoint' },
  { pattern: /summar/i, quirk: 'no summary', scope: 'endpoint' },
  { pattern: /max_output_tokens/i, quirk: 'no limit', scope: 'endpoint' },
  { pattern: /prompt_cache_key/i, quirk: 'no cache key', scope: 'endpoint' },
  { pattern: /parallel_tool_calls/i, quirk: 'no parallel', scope: 'endpoint' },
  { pattern: /reasoning|effort/i, quirk: 'no reasoning', scope: 'endpoint' },
  { pattern: /reasoning|input\W{0,3}\d/i, quirk: 'no reasoning state', scope: 'session' },
]

export const responsesObjection = (
  { message }: { message: string },
  known: Quirks,
): Objection<ResponsesQuirk> | null => {
  const most = toolLimit(message)
  if (most !== null && !known.has(`tools ${most}`))
    return { quirk: `tools ${most}`, scope: 'endpoint' }
  return OBJECTIONS.find(({ pattern, quirk }) => pattern.test(message) && !known.has(quirk)) ?? null
}
