/** Exchanges a refresh token for new tokens (RFC 6749 §6). One request, bounded in time and size, without redirects. */
import type { Dispatcher } from 'undici'
import { asObject, asString, type JsonObject } from '../../base/json.ts'
import { describeNetworkError } from '../../http/network-error.ts'
import { isUsableSecret } from '../credentials.ts'
import { readJsonBody } from '../read-json-body.ts'
import type { Issuer } from '../providers.ts'

export type NewTokens = {
  accessToken: string
  /** Absent: the old one stays valid. */
  refreshToken: string | undefined
  idToken: string | undefined
  /** Lifetime in seconds; undefined when the issuer does not say. */
  expiresIn: number | undefined
}

export type TokenReply =
  | { kind: 'renewed'; tokens: NewTokens }
  /** The refresh token is no longer valid. Final. */
  | { kind: 'rejected'; code: string; status: number }
  /** Anything else. `message` has no secrets. The issuer may have rotated the token nevertheless. */
  | { kind: 'failed'; message: string }

export type TokenRequest = { issuer: Issuer; refreshToken: string; clientId: string }

const MAX_BYTES = 256 * 1024

/** Error codes that mean the same in the replies of the issuers: this refresh token is dead. */
const FINAL: ReadonlySet<string> = new Set([
  'invalid_grant',
  'invalid_refresh_token',
  'refresh_token_expired',
  'refresh_token_invalidated',
  'refresh_token_reused',
])

/** `{"error": "code"}` (RFC 6749 §5.2) or `{"error": {"code": "code"}}`. */
const errorCode = ({ error }: JsonObject): string =>
  asString(error) || asString(asObject(error).code)

const parseTokens = (reply: JsonObject): NewTokens | undefined => {
  const text = (name: string) => {
    const value = asString(reply[name])
    return isUsableSecret(value) ? value.trim() : undefined
  }
  const accessToken = text('access_token')
  const expiresIn = Number(reply.expires_in)
  if (accessToken === undefined) return undefined
  return {
    accessToken,
    refreshToken: text('refresh_token'),
    idToken: text('id_token'),
    expiresIn: expiresIn > 0 && Number.isFinite(expiresIn) ? expiresIn : undefined,
  }
}

/** Never rejects. */
export const requestToken = async (
  { issuer, refreshToken, clientId }: TokenRequest,
  timeoutMs: number,
  dispatcher: Dispatcher | undefined,
): Promise<TokenReply> => {
  const { host } = new URL(issuer.tokenUrl)
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const { request } = await import('undici')
    const reply = await request(issuer.tokenUrl, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'agent-webui',
        ...(issuer.header ? { [issuer.header]: refreshToken } : {}),
      },
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        client_id: clientId,
      }).toString(),
      signal,
      ...(dispatcher ? { dispatcher } : {}),
    })
    const read = await readJsonBody(reply.body, MAX_BYTES)
    if (read === null) throw new Error('the reply is too long')
    const body = asObject(read)
    const { statusCode: status } = reply
    const tokens = status === 200 ? parseTokens(body) : undefined
    if (tokens) return { kind: 'renewed', tokens }
    const code = errorCode(body)
    if ((status === 400 || status === 401 || status === 403) && FINAL.has(code))
      return { kind: 'rejected', code, status }
    // Only a code of the usual form is shown: other text could repeat what was sent.
    const reason = /^[a-z_]{1,60}$/.test(code) ? ` (${code})` : ''
    return status === 200
      ? { kind: 'failed', message: `${host} returned no token` }
      : { kind: 'failed', message: `${host} returned status ${status}${reason}` }
  } catch (error) {
    const reason = describeNetworkError(signal.aborted ? signal.reason : error)
    return { kind: 'failed', message: `${host}: ${reason}` }
  }
}
