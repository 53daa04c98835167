/** Converts errors of external agents to the engine's failures. */
import { isObject } from '../../base/json.ts'
import { messageOf } from '../../errors.ts'
import { classify } from '../failure.ts'
import type { Failure } from '../types.ts'
import type { InitializeResponse } from './updates.ts'

/** Thrown to end a turn with a failure. */
export class TurnFailure extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/** ACP's `auth_required`. */
const AUTH_REQUIRED = -32000
const NOT_FOUND = -32002

/** The JSON-RPC error code; null if the agent didn't send the error. */
export const rpcErrorCode = (error: unknown): number | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null

export const isUnknownSession = (error: unknown): boolean =>
  rpcErrorCode(error) === NOT_FOUND ||
  /(?:unknown|no such|invalid) session|session .{0,80}(?:not found|does not exist|unknown)/i.test(
    errorText(error),
  )

/** The message with its details, because many errors only say "Internal error". */
export const errorText = (error: unknown): string => {
  const data = error instanceof Error && 'data' in error ? error.data : undefined
  const more =
    typeof data === 'string'
      ? data
      : isObject(data)
        ? ['details', 'message'].map(key => (data as Record<string, unknown>)[key]).find(Boolean)
        : undefined
  const message = messageOf(error)
  return typeof more === 'string' && more !== message ? `${message}: ${more}` : message
}

export const toFailure = (
  error: unknown,
  name: string,
  capabilities: InitializeResponse,
): Failure => {
  const said = errorText(error)
  const message = `${name}: ${said}`.slice(0, 1_000)
  const isAuth =
    rpcErrorCode(error) === AUTH_REQUIRED ||
    /auth(?:entication)? required|not logged in|please (?:log|sign) in/i.test(said)
  // Not `auth_mismatch`: that would offer to add a key, which an external agent doesn't take from us.
  if (isAuth)
    return { type: 'error', message: `${name} is not signed in.`, hint: signIn(name, capabilities) }
  return { type: classify({ message: said }).type, message }
}

/** Agents keep their own logins; this service doesn't see them. */
const signIn = (name: string, { authMethods }: InitializeResponse): string => {
  const ways = authMethods.map(({ name: way, description }) =>
    description ? `${way} (${description})` : way,
  )
  const offered = ways.length > 0 ? ` It offers: ${ways.join('; ')}.` : ''
  return `Sign in with ${name}'s own program in a terminal on this machine, then send again.${offered}`.slice(
    0,
    1_500,
  )
}
