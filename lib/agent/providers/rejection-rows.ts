/** What rejections of any format are about, and what of the request is then left out or written in another way. */
import type { ProviderFailure } from '../failure.ts'
import type { ProviderRequest } from '../types.ts'
import { supportedEfforts } from './effort-words.ts'
import type { Objection, Quirk, Quirks } from './quirks.ts'
import { findObjection, MISSING_REASONING, ownWords, paramIs, type QuirkRow } from './rejection.ts'
import { offeredTools } from './tool-limit.ts'

/** Ollama, Groq, Together, OpenAI: what they say of the model. */
const NO_TOOLS =
  /\bdoes(?: not|n't) support (?:tools|function calling|tool use)\b|(?:tool (?:use|calling)|tools?|function calling)['"`]? (?:is|are) not supported (?:by|for|with|on) th(?:is|e) model|(?:unsupported|unknown|unrecognized)[^.]{0,40}['"`]tools['"`]/i

/** OpenRouter's routing, vLLM's and llama.cpp's options, a server that is starting: the answer may be another one in a minute. */
const TOOLS_REFUSED =
  /support tool use|support tools|enable-auto-tool-choice|--jinja|tool (?:use|calling|choice) (?:is )?(?:not supported|disabled|not enabled)|tools? (?:are|is) (?:currently )?not (?:supported|available|enabled)/i

const TOOLS = /^(?:tools|tool_choice|functions)$/
const EFFORT =
  /^(?:reasoning_?effort|reasoning|reasoning\.(?:effort|enabled)|thinking|thinking\.type|think|enable_thinking|thinking_budget|disable_reasoning|output_config|output_config\..*|effort)$/

/** More specific rows first. One that would change nothing in the request, as of another format, is passed over. */
const ROWS: readonly QuirkRow[] = [
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
    field: /reasoning|thinking/,
    says: MISSING_REASONING,
    scope: 'session',
  },
  { quirk: 'thinking off', field: /reasoning|thinking/, says: MISSING_REASONING, scope: 'call' },
  { quirk: 'no encrypted', field: /^include(?:\.|$)/, scope: 'endpoint' },
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
  { quirk: 'no tools', field: TOOLS, says: NO_TOOLS, scope: 'endpoint' },
  { quirk: 'tools refused', field: TOOLS, says: TOOLS_REFUSED, scope: 'call' },
  {
    // Groq rejects what the model wrote, others the field.
    quirk: 'no tool_choice',
    field: /^tool_choice/,
    says: /tool.choice/i,
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
  { quirk: 'no limit', field: /^max_output_tokens$/, scope: 'endpoint' },
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
    field: EFFORT,
    says: /reasoning is (?:mandatory|required)|disabled[^.]{0,60}(?:not (?:supported|allowed|permitted|valid|available)|unsupported)|(?:cannot|can't|can not|unable to|not possible to|does not support|doesn't support)[^.]{0,40}(?:disabl\w+|turn\w* off)|thinking[^.]{0,40}(?:cannot|can't|can not) be (?:disabled|turned off)|only works in thinking mode/i,
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
  { quirk: 'no phase', field: /(?:^|\.)phase$/, scope: 'endpoint' },
  { quirk: 'no summary', field: /^reasoning\.summary$/, scope: 'endpoint' },
  {
    quirk: 'no summary',
    field: /^reasoning/,
    says: /(?:reasoning summar\w+|summaries)[^.]{0,40}(?:not (?:supported|available|allowed)|unsupported)|verified to generate[^.]{0,40}summar/i,
    scope: 'endpoint',
  },
  { quirk: 'no display', field: /(?:^|\.)display$/, scope: 'endpoint' },
  {
    quirk: 'no levels',
    field: /^think$/,
    says: /think value .{0,20} is not supported|invalid think value/i,
    scope: 'endpoint',
  },
  { quirk: 'no thinking fields', field: /(?:^|\.)(?:clear_thinking|keep)$/, scope: 'endpoint' },
  { quirk: 'no template', field: /^chat_template_kwargs/, scope: 'endpoint' },
  // Anthropic, where the effort is another field.
  { quirk: 'no thinking', field: /^thinking(?:\.|$)/, scope: 'endpoint' },
  { quirk: 'lower effort', field: EFFORT, scope: 'endpoint' },
  { quirk: 'no effort', field: EFFORT, scope: 'endpoint' },
  // Ollama.
  { quirk: 'no effort', field: EFFORT, says: /does not support thinking/i, scope: 'endpoint' },
  { quirk: 'no thinking fields', field: /^thinking(?:\.|$)/, scope: 'endpoint' },
  { quirk: 'no cache', field: /(?:^|\.)cache_control(?:\.|$)/, scope: 'endpoint' },
  { quirk: 'no cache key', field: /^prompt_cache_key$/, scope: 'endpoint' },
  { quirk: 'no parallel', field: /^parallel_tool_calls$/, scope: 'endpoint' },
  {
    quirk: 'no developer',
    field: /^messages/,
    says: /\brole\b.{0,60}\bdeveloper\b|\bdeveloper\b.{0,60}\brole\b|['"`]developer['"`]/i,
    scope: 'endpoint',
    isHarmless: true,
  },
  { quirk: 'no stream', field: /^stream$/, scope: 'endpoint' },
  {
    // It may be the model, or the moment: nobody says which.
    quirk: 'no stream',
    field: /^stream$/,
    says: /stream(?:ing)?\b.{0,40}(?:not (?:supported|allowed|available)|unsupported|must be false)|(?:not|n't) support (?:streaming|stream\b)/i,
    scope: 'call',
  },
  {
    quirk: 'no reasoning state',
    field: /^input\.\d+\.(?!content$|output$|arguments$)\w+/,
    scope: 'session',
  },
]

/** The list itself, not something in it such as `tools[0].function.name`. */
const LIST = String.raw`(?:tools|functions|function_?declarations|function declarations)\b(?![.[]|_name|\s+name)`

/** Limits on the number of tools, as OpenAI, Azure, pydantic, Groq, Copilot, xAI, Google, AWS word them. */
const LIMITS: readonly RegExp[] = [
  String.raw`['"\x60 ]${LIST}['"\x60]?: (?:array|list) (?:is )?too long.{0,60}?(?:maximum length|at most|max)\D{0,12}(\d+)`,
  String.raw`(?:^|[\s.])${LIST}['"\x60]?\s*: (?:list|array|tuple) should have at most (\d+) items`,
  String.raw`${LIST}['"\x60]?\s*: (?:value .{0,40})?(?:maximum number of items|maximum items|max items|member must have length less than or equal to)\D{0,12}(\d+)`,
  String.raw`maximum (?:number|amount) of ${LIST}(?: allowed| supported)?(?: is| of|:)? (\d+)`,
  String.raw`maximum ${LIST} limit reached:(?: received \d+, max)? (\d+)`,
  String.raw`(?:at most|up to|more than|maximum of|max(?:imum)?) (\d+) ${LIST}`,
  String.raw`too many ${LIST}.{0,40}?(?:max(?:imum)?|limit|at most|up to)(?: is| of|:)? (\d+)`,
  String.raw`${LIST} (?:list )?(?:exceeds?|exceeded) the (?:maximum|limit)(?: number| length)?(?: of)? (\d+)`,
].map(source => new RegExp(source, 'i'))

/** The number of tools that a rejection allows; null when it is about something else, or does not help. */
export const toolLimitIn = (failure: ProviderFailure, toolCount: number): number | null => {
  if (!paramIs(failure, /^(?:tools|functions)$/)) return null
  const words = ownWords(failure)
  for (const pattern of LIMITS) {
    const most = Number(pattern.exec(words)?.[1] ?? 0)
    if (most >= 1 && most < toolCount) return most
  }
  return null
}

/** The largest answer that a model gives, as OpenAI, vLLM and Anthropic word it. */
const MOST_TOKENS =
  /(?:supports|allows) at most (\d+) (?:completion|output) tokens|max_tokens.{0,40}(?:less than or equal to|<=) (\d+)|max_tokens: \d+ > (\d+)/i
const MARGIN_TOKENS = 64
const MIN_TOKENS = 256

/** A limit of the answer: the model's own, or what the prompt leaves of the window. Null for none that is of use. */
const answerObjection = ({ message }: ProviderFailure): Objection | null => {
  const most = Number(MOST_TOKENS.exec(message)?.slice(1).find(Boolean) ?? 0)
  if (most > 0) return most < MIN_TOKENS ? null : { quirk: `at most ${most}`, scope: 'endpoint' }
  const sum = /exceed context limit: (\d+) \+ \d+ > (\d+)/.exec(message)
  const window = Number(sum?.[2] ?? /maximum context length is (\d+)/i.exec(message)?.[1] ?? 0)
  const prompt = Number(
    sum?.[1] ??
      /(\d+) (?:in (?:the|your) (?:messages|prompt)|of text input|input tokens)/i.exec(
        message,
      )?.[1] ??
      0,
  )
  const room = window - prompt - MARGIN_TOKENS
  return prompt === 0 || room < MIN_TOKENS ? null : { quirk: `at most ${room}`, scope: 'call' }
}

const toolObjection = (
  failure: ProviderFailure,
  quirks: Quirks,
  request: ProviderRequest,
): Objection | null => {
  const most = toolLimitIn(failure, offeredTools(request, quirks).length)
  return most === null ? null : { quirk: `tools ${most}`, scope: 'endpoint' }
}

/** The next quirk to apply after a rejection; null when that would not help. `changes`: whether a quirk changes the request. */
export const requestObjection = (
  failure: ProviderFailure,
  quirks: Quirks,
  request: ProviderRequest,
  changes: (quirk: Quirk) => boolean,
): Objection | null => {
  const limit = answerObjection(failure)
  if (limit && !quirks.has(limit.quirk) && changes(limit.quirk)) return limit
  if (failure.code === 'invalid_encrypted_content' && !quirks.has('no reasoning state'))
    return { quirk: 'no reasoning state', scope: 'call' }
  const objection =
    toolObjection(failure, quirks, request) ??
    findObjection(ROWS, failure, quirks, request, changes)
  if (objection?.quirk !== 'no effort') return objection
  // A server that names the efforts it knows gets the nearest of them, unless it rejected that as well.
  const efforts = supportedEfforts(failure.message)
  return efforts !== null && !quirks.has(efforts) && changes(efforts)
    ? { ...objection, quirk: efforts }
    : objection
}
