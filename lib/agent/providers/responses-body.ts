/** Requests of the format `codex_responses`, and the quirks learned from rejections. */
import { asObject, asString, type JsonObject } from '../../base/json.ts'
import { jwtClaims } from '../../base/jwt.ts'
import type { ProviderFailure } from '../failure.ts'
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import type { Effort } from '../../base/efforts.ts'
import { nearestEffort, supportedEfforts, UP_TO_MAX } from './effort-words.ts'
import { responsesAnswer } from './answer-fields.ts'
import { hostname } from './stream-request.ts'
import { authHeaders } from './http-post.ts'
import type { Objection } from './quirks.ts'
import { toItems } from './responses-input.ts'
import { findObjection, type QuirkRow } from './rejection.ts'
import { NO_TOOLS, offeredTools, TOOLS_REFUSED, toolObjection } from './tool-limit.ts'

export type ResponsesQuirk =
  | 'no reasoning'
  | 'no summary'
  | 'no encrypted'
  | 'no limit'
  | 'no cache key'
  | 'no parallel'
  | 'no reasoning state'
  | 'no phase'
  | 'no tools'
  | 'tools refused'
  | 'no tool_choice'
  | `tools ${number}`
  | `efforts ${string}`

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
  const isChosen = request.toolChoice !== undefined && !quirks.has('no tool_choice')
  const tools = request.toolChoice && !isChosen ? [] : offeredTools(request, quirks)
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
  const most = maxTokens + (thinksAnyway ? REASONING_TOKENS : 0)
  return { max_output_tokens: Math.max(most, MIN_TOKENS) }
}

const nameOf = (model: string): string => model.slice(model.lastIndexOf('/') + 1).toLowerCase()

/** Unknown models are assumed to be new, and new ones reason. */
export const isReasoning = (model: string): boolean =>
  !/^(?:gpt-[34]|chatgpt|gpt-5(?:\.\d+)?-chat)/.test(nameOf(model))

/** GPT-5 supports `minimal`; its successors support `none` and `xhigh`. */
const hasMinimal = (name: string) => /^gpt-5(?:-mini|-nano|-\d{4}|$)/.test(name)
const hasNone = (name: string) => /^gpt-5\.\d+(?!.*codex)/.test(name)
const hasXhigh = (name: string) => /^gpt-5\.(?:[2-9]|1-codex-max|\d\d)|^gpt-[6-9]/.test(name)

/** The effort level for the model; undefined: omit it. */
export const effortOf = (model: string, effort: Effort): string | undefined => {
  const name = nameOf(model)
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

/** What rejections are about, more specific rows first. */
const ROWS: readonly QuirkRow<ResponsesQuirk>[] = [
  {
    quirk: 'no encrypted',
    field: /^include(?:\.|$)/,
    scope: 'endpoint',
  },
  {
    quirk: 'no encrypted',
    field: /^include|encrypted_content/,
    says: /encrypted content is not supported/i,
    scope: 'endpoint',
  },
  {
    quirk: 'no reasoning state',
    field: /^input/,
    says: /encrypted content.{0,400}(?:could not|cannot|invalid)|item with id|without its required/i,
    scope: 'call',
  },
  {
    quirk: 'no tools',
    field: /^(?:tools|tool_choice)$/,
    says: NO_TOOLS,
    scope: 'endpoint',
  },
  {
    quirk: 'tools refused',
    field: /^(?:tools|tool_choice)$/,
    says: TOOLS_REFUSED,
    scope: 'call',
  },
  { quirk: 'no tool_choice', field: /^tool_choice/, says: /tool.choice/i, scope: 'call' },
  { quirk: 'no phase', field: /(?:^|\.)phase$/, scope: 'endpoint' },
  { quirk: 'no summary', field: /^reasoning\.summary$/, scope: 'endpoint' },
  {
    quirk: 'no summary',
    field: /^reasoning/,
    says: /(?:reasoning summar\w+|summaries)[^.]{0,40}(?:not (?:supported|available|allowed)|unsupported)|verified to generate[^.]{0,40}summar/i,
    scope: 'endpoint',
  },
  { quirk: 'no limit', field: /^max_output_tokens$/, scope: 'endpoint' },
  { quirk: 'no cache key', field: /^prompt_cache_key$/, scope: 'endpoint' },
  { quirk: 'no parallel', field: /^parallel_tool_calls$/, scope: 'endpoint' },
  {
    quirk: 'no reasoning',
    field: /^reasoning(?:\.(?:effort))?$|^reasoning_?effort$/,
    scope: 'endpoint',
  },
  {
    quirk: 'no reasoning state',
    field: /^input\.\d+\.(?!content$|output$|arguments$)\w+/,
    scope: 'session',
  },
]

export const responsesObjection = (
  failure: ProviderFailure,
  known: Quirks,
  request: ProviderRequest,
): Objection<ResponsesQuirk> | null => {
  if (failure.code === 'invalid_encrypted_content' && !known.has('no reasoning state'))
    return { quirk: 'no reasoning state', scope: 'call' }
  const rows = ROWS.filter(({ quirk }) => isSent(quirk, request))
  const found =
    toolObjection(failure, known, request) ?? findObjection(rows, failure, known, request)
  const efforts = found?.quirk === 'no reasoning' ? supportedEfforts(failure.message) : null
  return found && efforts !== null && !known.has(efforts) ? { ...found, quirk: efforts } : found
}

/** A quirk that would change nothing cannot be the reason. */
const isSent = (quirk: ResponsesQuirk, { tools, toolChoice }: ProviderRequest): boolean => {
  if (quirk === 'no tools' || quirk === 'tools refused') return tools.length > 0
  return quirk === 'no tool_choice' ? toolChoice !== undefined : true
}
