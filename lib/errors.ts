/** The one error that is meant for the person: a sentence, a kind that maps to a status, and flags a client may read. */

export type UserErrorKind =
  | 'invalid' // 400
  | 'unauthorized' // 401
  | 'forbidden' // 403
  | 'missing' // 404
  | 'method' // 405
  | 'conflict' // 409
  | 'too-many' // 429
  | 'unavailable' // 503
  | 'full' // 507: the disk is full or read-only; nothing acknowledged was lost

export class UserError extends Error {
  readonly kind: UserErrorKind
  /** Extra keys of the JSON body beside `error`, for example `{ active_stream_id }`. */
  readonly extra: Readonly<Record<string, unknown>>

  constructor(kind: UserErrorKind, message: string, extra: Record<string, unknown> = {}) {
    super(message)
    this.name = 'Refusal'
    this.kind = kind
    this.extra = extra
  }
}

const refuse = (kind: UserErrorKind) => (message: string, extra?: Record<string, unknown>) =>
  new UserError(kind, message, extra)

export const invalid = refuse('invalid')
export const unauthorized = refuse('unauthorized')
export const forbidden = refuse('forbidden')
export const missing = refuse('missing')
export const conflict = refuse('conflict')
export const tooMany = refuse('too-many')
export const unavailable = refuse('unavailable')
export const diskFull = refuse('full')

/** What a caught value says, for a log line or an outcome. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
