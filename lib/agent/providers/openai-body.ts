/** What is asked of an OpenAI-compatible endpoint, and what may be left out when a server objects. */
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import { hostname } from './stream-request.ts'
import { toChatMessages, wantsDeveloper, wantsMarks } from './openai-messages.ts'
import { answerLimit } from './openai-strict.ts'
import { MISSES_THOUGHT, type Objection } from './quirks.ts'
import { figureOf, offered, toolLimit } from './tool-limit.ts'

/** Parts of a request that not every server understands. */
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
  | 'short ids'
  | 'strict turns'
  | `tools ${number}`
  | `at most ${number}`

/** Families behind an aggregator that accept its `reasoning` object. */
const REASONING_FAMILY = /^(?:deepseek\/|anthropic\/|openai\/|x-ai\/|google\/gemini-2|qwen\/qwen3)/
const AGGREGATORS = new Set(['openrouter', 'nous', 'ai-gateway'])

export const toBody = (request: ProviderRequest, quirks: ReadonlySet<Quirk>) => {
  const { endpoint } = request
  const tools = offered(request, quirks)
  const stream = !quirks.has('no stream')
  return {
    model: endpoint.model,
    messages: toChatMessages(request, {
      developer: wantsDeveloper(endpoint.model) && !quirks.has('no developer'),
      cache: wantsMarks(endpoint) && !quirks.has('no cache'),
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
    ...limit(endpoint, quirks),
    // Never left out for an objection: it may say who must not read this.
    ...(endpoint.routing && { provider: endpoint.routing }),
    ...(quirks.has('no thinking')
      ? { thinking: { type: 'disabled' } }
      : !quirks.has('no effort') && reasoning(endpoint)),
  }
}

const limit = (endpoint: ModelEndpoint, quirks: ReadonlySet<Quirk>) => {
  const most = Math.min(
    endpoint.maxTokens || Number.POSITIVE_INFINITY,
    figureOf(quirks, 'at most '),
  )
  if (!Number.isFinite(most)) return {}
  const modern =
    (isOpenAi(endpoint) || quirks.has('new max_tokens')) && !quirks.has('old max_tokens')
  return modern ? { max_completion_tokens: most } : { max_tokens: most }
}

const isOpenAi = ({ baseUrl }: ModelEndpoint) => hostname(baseUrl) === 'api.openai.com'

/** The effort a person chose, in the words of the endpoint (agent-home §9.6). */
export const reasoning = (endpoint: ModelEndpoint): Record<string, unknown> => {
  const { provider, model, effort } = endpoint
  const aggregator = AGGREGATORS.has(provider) || hostname(endpoint.baseUrl) === 'openrouter.ai'
  if (aggregator) {
    if (!REASONING_FAMILY.test(model)) return {}
    if (effort === 'none') return provider === 'nous' ? {} : { reasoning: { enabled: false } }
    return { reasoning: { enabled: true, effort: effort ?? 'medium' } }
  }
  if (!effort || effort === 'none') return {}
  // Only OpenAI itself knows a level above high.
  return { reasoning_effort: effort === 'xhigh' && !isOpenAi(endpoint) ? 'high' : effort }
}

/** How servers say which part they do not understand, and what to do about it. */
const OBJECTIONS: { says: RegExp; quirk: Quirk; lasts?: boolean }[] = [
  { says: MISSES_THOUGHT, quirk: 'blank thoughts' },
  { says: MISSES_THOUGHT, quirk: 'no thinking', lasts: false },
  {
    says: /does not support tools|support tool use|tool (?:use|calling) is not supported|tools? (?:are|is) not supported|enable-auto-tool-choice/i,
    quirk: 'no tools',
  },
  { says: /tool[_ ]call[_ ]id.{0,80}length of 9/i, quirk: 'short ids' },
  {
    says: /unexpected role .{0,12}user.{0,20} after role|roles must alternate|expected last role/i,
    quirk: 'strict turns',
  },
  { says: /stream_options|include_usage/i, quirk: 'no stream_options' },
  {
    says: /max_completion_tokens['"`]? instead|use ['"`]?max_completion_tokens/i,
    quirk: 'new max_tokens',
  },
  { says: /max_completion_tokens/i, quirk: 'old max_tokens' },
  { says: /missing.{0,20}thought_signature/i, quirk: 'blank signatures' },
  { says: /reasoning_details|extra_content|signature/i, quirk: 'no details' },
  { says: /reasoning_content|messages?\W{0,3}\d+.{0,20}\breasoning\b/i, quirk: 'no thoughts' },
  { says: /reasoning/i, quirk: 'no effort' },
  { says: /cache_control/i, quirk: 'no cache' },
  { says: /\bdeveloper\b/i, quirk: 'no developer' },
  {
    says: /stream(?:ing)?\b.{0,40}(?:not (?:supported|allowed)|unsupported|must be false)/i,
    quirk: 'no stream',
  },
]

/** The next thing to change after a refused request; null when that would not help. */
export const chatObjection = (
  { message }: { message: string },
  known: ReadonlySet<Quirk>,
): Objection<Quirk> | null => {
  const most = answerLimit(message)
  if (most !== null && !known.has(`at most ${most}`))
    return { quirk: `at most ${most}`, lasts: false }
  const tools = toolLimit(message)
  if (tools !== null && !known.has(`tools ${tools}`))
    return { quirk: `tools ${tools}`, lasts: true }
  const found = OBJECTIONS.find(({ says, quirk }) => says.test(message) && !known.has(quirk))
  return found ? { quirk: found.quirk, lasts: found.lasts ?? true } : null
}
