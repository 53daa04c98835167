/** `UserError`: a problem to report to the person, as a sentence, a kind that maps to an HTTP status, and a stable code. */
import { type Coded, Sentence, withCodes, type Words } from './base/sentences.ts'
import { type ErrorCode, GENERIC_CODES } from './schema/error-code.ts'

export type UserErrorKind =
  | 'invalid' // 400
  | 'unauthorized' // 401
  | 'forbidden' // 403
  | 'missing' // 404
  | 'method' // 405
  | 'conflict' // 409
  | 'mismatch' // 422
  | 'too-many' // 429
  | 'unavailable' // 503
  | 'full' // 507: the disk is full or read-only; nothing acknowledged was lost

const DEFAULT_CODE: Readonly<Record<UserErrorKind, ErrorCode>> = {
  invalid: 'invalid_request',
  unauthorized: 'unauthorized',
  forbidden: 'forbidden',
  missing: 'not_found',
  method: 'method_not_allowed',
  conflict: 'conflict',
  mismatch: 'invalid_request',
  'too-many': 'too_many_requests',
  unavailable: 'unavailable',
  full: 'disk_full',
}

/**
 * `code` overrides the one derived from the kind; `values` are what the sentence names, for the page's own text. Every
 * key except `code` goes into the JSON body beside `error`.
 */
export type UserErrorDetails = {
  readonly code?: ErrorCode
  readonly values?: Readonly<Record<string, Words | number | readonly string[]>>
  readonly [key: string]: unknown
}

const GENERIC: ReadonlySet<string> = new Set(GENERIC_CODES)

export class UserError extends Error {
  readonly kind: UserErrorKind
  readonly code: ErrorCode
  /** Extra keys of the JSON body beside `error` and `code`, for example `{ active_stream_id }`. */
  readonly extra: Readonly<Record<string, unknown>>
  /** For where the message is shown without the rest. Undefined: only the sentence says it. */
  readonly coded: Coded | undefined

  constructor(
    kind: UserErrorKind,
    message: Words,
    { code = DEFAULT_CODE[kind], values: namedValues, ...extra }: UserErrorDetails = {},
  ) {
    super(`${message}`)
    this.name = 'UserError'
    this.kind = kind
    this.code = code
    const { sentences, ...values } = withCodes(namedValues ?? {})
    const all = {
      ...sentences,
      ...(message instanceof Sentence && { error: message.coded }),
    }
    this.extra = {
      ...extra,
      ...(namedValues && { values }),
      ...(Object.keys(all).length > 0 && { sentences: all }),
    }
    if (!GENERIC.has(code)) this.coded = { code, values: { ...values, ...sentences } }
    else if (message instanceof Sentence) this.coded = message.coded
  }
}

const factory = (kind: UserErrorKind) => (message: Words, details?: UserErrorDetails) =>
  new UserError(kind, message, details)

export const invalid = factory('invalid')
export const unauthorized = factory('unauthorized')
export const forbidden = factory('forbidden')
export const missing = factory('missing')
export const conflict = factory('conflict')
export const mismatch = factory('mismatch')
export const tooMany = factory('too-many')
export const unavailable = factory('unavailable')
export const diskFull = factory('full')

/** What is set up here is wrong: a new start would end the same way. */
export class SetupError extends Error {}

/** Exit code of a program that ended so: EX_CONFIG of sysexits.h. The units of systemd do not start it again. */
export const EXIT_SETUP = 78

/** The message of anything that was caught, for log lines and results. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** An error with these words, for code that catches it and says them with `wordsOf`. */
export const failed = (words: Words): Error =>
  Object.assign(new Error(`${words}`), words instanceof Sentence && { coded: words.coded })

/** The message of anything that was caught with its code, if it has one: for what a page shows. */
export const wordsOf = (error: unknown): Words =>
  error instanceof Error && 'coded' in error && error.coded !== undefined
    ? new Sentence(error.message, error.coded as Coded)
    : messageOf(error)
