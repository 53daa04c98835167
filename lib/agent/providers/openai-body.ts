/** Requests of the format `chat_completions`, and the quirks learned from rejections. */
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import { chatAnswer } from './answer-fields.ts'
import { hostname } from './stream-request.ts'
import { preservedThinkingFields } from './earlier-reasoning.ts'
import { toChatMessages, wantsDeveloper, wantsCacheBreakpoints } from './openai-messages.ts'
import { answerLimit } from './openai-strict.ts'
import { MISSING_REASONING, type Objection } from './quirks.ts'
import { smallestLimit, offeredTools, toolLimit } from './tool-limit.ts'

/** Deviations of servers that a request can adapt to. */
export type Quirk =
  | 'no stream_options'
  | 'no effort'
  | 'old max_tokens'
  | 'new max_tokens'
  | 'no stream'
  | 'no developer'
  | 'no cache'
  | 'no details'
  | 'no thoughts'
  | 'blank thoughts'
  | 'no thinking'
  | 'blank signatures'
  | 'no tools'
  | 'no thinking fields'
  | 'short ids'
  | 'strict turns'
  | `tools ${number}`
  | `at most ${number}`

/** Model families that accept an aggregator's `reasoning` object. */
const REASONING_FAMILY = /^(?:deepseek\/|anthropic\/|openai\/|x-ai\/|google\/gemini-2|qwen\/qwen3)/
const AGGREGATORS = new Set(['openrouter', 'nous', 'ai-gateway'])

export const toBody = (request: ProviderRequest, quirks: ReadonlySet<Quirk>) => {
  const { endpoint } = request
  const tools = offeredTools(request, quirks)
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
      words: quirks.has('no tools'),
      turns: quirks.has('strict turns'),
      shortIds: quirks.has('short ids'),
    }),
    stream,
    ...(stream && !quirks.has('no stream_options') && { stream_options: { include_usage: true } }),
    ...(tools.length > 0 && {
      tools: tools.map(tool => ({ type: 'function', function: tool })),
    }),
    ...chatAnswer(request),
    ...limit(endpoint, quirks),
    // Never dropped after a rejection: it may exclude providers for privacy.
    ...(endpoint.routing && { provider: endpoint.routing }),
    ...(quirks.has('no thinking')
      ? { thinking: { type: 'disabled' } }
      : {
          ...(!quirks.has('no effort') && reasoning(endpoint)),
          ...preservedThinkingFields(endpoint, quirks),
        }),
  }
}

const limit = (endpoint: ModelEndpoint, quirks: ReadonlySet<Quirk>) => {
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

/** Request fields for the configured effort (agent-home §9.6). */
export const reasoning = (endpoint: ModelEndpoint): Record<string, unknown> => {
  const { provider, model, effort } = endpoint
  const aggregator = AGGREGATORS.has(provider) || hostname(endpoint.baseUrl) === 'openrouter.ai'
  if (aggregator) {
    if (!REASONING_FAMILY.test(model)) return {}
    if (effort === 'none') return provider === 'nous' ? {} : { reasoning: { enabled: false } }
    return { reasoning: { enabled: true, effort: effort ?? 'medium' } }
  }
  if (!effort || effort === 'none') return {}
  // Only OpenAI has a level above `high`.
  return { reasoning_effort: effort === 'xhigh' && !isOpenAi(endpoint) ? 'high' : effort }
}

/** Error messages by quirk, more specific patterns first. */
const OBJECTIONS: { pattern: RegExp; quirk: Quirk; scope?: 'call' }[] = [
  { pattern: MISSING_REASONING, quirk: 'blank thoughts' },
  { pattern: MISSING_REASONING, quirk: 'no thinking', scope: 'call' },
  {
    pattern:
      /does not support tools|support tool use|tool (?:use|calling) is not supported|tools? (?:are|is) not supported|enable-auto-tool-choice/i,
    quirk: 'no tools',
  },
  { pattern: /tool[_ ]call[_ ]id.{0,80}length of 9/i, quirk: 'short ids' },
  {
    pattern:
      /unexpected role .{0,12}user.{0,20} after role|roles must alternate|expected last role/i,
    quirk: 'strict turns',
  },
  { pattern: /stream_options|include_usage/i, quirk: 'no stream_options' },
  {
    pattern: /max_completion_tokens['"`]? instead|use ['"`]?max_completion_tokens/i,
    quirk: 'new max_tokens',
  },
  { pattern: /max_completion_tokens/i, quirk: 'old max_tokens' },
  { pattern: /missing.{0,20}thought_signature/i, quirk: 'blank signatures' },
  { pattern: /reasoning_details|thinking_blocks|extra_content|signature/i, quirk: 'no details' },
  { pattern: /reasoning_content|messages?\W{0,3}\d+.{0,20}\breasoning\b/i, quirk: 'no thoughts' },
  {
    pattern:
      /clear_thinking|thinking\.keep|(?:unknown|unsupported|unrecognized|extra|unexpected)\b.{0,60}\bthinking\b|\bthinking\b.{0,60}(?:unknown|unsupported|extra_forbidden|not (?:allowed|permitted|supported))/i,
    quirk: 'no thinking fields',
  },
  { pattern: /reasoning/i, quirk: 'no effort' },
  { pattern: /cache_control/i, quirk: 'no cache' },
  { pattern: /\bdeveloper\b/i, quirk: 'no developer' },
  {
    pattern: /stream(?:ing)?\b.{0,40}(?:not (?:supported|allowed)|unsupported|must be false)/i,
    quirk: 'no stream',
  },
]

/** The next quirk to apply after a rejection; null when that would not help. */
export const chatObjection = (
  { message }: { message: string },
  known: ReadonlySet<Quirk>,
): Objection<Quirk> | null => {
  const most = answerLimit(message)
  if (most !== null && !known.has(`at most ${most}`))
    return { quirk: `at most ${most}`, scope: 'call' }
  const tools = toolLimit(message)
  if (tools !== null && !known.has(`tools ${tools}`))
    return { quirk: `tools ${tools}`, scope: 'endpoint' }
  const found = OBJECTIONS.find(({ pattern, quirk }) => pattern.test(message) && !known.has(quirk))
  return found ? { quirk: found.quirk, scope: found.scope ?? 'endpoint' } : null
}
