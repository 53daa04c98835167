/** Status and JSON body for an error. Only a `UserError` shows its message; anything else becomes a generic sentence. */
import { dirname } from 'node:path'
import { UserError, type UserErrorKind } from '../errors.ts'
import type { ErrorCode } from '../schema/error-code.ts'

const STATUS: Readonly<Record<UserErrorKind, number>> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  missing: 404,
  method: 405,
  conflict: 409,
  mismatch: 422,
  'too-many': 429,
  unavailable: 503,
  full: 507,
}

/** Disk problems are reported to the person wherever they occur: they are not bugs of the program. */
const DISK_FULL = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'SQLITE_FULL'])

export type ErrorBody = { error: string; code: ErrorCode; [key: string]: unknown }

export const toErrorReply = (error: unknown): { status: number; body: ErrorBody } => {
  if (error instanceof UserError) {
    const { kind, message, code, extra } = error
    return { status: STATUS[kind], body: { error: message, code, ...extra } }
  }
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException
  if (code !== undefined && DISK_FULL.has(code)) {
    const where = path ? ` in ${dirname(path)}` : ''
    return {
      status: 507,
      body: {
        error: `The disk is full or read-only. Nothing was changed${where}.`,
        code: 'disk_full',
      },
    }
  }
  return { status: 500, body: { error: 'Internal server error', code: 'internal_error' } }
}
