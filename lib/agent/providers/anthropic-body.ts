/** Requests of the format `anthropic_messages`, and the quirks learned from rejections. */
import { asObject } from '../../base/json.ts'
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import { type Block, toTurns, type Turn } from './anthropic-history.ts'
import { type AnthropicQuirk, isClaude, betasFor, thinkingFields } from './anthropic-thinking.ts'
import { withAnthropicAnswer } from './answer-fields.ts'
import { hostname } from './stream-request.ts'
import { bearerHeader, appendPath } from './http-post.ts'
import { type CacheControl, cacheControl, CACHED_MESSAGES } from './prompt-cache.ts'
import { MISSING_REASONING, type Objection } from './quirks.ts'

const VERSION = '2023-06-01'

const isAnthropic = ({ provider, baseUrl }: ModelEndpoint): boolean =>
  provider === 'anthropic' || hostname(baseUrl) === 'api.anthropic.com'

/** A base URL may include the API version. */
export const messagesUrl = (baseUrl: string): string =>
  appendPath(baseUrl, /\/v\d+\/?(?:\?|$)/.test(baseUrl) ? '/messages' : '/v1/messages')

/** Compatible servers disagree about the header of the key, so they get both. */
export const anthropicHeaders = (
  { endpoint, tools }: ProviderRequest,
  quirks: ReadonlySet<AnthropicQuirk>,
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
  quirks: ReadonlySet<AnthropicQuirk>,
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
    ...toolFields(request, turns),
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
const toolFields = ({ tools }: ProviderRequest, turns: Turn[]): Record<string, unknown> => {
  if (tools.length > 0)
    return {
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: { type: 'object', ...asObject(parameters) },
      })),
    }
  const used = new Set(turns.flatMap(({ content }) => content.flatMap(nameOfUse)))
  if (used.size === 0) return {}
  return {
    tools: [...used].map(name => ({ name, input_schema: { type: 'object' } })),
    tool_choice: { type: 'none' },
  }
}

const nameOfUse = ({ type, name }: Block): string[] => (type === 'tool_use' ? [String(name)] : [])

/** Error messages by quirk, more specific patterns first. */
const OBJECTIONS: { pattern: RegExp; quirk: AnthropicQuirk; scope: 'call' | 'endpoint' }[] = [
  { pattern: /prefix|block_binding/i, quirk: 'drop changed thinking', scope: 'endpoint' },
  {
    pattern: /signature|expected .{0,3}(?:thinking|redacted)|thinking.{0,80}cannot be modified/i,
    quirk: 'no reasoning state',
    scope: 'call',
  },
  { pattern: MISSING_REASONING, quirk: 'blank thoughts', scope: 'endpoint' },
  { pattern: MISSING_REASONING, quirk: 'thinking off', scope: 'call' },
  { pattern: /adaptive.{0,40}not supported/i, quirk: 'budget thinking', scope: 'endpoint' },
  {
    pattern: /(?:enabled|budget_tokens).{0,40}not supported/i,
    quirk: 'adaptive thinking',
    scope: 'endpoint',
  },
  { pattern: /\bbetas?\b/i, quirk: 'no beta', scope: 'endpoint' },
  { pattern: /cache_control/i, quirk: 'no cache', scope: 'endpoint' },
  { pattern: /display/i, quirk: 'no display', scope: 'endpoint' },
  { pattern: /effort/i, quirk: 'lower effort', scope: 'endpoint' },
  { pattern: /effort|output_config/i, quirk: 'no effort', scope: 'endpoint' },
  { pattern: /thinking|budget_tokens/i, quirk: 'no thinking', scope: 'endpoint' },
]

const MARGIN_TOKENS = 64
const MIN_TOKENS = 1_024

/** An output limit in the message: the model's own, or what the prompt leaves of the window. */
const limitIn = (message: string): Objection<AnthropicQuirk> | null => {
  const most = /max_tokens: \d+ > (\d+)/.exec(message)
  if (most) return { quirk: `at most ${Number(most[1])}`, scope: 'endpoint' }
  const window = /exceed context limit: (\d+) \+ \d+ > (\d+)/.exec(message)
  const left = window ? Number(window[2]) - Number(window[1]) - MARGIN_TOKENS : 0
  return left >= MIN_TOKENS ? { quirk: `at most ${left}`, scope: 'call' } : null
}

export const anthropicObjection = (
  { message }: { message: string },
  known: ReadonlySet<AnthropicQuirk>,
): Objection<AnthropicQuirk> | null => {
  const limit = limitIn(message)
  if (limit) return known.has(limit.quirk) ? null : limit
  return OBJECTIONS.find(({ pattern, quirk }) => pattern.test(message) && !known.has(quirk)) ?? null
}
