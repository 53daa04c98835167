/** Requests of the format `anthropic_messages`, and the quirks learned from rejections. */
import { asObject } from '../../base/json.ts'
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import { type Block, toTurns, type Turn } from './anthropic-history.ts'
import { type AnthropicQuirk, isClaude, betasFor, thinkingFields } from './anthropic-thinking.ts'
import { withAnthropicAnswer } from './answer-fields.ts'
import { hostname } from './stream-request.ts'
import { bearerHeader, appendPath } from './http-post.ts'
import { type CacheControl, cacheControl, CACHED_MESSAGES } from './prompt-cache.ts'
import type { ProviderFailure } from '../failure.ts'
import type { Objection } from './quirks.ts'
import { findObjection, MISSING_REASONING, type QuirkRow } from './rejection.ts'
import { offeredTools, toolObjection } from './tool-limit.ts'

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
  quirks: ReadonlySet<AnthropicQuirk>,
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
  const used = new Set(turns.flatMap(({ content }) => content.flatMap(nameOfUse)))
  if (used.size === 0) return {}
  return {
    tools: [...used].map(name => ({ name, input_schema: { type: 'object' } })),
    ...none,
  }
}

const nameOfUse = ({ type, name }: Block): string[] => (type === 'tool_use' ? [String(name)] : [])

const EFFORT_FIELD = /^(?:output_config(?:\.|$)|effort$)/

/** What rejections are about, more specific rows first. */
const ROWS: readonly QuirkRow<AnthropicQuirk>[] = [
  {
    quirk: 'drop changed thinking',
    field: /thinking|^messages/,
    says: /prefix[^.]{0,60}thinking|thinking[^.]{0,60}prefix|block_binding/i,
    scope: 'session',
  },
  {
    quirk: 'no reasoning state',
    field: /^messages/,
    says: /`?signature`?[^.]{0,40}(?:thinking|redacted)|thinking[^.]{0,40}signature|signature: field required|invalid signature|expected .{0,3}(?:thinking|redacted)|thinking.{0,80}cannot be modified/i,
    scope: 'call',
  },
  {
    quirk: 'blank thoughts',
    field: /thinking|reasoning/,
    says: MISSING_REASONING,
    scope: 'session',
  },
  {
    quirk: 'thinking off',
    field: /thinking|reasoning/,
    says: MISSING_REASONING,
    scope: 'call',
  },
  {
    quirk: 'always thinks',
    field: /^thinking/,
    says: /disabled[^.]{0,60}(?:not (?:supported|allowed|permitted|valid|available)|unsupported)|(?:cannot|can't|can not)[^.]{0,40}(?:disable|turn off)|thinking[^.]{0,40}(?:cannot|can't|can not) be (?:disabled|turned off)/i,
    scope: 'endpoint',
  },
  {
    quirk: 'budget thinking',
    field: /^thinking/,
    says: /adaptive.{0,40}not supported/i,
    scope: 'endpoint',
  },
  {
    quirk: 'adaptive thinking',
    field: /^thinking/,
    says: /(?:enabled|budget_tokens).{0,40}not supported/i,
    scope: 'endpoint',
  },
  {
    quirk: 'no beta',
    field: /beta/,
    says: /anthropic-beta|\b(?:invalid|unsupported|unknown|unexpected) betas?\b|\bbetas?\b[^.]{0,40}(?:not (?:supported|allowed)|unsupported|invalid)/i,
    scope: 'endpoint',
  },
  { quirk: 'no tool_choice', field: /^tool_choice/, scope: 'endpoint' },
  { quirk: 'no cache', field: /(?:^|\.)cache_control(?:\.|$)/, scope: 'endpoint' },
  { quirk: 'no display', field: /(?:^|\.)display$/, scope: 'endpoint' },
  { quirk: 'lower effort', field: EFFORT_FIELD, scope: 'endpoint' },
  { quirk: 'no effort', field: EFFORT_FIELD, scope: 'endpoint' },
  { quirk: 'no thinking', field: /^thinking(?:\.|$)/, scope: 'endpoint' },
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
  failure: ProviderFailure,
  known: ReadonlySet<AnthropicQuirk>,
  request: ProviderRequest,
): Objection<AnthropicQuirk> | null => {
  const limit = limitIn(failure.message)
  if (limit) return known.has(limit.quirk) ? null : limit
  const rows = ROWS.filter(({ quirk }) => isSent(quirk, request))
  return toolObjection(failure, known, request) ?? findObjection(rows, failure, known, request)
}

/** A quirk that would change nothing cannot be the reason. */
const isSent = (
  quirk: AnthropicQuirk,
  { endpoint, tools, toolChoice }: ProviderRequest,
): boolean => {
  if (quirk === 'always thinks') return endpoint.effort === 'none'
  return quirk === 'no tool_choice' ? toolChoice !== undefined || tools.length === 0 : true
}
