/** Changes entries of auth.json: new tokens, or the mark of a rejected sign-in. Keys it does not know are kept. */
import { fromSeconds, toSeconds } from '../../base/clock.ts'
import { asArray, asObject, isObject, type JsonObject } from '../../base/json.ts'
import { jwtClaims } from '../../base/jwt.ts'
import { isoDate } from '../credential-pool/auth-json.ts'
import { SIGN_IN_ID } from '../credentials.ts'
import { entryId } from '../provider-config.ts'
import { toProviderId } from '../provider-ids.ts'
import type { NewTokens } from './request-token.ts'
import { fingerprint, inferenceToken, refreshTokenOf, timeMs, tokensOf } from './stored-token.ts'

const entryFor = (container: unknown, provider: string): unknown =>
  Object.entries(asObject(container)).find(([name]) => toProviderId(name) === provider)?.[1]

const poolOf = (auth: JsonObject, provider: string): unknown[] =>
  asArray(entryFor(auth.credential_pool, provider))

/** The entry of a provider with the id of `Candidate`. */
export const findEntry = (
  auth: JsonObject,
  provider: string,
  id: string,
): JsonObject | undefined => {
  const state = entryFor(auth.providers, provider)
  if (id === SIGN_IN_ID) return isObject(state) ? state : undefined
  // The index counts every element, as when the id was given.
  return poolOf(auth, provider).filter(
    (entry, at): entry is JsonObject => isObject(entry) && entryId(entry, at) === id,
  )[0]
}

/** Every entry with this refresh token. The command line stores one sign-in in `providers` and in the pool. */
export const entriesWith = (
  auth: JsonObject,
  provider: string,
  refreshToken: string,
): JsonObject[] =>
  [entryFor(auth.providers, provider), ...poolOf(auth, provider)]
    .filter(isObject)
    .filter(entry => refreshToken !== '' && refreshTokenOf(entry) === refreshToken)

/** A time in the form of the value it replaces: seconds, milliseconds, or a date text. */
const likeBefore = (before: unknown, ms: number): number | string => {
  const number = Number(isObject(before) ? before.rawJSON : before)
  if (typeof before === 'string' || !(number > 0)) return isoDate(ms)
  return number > 1e11 ? ms : Math.floor(toSeconds(ms))
}

const NO_STATUS = {
  last_status: null,
  last_status_at: null,
  last_error_code: null,
  last_error_reason: null,
  last_error_message: null,
  last_error_reset_at: null,
}

const setExisting = (target: JsonObject, values: JsonObject): void => {
  for (const [name, value] of Object.entries(values)) if (name in target) target[name] = value
}

/** Sets the tokens of an entry and the dates that belong to them. `now`: milliseconds since 1970, as in the next one. */
export const setTokens = (
  entry: JsonObject,
  { accessToken, refreshToken, idToken, expiresIn }: NewTokens,
  now: number,
): void => {
  const tokens = tokensOf(entry) as JsonObject
  tokens.access_token = accessToken
  if (refreshToken) tokens.refresh_token = refreshToken
  if (idToken) setExisting(tokens, { id_token: idToken })
  const expiresAtMs =
    timeMs(jwtClaims(accessToken).exp) ?? (expiresIn ? now + fromSeconds(expiresIn) : undefined)
  const seconds = expiresAtMs === undefined ? null : Math.floor(toSeconds(expiresAtMs - now))
  for (const holder of new Set([entry, tokens])) {
    if (expiresAtMs === undefined) {
      // The dates of the old token would be wrong for the new one.
      setExisting(holder, { expires_at: null, expires_at_ms: null, expires_in: null })
      continue
    }
    setExisting(holder, {
      expires_at: likeBefore(holder.expires_at, expiresAtMs),
      expires_at_ms: expiresAtMs,
      expires_in: seconds,
    })
  }
  setExisting(entry, {
    obtained_at: isoDate(now),
    last_refresh: isoDate(now),
    ...NO_STATUS,
  })
  if (inferenceToken(entry))
    setExisting(entry, {
      agent_key: accessToken,
      agent_key_id: null,
      agent_key_expires_at: expiresAtMs === undefined ? null : isoDate(expiresAtMs),
      agent_key_expires_in: seconds,
      agent_key_obtained_at: isoDate(now),
    })
  delete entry.last_auth_error
}

export type Rejection = { provider: string; code: string; status: number; message: string }

/** Marks a sign-in as rejected, in the form of the command line. The tokens stay: the access token may be valid for a while. */
export const setRejected = (entry: JsonObject, rejection: Rejection, now: number): void => {
  const { provider, code, status, message } = rejection
  entry.last_auth_error = {
    provider,
    code,
    message,
    reason: 'refresh_rejected',
    relogin_required: true,
    at: isoDate(now),
    refresh_token_fp: fingerprint(refreshTokenOf(entry)),
  }
  setExisting(entry, {
    ...NO_STATUS,
    last_status: 'exhausted',
    last_status_at: toSeconds(now),
    last_error_code: status,
    last_error_reason: 'auth',
    last_error_message: message,
  })
}
