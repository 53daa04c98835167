/** Reads a sign-in of auth.json: when its token expires, and whether it can be renewed. Pure. */
import { sha256 } from '../../base/sha256.ts'
import { fromSeconds } from '../../base/clock.ts'
import { asObject, asString, isObject, type JsonObject } from '../../base/json.ts'
import { jwtClaims } from '../../base/jwt.ts'
import { PROVIDERS } from '../providers.ts'

/** What is known about an OAuth token used as a key. */
export type TokenFacts = {
  /** Milliseconds since 1970; Infinity when unknown. */
  expiresAtMs: number
  /** It has a refresh token that its issuer has not rejected. */
  canRenew: boolean
}

/** Expired at `now` (milliseconds since 1970), and only the user can get another one. */
export const isLapsed = (token: TokenFacts | undefined, now: number): boolean =>
  token !== undefined && !token.canRenew && token.expiresAtMs <= now

/** For the user. `name` is the provider's display name. */
export const signInExpired = (name: string): string =>
  `The sign-in of ${name} has expired and can’t be renewed. Sign in again with the command line (\`hermes model\`), or pick another model.`

/** Parses seconds or milliseconds since 1970, or a date text. */
export const timeMs = (value: unknown): number | undefined => {
  // `preserveNumbers` keeps the source text of some numbers.
  const raw = isObject(value) ? value.rawJSON : value
  const number = typeof raw === 'string' && raw.trim() ? Number(raw) : raw
  if (typeof number !== 'number') return undefined
  if (Number.isNaN(number)) {
    const date = Date.parse(String(raw))
    return Number.isNaN(date) ? undefined : date
  }
  if (number <= 0) return undefined
  return number > 1e11 ? number : fromSeconds(number)
}

/** The object with the tokens: some providers nest them in `tokens`. */
export const tokensOf = (entry: Readonly<JsonObject>): Readonly<JsonObject> =>
  isObject(entry.tokens) ? entry.tokens : entry

export const refreshTokenOf = (entry: Readonly<JsonObject>): string =>
  asString(tokensOf(entry).refresh_token).trim()

/**
 * The access token when Nous Portal accepts it as an API key, else ''. Older sign-ins hold an `agent_key` that an access
 * token of another scope was exchanged for.
 */
export const inferenceToken = (entry: Readonly<JsonObject>): string => {
  const token = asString(tokensOf(entry).access_token)
  const { scope, scp } = jwtClaims(token)
  return [scope, scp]
    .flat()
    .join(' ')
    .split(/[\s,]+/)
    .includes('inference:invoke')
    ? token
    : ''
}

/** A refresh token is valid only for the client it was issued to (RFC 6749 §6), which the entry or its token names. */
export const clientIdOf = (entry: Readonly<JsonObject>): string =>
  asString(entry.client_id) || asString(jwtClaims(asString(tokensOf(entry).access_token)).client_id)

/** Identifies a token without revealing it. */
export const fingerprint = (token: string): string => sha256(token).slice(0, 12)

/**
 * True when the issuer has rejected this refresh token. A new sign-in brings another one, which voids the mark; the host
 * agent removes rejected tokens, so its marks have no fingerprint and may be older than the tokens.
 */
export const isRejected = (entry: Readonly<JsonObject>): boolean =>
  asObject(entry.last_auth_error).refresh_token_fp === fingerprint(refreshTokenOf(entry))

/** A portal other than the provider's own is another issuer, which must not get the token. */
const isAtIssuer = (entry: Readonly<JsonObject>, tokenUrl: string): boolean => {
  const portal = asString(entry.portal_base_url)
  return (
    portal === '' || (URL.canParse(portal) && new URL(portal).origin === new URL(tokenUrl).origin)
  )
}

const canRenew = (provider: string, entry: Readonly<JsonObject>, key: string): boolean => {
  const issuer = PROVIDERS.get(provider)?.issuer
  return (
    issuer !== undefined &&
    // A renewal brings an access token. Keys that were exchanged for one are another matter.
    key === tokensOf(entry).access_token &&
    refreshTokenOf(entry) !== '' &&
    clientIdOf(entry) !== '' &&
    isAtIssuer(entry, issuer.tokenUrl) &&
    !isRejected(entry)
  )
}

/** The claims of a JWT decide; opaque tokens expire when the entry says so. */
const expiryOf = (entry: Readonly<JsonObject>, key: string): number => {
  const tokens = tokensOf(entry)
  const expiries =
    key === entry.agent_key
      ? [entry.agent_key_expires_at]
      : [entry.expires_at_ms, entry.expires_at, tokens.expires_at_ms, tokens.expires_at]
  for (const value of [jwtClaims(key).exp, ...expiries]) {
    const time = timeMs(value)
    if (time !== undefined) return time
  }
  return Infinity
}

/** Undefined when `key`, the key of this entry, is an API key and not the token of a sign-in. */
export const tokenFacts = (
  provider: string,
  entry: Readonly<JsonObject>,
  key: string,
): TokenFacts | undefined => {
  const isToken = [entry.agent_key, tokensOf(entry).access_token].includes(key)
  const isSignIn = refreshTokenOf(entry) !== '' || /^oauth/i.test(asString(entry.auth_type))
  if (!isToken || !isSignIn) return undefined
  return { expiresAtMs: expiryOf(entry, key), canRenew: canRenew(provider, entry, key) }
}
