/** What is asked of an endpoint that speaks OpenAI's Responses, and what may be left out when it objects. */
import { asObject, asString, type JsonObject } from '../../base/json.ts'
import type { Effort, ModelEndpoint, ProviderRequest } from '../types.ts'
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
  | `tools ${number}`

type Quirks = ReadonlySet<ResponsesQuirk>

/** For thoughts that a model cannot be kept from. */
const THOUGHT_TOKENS = 4_096
/** The smallest limit that is accepted. */
const LEAST_TOKENS = 16
const MAX_KEY_CHARS = 64

/** Where people who are signed in are served: it wants instructions, and sets the limits itself. */
const isSignedIn = ({ baseUrl }: ModelEndpoint): boolean => hostname(baseUrl) === 'chatgpt.com'

export const responsesHeaders = (endpoint: ModelEndpoint): Record<string, string> => {
  const account = isSignedIn(endpoint) ? accountIn(endpoint.apiKey) : ''
  return { ...authHeaders(endpoint), ...(account !== '' && { 'chatgpt-account-id': account }) }
}

/** The token of a sign-in names the account it is for. */
const accountIn = (token: string | null): string => {
  const [, payload = ''] = (token ?? '').split('.')
  try {
    const claims = asObject(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')))
    return asString(asObject(claims['https://api.openai.com/auth']).chatgpt_account_id)
  } catch {
    // Not such a token: the server says what it thinks of it.
    return ''
  }
}

export const toResponsesBody = (request: ProviderRequest, quirks: Quirks): JsonObject => {
  const { endpoint, sessionKey } = request
  const tools = offeredTools(request, quirks)
  const { instructions, input } = toItems(request.messages, {
    providerState: !quirks.has('no reasoning state'),
    encryptedOnly: isSignedIn(endpoint) || hostname(endpoint.baseUrl) === 'api.openai.com',
  })
  const thinks = isReasoning(endpoint.model) && !quirks.has('no reasoning')
  const given = instructions || (isSignedIn(endpoint) ? 'You are a helpful assistant.' : '')
  return {
    model: endpoint.model,
    ...(given !== '' && { instructions: given }),
    input,
    stream: true,
    // Nothing of a conversation stays with the provider: what it needs again is carried.
    store: false,
    ...(tools.length > 0 && {
      tools: tools.map(tool => ({ type: 'function', ...tool, strict: false })),
      ...(!quirks.has('no parallel') && { parallel_tool_calls: true }),
    }),
    ...(thinks && !quirks.has('no encrypted') && { include: ['reasoning.encrypted_content'] }),
    ...(thinks && reasoningOf(endpoint, quirks)),
    ...(sessionKey &&
      !quirks.has('no cache key') && { prompt_cache_key: sessionKey.slice(0, MAX_KEY_CHARS) }),
    ...limitOf(endpoint, quirks),
    ...(endpoint.routing && { provider: endpoint.routing }),
  }
}

const limitOf = (endpoint: ModelEndpoint, quirks: Quirks): JsonObject => {
  const { model, maxTokens, effort } = endpoint
  if (!maxTokens || quirks.has('no limit') || isSignedIn(endpoint)) return {}
  const thinksAnyway = effort === 'none' && isReasoning(model) && effortOf(model, effort) !== 'none'
  const most = maxTokens + (thinksAnyway ? THOUGHT_TOKENS : 0)
  return { max_output_tokens: Math.max(most, LEAST_TOKENS) }
}

const nameOf = (model: string): string => model.slice(model.lastIndexOf('/') + 1).toLowerCase()

/** A name nobody knows belongs to a new model, and those think. */
const isReasoning = (model: string): boolean =>
  !/^(?:gpt-[34]|chatgpt|gpt-5(?:\.\d+)?-chat)/.test(nameOf(model))

/** The first of its generation knows `minimal`; its successors know `none`, and `xhigh`. */
const isFirst = (name: string) => /^gpt-5(?:-mini|-nano|-\d{4}|$)/.test(name)
const knowsNone = (name: string) => /^gpt-5\.\d+(?!.*codex)/.test(name)
const knowsHighest = (name: string) => /^gpt-5\.(?:[2-9]|1-codex-max|\d\d)|^gpt-[6-9]/.test(name)

/** The effort in the words of the model; undefined where it is best not mentioned. */
const effortOf = (model: string, effort: Effort): string | undefined => {
  const name = nameOf(model)
  if (effort === 'none') {
    if (isFirst(name)) return 'minimal'
    return knowsNone(name) ? 'none' : undefined
  }
  if (effort === 'minimal') return isFirst(name) ? 'minimal' : 'low'
  return effort === 'xhigh' && !knowsHighest(name) ? 'high' : effort
}

const reasoningOf = ({ model, effort = 'medium' }: ModelEndpoint, quirks: Quirks): JsonObject => {
  const said = effortOf(model, effort)
  if (said === undefined) return {}
  const summary = effort === 'none' || quirks.has('no summary') ? {} : { summary: 'auto' }
  return { reasoning: { effort: said, ...summary } }
}

const OBJECTIONS: { pattern: RegExp; quirk: ResponsesQuirk; isPermanent: boolean }[] = [
  {
    pattern: /encrypted.{0,40}not supported|\binclude\b/i,
    quirk: 'no encrypted',
    isPermanent: true,
  },
  {
    pattern:
      /encrypted content.{0,400}(?:could not|cannot|invalid)|item with id|without its required/i,
    quirk: 'no reasoning state',
    isPermanent: false,
  },
  { pattern: /summar/i, quirk: 'no summary', isPermanent: true },
  { pattern: /max_output_tokens/i, quirk: 'no limit', isPermanent: true },
  { pattern: /prompt_cache_key/i, quirk: 'no cache key', isPermanent: true },
  { pattern: /parallel_tool_calls/i, quirk: 'no parallel', isPermanent: true },
  { pattern: /reasoning|effort/i, quirk: 'no reasoning', isPermanent: true },
  { pattern: /reasoning|input\W{0,3}\d/i, quirk: 'no reasoning state', isPermanent: false },
]

export const responsesObjection = (
  { message }: { message: string },
  known: Quirks,
): Objection<ResponsesQuirk> | null => {
  const most = toolLimit(message)
  if (most !== null && !known.has(`tools ${most}`))
    return { quirk: `tools ${most}`, isPermanent: true }
  return OBJECTIONS.find(({ pattern, quirk }) => pattern.test(message) && !known.has(quirk)) ?? null
}
