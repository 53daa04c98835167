/** Reads the claims of a JSON Web Token (RFC 7519) without verifying its signature. */
import { asObject, type JsonObject } from './json.ts'

/** Empty for anything that is not a JWT. Never trust anyone because of these claims: only the issuer can verify them. */
export const jwtClaims = (token: string | null): JsonObject => {
  const [, payload = ''] = (token ?? '').split('.')
  try {
    return asObject(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')))
  } catch {
    // An opaque token, which has no claims.
    return {}
  }
}
