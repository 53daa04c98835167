/** Failures of model calls: their kind by the table in `failure-rows.ts`, with advice for the user. */
import { type Coded, Sentence, sentence, type Words } from '../base/sentences.ts'
import { wordsOf } from '../errors.ts'
import type { FailureType } from '../schema/failure-type.ts'
import type { ErrorFields } from './error-fields.ts'
import { adviceOf, type FailureKind, KIND_OF_TYPE, KINDS } from './failure-kinds.ts'
import { kindOf } from './failure-rows.ts'
import { retryAfterInText } from './retry-after.ts'
import type { Failure } from './types.ts'

/** The only error a provider throws, besides the reason of an aborted signal. */
export class ProviderFailure extends Error {
  readonly type: FailureType
  /** Undefined: the message is the provider's. */
  readonly coded: Coded | undefined
  readonly kind: FailureKind
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
    message: Words,
    extra: {
      kind?: FailureKind
      retryable?: boolean
      status?: number
      retryAfterMs?: number
      isUnreachable?: boolean
      isBodyEmpty?: boolean
      code?: string | undefined
      param?: string | undefined
    } = {},
  ) {
    super(`${message}`)
    this.coded = message instanceof Sentence ? message.coded : undefined
    this.name = 'ProviderFailure'
    this.type = type
    this.status = extra.status
    this.retryAfterMs = extra.retryAfterMs
    this.isUnreachable = extra.isUnreachable ?? false
    this.kind = extra.kind ?? kindOfType(type, extra)
    this.retryable = extra.retryable ?? KINDS[this.kind].repeats !== 'none'
    this.isBodyEmpty = extra.isBodyEmpty ?? false
    this.code = extra.code
    this.param = extra.param
  }

  /** One sentence of advice for the user. */
  get hint(): Sentence | undefined {
    const { retryAfterMs = 0 } = this
    const isLong = retryAfterMs >= LONG_WAIT_MS
    return isLong && (this.type === 'rate_limit' || this.kind === 'spending_limit')
      ? sentence('advice.wait', { duration: formatDuration(retryAfterMs) })
      : adviceOf(this.kind)
  }
}

/** The kind of a failure that was not read from an answer. */
const kindOfType = (
  type: FailureType,
  {
    status,
    isUnreachable,
    retryable,
  }: { status?: number; isUnreachable?: boolean; retryable?: boolean },
): FailureKind => {
  if (type === 'error' && retryable) return 'odd'
  if (type !== 'network') return KIND_OF_TYPE[type]
  if (isUnreachable) return 'unreachable'
  if (status === undefined) return 'connection'
  return status === 503 || status === 529 ? 'overloaded' : 'server_error'
}

const LONG_WAIT_MS = 60_000

/** `45 s`, `12 min`, `3 h` */
export const formatDuration = (ms: number): string => {
  if (ms < 90_000) return `${Math.ceil(ms / 1_000)} s`
  return ms < 5_400_000 ? `${Math.ceil(ms / 60_000)} min` : `${Math.ceil(ms / 3_600_000)} h`
}

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

/** HTTP status for the names of an error; undefined for unknown names. */
export const statusOfErrorNames = (names: readonly string[]): number | undefined => {
  const name = names.find(each => Object.hasOwn(STATUS_BY_NAME, each))
  return name === undefined ? undefined : STATUS_BY_NAME[name]
}

/**
 * What the user or the model wrote: more than one word in quotation marks, up to the last mark, because it may have marks of
 * its own. Not the sentence itself in a JSON object.
 */
const QUOTED =
  /(?<sentence>(["'])(?:message|error|detail|msg)\2: ?["'])|(?<!\w)"(?=[^"]*\s)(?:[\s\S]*"|[\s\S]*)|(?<!\w)`(?=[^`]*\s)(?:[\s\S]*`|[\s\S]*)|(?<!\w)'(?=[^']*\s)(?:[\s\S]*'(?!\w)|[\s\S]*)|“[^”]*(?:”|$)/g
/** Schema validators show the value that they refuse. */
const INPUT = /(?:['"]input['"]: |\binput_value=)[\s\S]*$/

/** The cause is said at the start; what follows is a trace, or the request. */
const MAX_WORDS_CHARS = 2_000

const withoutQuotes = (sentence: string): string =>
  sentence
    .replace(INPUT, '')
    .replace(QUOTED, (match, opening?: string) => (opening === undefined ? '' : match))

/** What an answer of a provider says about a failure. */
export type FailureEvidence = {
  status?: number | undefined
  message: string
  /** The whole body, for the delay in it. */
  text?: string
  fields?: ErrorFields | undefined
  retryAfterMs?: number | undefined
  /** Reset time of a rate limit, used when no retry delay is given. */
  resetMs?: number | undefined
  /** The response had no body. */
  isBodyEmpty?: boolean
  isPage?: boolean
  isChallenge?: boolean
}

/** Classifies an error response by the table in `failure-rows.ts`. */
export const classify = (evidence: FailureEvidence): ProviderFailure => {
  const { status, message, text = message, fields } = evidence
  const waitMs = evidence.retryAfterMs ?? retryAfterInText(text)
  // Some servers reject long prompts without an error message.
  const isBodyEmpty = evidence.isBodyEmpty === true && status === 400
  const kind = isBodyEmpty
    ? 'overflow'
    : kindOf({
        status,
        codes: (fields?.codes ?? []).map(code => code.toLowerCase()),
        param: fields?.param,
        words: withoutQuotes(message.slice(0, MAX_WORDS_CHARS)),
        isPage: evidence.isPage === true,
        isChallenge: evidence.isChallenge === true,
        hasRetryAfter: evidence.retryAfterMs !== undefined,
      })
  return new ProviderFailure(KINDS[kind].type, message, {
    kind,
    isBodyEmpty,
    status,
    retryAfterMs: waitMs ?? evidence.resetMs,
    code: fields?.codes[0],
    param: fields?.param,
  })
}

/** One sentence of advice for the user; `error` and `interrupted` need none. */
export const hintFor = (type: FailureType): Sentence | undefined => adviceOf(KIND_OF_TYPE[type])

/** The failure of an outcome. */
export const toFailure = (failure: ProviderFailure): Failure => {
  const { type, hint } = failure
  return { type, message: wordsOf(failure), ...(hint !== undefined && { hint }) }
}
