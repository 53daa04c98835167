/** Sign-in as the HTTP layer needs it: whether one is required, and whether a request's cookies prove one. */
import type { Authenticator, TokenCheck } from '../http/access.ts'
import type { Auth } from './auth.ts'
import { SESSION_COOKIE } from './cookie.ts'

export const createAuthenticator = (
  auth: Pick<Auth, 'enabled' | 'check' | 'settling'>,
  tokens?: TokenCheck,
): Authenticator => ({
  ...(tokens && { tokens }),
  isRequired: auth.enabled,
  ready: auth.settling,
  isAuthenticated: (cookies, address) => auth.check(cookies[SESSION_COOKIE], address),
})
