/** Errors in the forms of the two APIs, and failed turns as errors. */
import type { IncomingHttpHeaders } from 'node:http'
import { isObject, stringOrNull } from '../base/json.ts'
import { conflict, invalid, missing, tooMany, type UserError, unavailable } from '../errors.ts'
import type { ErrorBody } from '../http/error-reply.ts'
import type { ApiFailure } from './api-request.ts'

/** The turn has run, so repeating the request by itself would run it again. */
const STARTED = { is_started: true }
/** The request was fine. */
const OUR_FAULT = { is_server_error: true }

export const toError = ({ type, message }: ApiFailure): UserError => {
  switch (type) {
    case 'context_overflow':
      return invalid(message, { ...STARTED, api_code: 'context_length_exceeded' })
    case 'content_refused':
      return invalid(message, { ...STARTED, api_code: 'content_filter' })
    case 'model_not_found':
      return missing(message, { ...STARTED, api_code: 'model_not_found' })
    case 'rate_limit':
      return tooMany(message, { ...STARTED, api_code: 'rate_limit_exceeded' })
    case 'quota_exhausted':
    case 'budget_reached':
      return tooMany(message, { ...STARTED, api_code: 'insufficient_quota' })
    case 'cancelled':
      return conflict(message, { ...STARTED, api_code: 'turn_stopped' })
    // Repeating cures none of these, and would run the turn again: Codex, the AI SDK and others repeat after every 5xx.
    case 'auth_mismatch':
    case 'wrong_address':
    case 'blocked':
    case 'model_memory':
    case 'error':
    case 'invalid_answer':
    case 'tool_not_called':
      return invalid(message, { ...STARTED, ...OUR_FAULT, api_code: type })
    default:
      return unavailable(message, { ...STARTED, api_code: type })
  }
}

const OPENAI_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

const typeOf = (
  types: Readonly<Record<number, string>>,
  { status, body }: Failed,
  server: string,
): string =>
  types[status] ??
  (status >= 500 || body.is_server_error === true ? server : 'invalid_request_error')

const codeOf = (status: number, body: Record<string, unknown>): string | null =>
  stringOrNull(body.api_code) ?? (status === 401 ? 'invalid_api_key' : stringOrNull(body.code))

type Failed = { status: number; body: ErrorBody }
type FailedRequest = Failed & { requestId: string }

/** The body of OpenAI's API. */
export const toOpenAiError = (failure: Failed) => ({
  error: {
    message: failure.body.error,
    type: typeOf(OPENAI_TYPES, failure, 'server_error'),
    param: stringOrNull(failure.body.param),
    code: codeOf(failure.status, failure.body),
  },
})

/** The body of Anthropic's API. */
export const toAnthropicError = (failure: Failed, requestId: string) => ({
  type: 'error' as const,
  error: {
    type: typeOf(ANTHROPIC_TYPES, failure, 'api_error'),
    message: failure.body.error,
    ...(isObject(failure.body.details) && { details: failure.body.details }),
  },
  request_id: requestId,
})

/** Both SDKs repeat requests by themselves after 409, 429 and 5xx, unless this says otherwise. */
const retryHeaders = ({ status, body }: Failed): Record<string, string> => {
  const isWorthwhile = (status === 409 || status === 429) && body.is_started !== true
  return {
    'x-should-retry': String(isWorthwhile),
    ...(isWorthwhile && { 'retry-after': status === 429 ? '30' : '2' }),
  }
}

/** Every response has `X-Request-Id`, which is the name of OpenAI's header. */
export const openAiError = (failure: FailedRequest) => ({
  body: toOpenAiError(failure),
  headers: retryHeaders(failure),
})

export const anthropicError = (failure: FailedRequest) => ({
  body: toAnthropicError(failure, failure.requestId),
  headers: { 'request-id': failure.requestId, ...retryHeaders(failure) },
})

/** For paths that both APIs have: Anthropic's clients always send their version. */
export const errorByClient = (failure: FailedRequest, headers: IncomingHttpHeaders) =>
  headers['anthropic-version'] === undefined ? openAiError(failure) : anthropicError(failure)
