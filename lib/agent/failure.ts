/** Failures of model calls, classified by one table into types with hints for the user. */
import type { FailureType } from '../schema/failure-type.ts'
import type { ErrorFields } from './error-fields.ts'
import { retryAfterInText } from './retry-after.ts'
import type { Failure } from './types.ts'

/** The only error a provider throws, besides the reason of an aborted signal. */
export class ProviderFailure extends Error {
  readonly type: FailureType
  readonly retryable: boolean
  /** HTTP status, when there was an answer. */
  readonly status: number | undefined
  /** Wait requested by the provider, in milliseconds. */
  readonly retryAfterMs: number | undefined
  /** Part of the response was shown; it is void when the call is repeated. Set by `complete`. */
  hasStreamed = false
  /** The host cannot be reached: retrying soon rarely helps. */
  readonly isUnreachable: boolean
  /** Rejected without an error message: `context_overflow` is a guess then. */
  readonly isBodyEmpty: boolean
  /** The provider's name of the error, the most specific one it gave, such as `context_length_exceeded`. */
  readonly code: string | undefined
  /** The parameter of the request that the provider refused, such as `tools[0].function.name`. */
  readonly param: string | undefined

  constructor(
    type: FailureType,
    message: string,
    extra: {
      retryable?: boolean
      status?: number
      retryAfterMs?: number
      isUnreachable?: boolean
      isBodyEmpty?: boolean
      code?: string | undefined
      param?: string | undefined
    } = {},
  ) {
    super(message)
    this.name = 'ProviderFailure'
    this.type = type
    this.retryable = extra.retryable ?? RETRYABLE.has(type)
    this.status = extra.status
    this.retryAfterMs = extra.retryAfterMs
    this.isUnreachable = extra.isUnreachable ?? false
    this.isBodyEmpty = extra.isBodyEmpty ?? false
    this.code = extra.code
    this.param = extra.param
  }
}

const RETRYABLE: ReadonlySet<FailureType> = new Set(['rate_limit', 'network', 'no_response'])

const QUOTA =
  /insufficient[_ ](?:credit|quota|balance|funds)|credit balance|credits? (?:exhausted|depleted|limit)|out of credits?|quota[_ ]exceeded|exceeded your current quota|billing|payment required|key limit|spending (?:limit|cap)|usage[_ ]limit/i
const TRANSIENT = /try again|retry|resets? (?:at|in|on)|per (?:minute|hour|day)|temporar/i
const RATE = /rate[ _-]?limit|too many requests|requests per|tokens per|throttl|slow down/i
const OVERFLOW =
  /context[_ ](?:length|window|size)|maximum context|context limit|max(?:imum)?[_ ]tokens? exceeded|too many (?:input )?tokens|prompt is too long|input is too long|exceeds? the (?:model'?s? )?(?:limit|maximum|context)|reduce the length|request too large|payload too large|maximum prompt length|exceeded model token limit|(?:prompt|input) exceeds max|range of input length|input token count/i
/** A prompt template that finds no question: Ollama dropped it with the start of a prompt that was too long. */
const QUESTION_DROPPED = /no user query found in messages/i
/** The requested output does not fit next to the prompt. The conversation is not too long. */
const ANSWER_TOO_LONG = /max_(?:completion_|output_)?tokens\W.{0,60}too large/i
/** Content filters reject a repeated request the same way. */
const FILTERED =
  /content[_ ](?:filter|management policy|moderation)|content filtering|flagged by moderation|(?:violat\w+|against) .{0,40}(?:content|usage) polic|ResponsibleAIPolicy|prohibited_content/i
/** Daily quotas of Google last until the next day, regardless of the retry delay in the response. */
const DAILY_QUOTA = /PerDay/
/** The model wrote a call that the server could not parse (Groq, llama.cpp, Ollama): another attempt may be right. */
const UNPARSED_CALL =
  /tool_use_failed|failed_generation|failed to (?:call a function|parse (?:input|tool|function))|error parsing tool call/i
const AUTH =
  /unauthorized|authentication|invalid[_ ](?:x-)?api[_ -]?key|incorrect api key|api key not valid|no cookie auth credentials|permission denied|forbidden|missing api key/i
const MODEL =
  /model[_ ]not[_ ]found|no such model|unknown model|invalid model|not a valid model|model .{0,80}(?:does not exist|not found|is not available|not supported)|no endpoints found/i
const OVERLOADED = /overloaded|server is busy|capacity|unavailable|try again later/i

type Evidence = { status?: number | undefined; text: string }
type Rule = {
  type: FailureType
  retryable?: boolean
  when: (evidence: Evidence) => boolean
}

const isTemporaryQuota = (text: string) => QUOTA.test(text) && TRANSIENT.test(text)

/** First match wins. Quota comes before rate limit, because waiting does not add credit. */
const RULES: Rule[] = [
  { type: 'error', retryable: true, when: ({ text }) => UNPARSED_CALL.test(text) },
  {
    type: 'error',
    retryable: false,
    when: ({ status, text }) => status === 400 && ANSWER_TOO_LONG.test(text),
  },
  {
    type: 'error',
    retryable: false,
    when: ({ status, text }) => (status === 400 || status === 403) && FILTERED.test(text),
  },
  { type: 'quota_exhausted', when: ({ status, text }) => status === 429 && DAILY_QUOTA.test(text) },
  {
    type: 'context_overflow',
    when: ({ status, text }) => status === 429 && /request too large/i.test(text),
  },
  { type: 'rate_limit', when: ({ status, text }) => status === 402 && isTemporaryQuota(text) },
  { type: 'quota_exhausted', when: ({ status }) => status === 402 },
  {
    type: 'quota_exhausted',
    when: ({ status, text }) =>
      QUOTA.test(text) &&
      (status === 403 || (status === 429 && !isTemporaryQuota(text)) || status === 400),
  },
  { type: 'auth_mismatch', when: ({ status }) => status === 401 || status === 403 },
  { type: 'model_not_found', when: ({ status }) => status === 404 },
  { type: 'context_overflow', when: ({ status }) => status === 413 },
  { type: 'context_overflow', when: ({ text }) => QUESTION_DROPPED.test(text) },
  { type: 'rate_limit', when: ({ status }) => status === 429 },
  {
    type: 'context_overflow',
    when: ({ status, text }) => (status === undefined || status < 500) && OVERFLOW.test(text),
  },
  { type: 'quota_exhausted', when: ({ status, text }) => !status && QUOTA.test(text) },
  { type: 'rate_limit', when: ({ status, text }) => (status ?? 0) < 500 && RATE.test(text) },
  { type: 'auth_mismatch', when: ({ status, text }) => !status && AUTH.test(text) },
  { type: 'auth_mismatch', when: ({ status, text }) => status === 400 && AUTH.test(text) },
  { type: 'model_not_found', when: ({ status, text }) => (status ?? 0) < 500 && MODEL.test(text) },
  {
    type: 'network',
    retryable: true,
    when: ({ status }) => status === 408 || status === 425 || (status ?? 0) >= 500,
  },
  {
    type: 'network',
    retryable: true,
    when: ({ status, text }) => !status && OVERLOADED.test(text),
  },
  /** The provider will reject the request again. */
  { type: 'error', retryable: false, when: ({ status }) => (status ?? 0) >= 300 },
  { type: 'error', retryable: true, when: () => true },
]

/** HTTP status by error name, for errors inside a stream. */
const STATUS_BY_NAME: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  authentication_error: 401,
  billing_error: 402,
  insufficient_quota: 402,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  request_too_large: 413,
  context_length_exceeded: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  api_error: 500,
  server_error: 500,
  server_is_overloaded: 503,
  slow_down: 503,
  timeout_error: 504,
  overloaded_error: 529,
}

/** HTTP status for an error name; undefined for unknown names. */
export const statusOfErrorName = (name: string): number | undefined =>
  Object.hasOwn(STATUS_BY_NAME, name) ? STATUS_BY_NAME[name] : undefined

/** Classifies an error response. `text` may hold more than the message shown to the user, such as the whole body. */
export const classify = (evidence: {
  status?: number | undefined
  message: string
  text?: string
  retryAfterMs?: number | undefined
  /** The response had no body. */
  isBodyEmpty?: boolean
  /** Reset time of a rate limit, used when no retry delay is given. */
  resetMs?: number | undefined
  fields?: ErrorFields | undefined
}): ProviderFailure => {
  const text = evidence.text ?? evidence.message
  const rule = RULES.find(entry => entry.when({ status: evidence.status, text }))
  const wait = evidence.retryAfterMs ?? retryAfterInText(text) ?? evidence.resetMs
  // Some servers reject long prompts without an error message.
  const isBodyEmpty = evidence.isBodyEmpty && evidence.status === 400
  return new ProviderFailure(
    isBodyEmpty ? 'context_overflow' : (rule?.type ?? 'error'),
    evidence.message,
    {
      isBodyEmpty: isBodyEmpty ?? false,
      retryable: rule?.retryable,
      status: evidence.status,
      retryAfterMs: wait,
      code: evidence.fields?.codes[0],
      param: evidence.fields?.param,
    },
  )
}

/** One sentence of advice for the user; `error` and `interrupted` need none. */
const HINTS: Partial<Record<FailureType, string>> = {
  quota_exhausted:
    'Your account with this provider has no credit left. Top it up, or choose another model.',
  rate_limit: 'Wait a moment and send again, or choose another model.',
  auth_mismatch:
    'Check that the key in the agent home’s .env belongs to this provider and can use this model.',
  model_not_found: 'Check the model’s name, or choose one from the list.',
  context_overflow:
    'Compact the chat, start a new one, or choose a model with a larger context window.',
  network: 'Check the provider’s address and your connection, then send again.',
  budget_reached: 'Raise or remove the budget in Settings → Budgets, then send again.',
  no_response: 'Check that this key can use the model, or choose another one.',
}

export const hintFor = (type: FailureType): string | undefined => HINTS[type]

const LONG_WAIT_MS = 60_000

/** `45 s`, `12 min`, `3 h` */
export const formatDuration = (ms: number): string => {
  if (ms < 90_000) return `${Math.ceil(ms / 1_000)} s`
  return ms < 5_400_000 ? `${Math.ceil(ms / 60_000)} min` : `${Math.ceil(ms / 3_600_000)} h`
}

/** The failure of an outcome. */
export const toFailure = (failure: ProviderFailure): Failure => {
  const { type, retryAfterMs = 0 } = failure
  const hint =
    type === 'rate_limit' && retryAfterMs >= LONG_WAIT_MS
      ? `The provider asks to wait ${formatDuration(retryAfterMs)}. Send again then, or choose another model.`
      : hintFor(type)
  return { type: failure.type, message: failure.message, ...(hint !== undefined && { hint }) }
}
