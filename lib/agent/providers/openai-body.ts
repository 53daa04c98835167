/** Requests of the format `chat_completions`, and the quirks learned from rejections. */
import type { JsonObject } from '../../base/json.ts'
import type { ProviderFailure } from '../failure.ts'
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import { chatEffort } from './effort.ts'
import { nearestEffort, supportedEfforts } from './effort-words.ts'
import { chatAnswer } from './answer-fields.ts'
import { hostname } from './stream-request.ts'
import { preservedThinkingFields } from './earlier-reasoning.ts'
import { toChatMessages, wantsDeveloper, wantsCacheBreakpoints } from './openai-messages.ts'
import { answerLimit } from './openai-strict.ts'
import type { Objection } from './quirks.ts'
import { findObjection, MISSING_REASONING, type QuirkRow } from './rejection.ts'
import {
  NO_TOOLS,
  offeredTools,
  smallestLimit,
  TOOLS_REFUSED,
  toolObjection,
} from './tool-limit.ts'

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
  | 'tools refused'
  | 'no tool_choice'
  | 'calls as text'
  | 'always thinks'
  | 'no template'
  | 'no thinking fields'
  | 'short ids'
  | 'strict turns'
  | `tools ${number}`
  | `at most ${number}`
  | `efforts ${string}`

/** Without tools, calls in the history become text. */
const WORDS: readonly Quirk[] = ['no tools', 'tools refused', 'no tool_choice', 'calls as text']

export const toBody = (request: ProviderRequest, quirks: ReadonlySet<Quirk>) => {
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

/** The effort, and the fields with which a server keeps reasoning of earlier turns; both may be in `thinking`. */
const thinkingFields = (endpoint: ModelEndpoint, quirks: ReadonlySet<Quirk>): JsonObject => {
  if (quirks.has('no thinking')) return { thinking: { type: 'disabled' } }
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

const EFFORT_FIELD =
  /^(?:reasoning_?effort|reasoning|reasoning\.(?:effort|enabled)|thinking|thinking\.type|enable_thinking|thinking_budget|disable_reasoning)$/

/** What rejections are about, more specific rows first. */
const ROWS: readonly QuirkRow<Quirk>[] = [
  {
    quirk: 'blank thoughts',
    field: /reasoning|thinking/,
    says: MISSING_REASONING,
    scope: 'session',
  },
  {
    quirk: 'no thinking',
    field: /reasoning|thinking/,
    says: MISSING_REASONING,
    scope: 'call',
  },
  {
    quirk: 'no tools',
    field: /^(?:tools|tool_choice|functions)$/,
    says: NO_TOOLS,
    scope: 'endpoint',
  },
  {
    quirk: 'tools refused',
    field: /^(?:tools|tool_choice|functions)$/,
    says: TOOLS_REFUSED,
    scope: 'call',
  },
  {
    // Groq rejects what the model wrote, others the field.
    quirk: 'no tool_choice',
    field: /^tool_choice/,
    says: /tool choice is none,? but|tool_choice/i,
    scope: 'call',
  },
  {
    // Bedrock, LiteLLM: the history has calls, but the request no tools.
    quirk: 'calls as text',
    field: /^(?:tools|toolconfig|messages)/,
    says: /toolConfig field must be defined|expects the `?tools=?`? param|tools? (?:must|should|need to) be (?:defined|provided|set|specified)[^.]{0,60}(?:tool_calls|tool_use|tool (?:calls|results))/i,
    scope: 'endpoint',
    isHarmless: true,
  },
  {
    quirk: 'short ids',
    field: /^(?:messages|tool_call)/,
    says: /tool[_ ]call[_ ]id.{0,80}length of 9/i,
    scope: 'endpoint',
    isHarmless: true,
  },
  {
    quirk: 'strict turns',
    field: /^messages/,
    says: /unexpected role .{0,12}user.{0,20} after role|roles must alternate|expected last role/i,
    scope: 'endpoint',
    isHarmless: true,
  },
  {
    quirk: 'no stream_options',
    field: /^(?:stream_options(?:\.|$)|include_usage$)/,
    scope: 'endpoint',
    isHarmless: true,
  },
  {
    quirk: 'new max_tokens',
    field: /^max_(?:completion_)?tokens$/,
    says: /max_completion_tokens['"`]? instead|use ['"`]?max_completion_tokens/i,
    scope: 'endpoint',
    isHarmless: true,
  },
  {
    quirk: 'old max_tokens',
    field: /^max_completion_tokens$/,
    scope: 'endpoint',
    isHarmless: true,
  },
  {
    quirk: 'blank signatures',
    field: /./,
    says: /missing.{0,20}thought_signature/i,
    scope: 'session',
  },
  {
    quirk: 'no details',
    field: /reasoning_details|thinking_blocks|extra_content|signature/,
    scope: 'session',
  },
  {
    quirk: 'no details',
    field: /^(?:messages|contents)/,
    says: /signatures? (?:is|are) (?:not valid|invalid)|(?:invalid|corrupted|unknown|wrong) (?:\w+ )?signature/i,
    scope: 'session',
  },
  {
    quirk: 'no thoughts',
    field: /(?:^|\.)reasoning_(?:content|text|opaque)$|^messages\.\d+(?:\.\w+)?\.reasoning$/,
    scope: 'endpoint',
  },
  {
    quirk: 'always thinks',
    field: EFFORT_FIELD,
    says: /reasoning is (?:mandatory|required)|(?:cannot|can't|can not|unable to|not possible to|does not support|doesn't support)[^.]{0,40}(?:disabl\w+|turn\w* off)|thinking[^.]{0,40}(?:cannot|can't|can not) be (?:disabled|turned off)|only works in thinking mode/i,
    scope: 'endpoint',
  },
  {
    quirk: 'no thinking fields',
    field: /(?:^|\.)(?:clear_thinking|keep)$/,
    scope: 'endpoint',
  },
  { quirk: 'no template', field: /^chat_template_kwargs/, scope: 'endpoint' },
  { quirk: 'no effort', field: EFFORT_FIELD, scope: 'endpoint' },
  {
    // Ollama
    quirk: 'no effort',
    field: EFFORT_FIELD,
    says: /does not support thinking/i,
    scope: 'endpoint',
  },
  { quirk: 'no thinking fields', field: /^thinking(?:\.|$)/, scope: 'endpoint' },
  { quirk: 'no cache', field: /(?:^|\.)cache_control(?:\.|$)/, scope: 'endpoint' },
  {
    quirk: 'no developer',
    field: /^messages/,
    says: /\brole\b.{0,60}\bdeveloper\b|\bdeveloper\b.{0,60}\brole\b|['"`]developer['"`]/i,
    scope: 'endpoint',
    isHarmless: true,
  },
  { quirk: 'no stream', field: /^stream$/, scope: 'endpoint' },
  {
    // Of the model or of the moment: nobody says which.
    quirk: 'no stream',
    field: /^stream$/,
    says: /stream(?:ing)?\b.{0,40}(?:not (?:supported|allowed|available)|unsupported|must be false)|(?:not|n't) support (?:streaming|stream\b)/i,
    scope: 'call',
  },
]

/** The next quirk to apply after a rejection; null when that would not help. */
export const chatObjection = (
  failure: ProviderFailure,
  known: ReadonlySet<Quirk>,
  request: ProviderRequest,
): Objection<Quirk> | null => {
  const most = answerLimit(failure.message)
  if (most !== null && !known.has(`at most ${most}`))
    return { quirk: `at most ${most}`, scope: 'call' }
  const rows = ROWS.filter(row => isSent(row.quirk, request))
  const found =
    toolObjection(failure, known, request) ?? findObjection(rows, failure, known, request)
  return found?.quirk === 'no effort' ? withNearestEffort(found, failure, known) : found
}

/** A server that names the efforts it knows gets the nearest of them, unless it rejected that as well. */
const withNearestEffort = (
  objection: Objection<Quirk>,
  { message }: ProviderFailure,
  known: ReadonlySet<Quirk>,
): Objection<Quirk> => {
  const quirk = supportedEfforts(message)
  return quirk === null || known.has(quirk) ? objection : { ...objection, quirk }
}

/** A quirk that would change nothing cannot be the reason. */
const isSent = (
  quirk: Quirk,
  { endpoint, tools, toolChoice, messages }: ProviderRequest,
): boolean => {
  switch (quirk) {
    case 'no tools':
    case 'tools refused':
      return tools.length > 0
    case 'no tool_choice':
      return toolChoice !== undefined
    case 'calls as text':
      return tools.length === 0 && messages.some(({ tool_calls }) => tool_calls?.length)
    case 'always thinks':
      return endpoint.effort === 'none'
    case 'no effort':
      return Object.keys(chatEffort(endpoint)).length > 0
    case 'no developer':
      return wantsDeveloper(endpoint.model)
    default:
      return true
  }
}
