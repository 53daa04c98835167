/** The door as `lib/http/request-listener.ts` sees it. */
import type { Auth } from './auth.ts'
import { SESSION_COOKIE } from './cookie.ts'

export const createGate = (auth: Pick<Auth, 'enabled' | 'check' | 'settling'>) => ({
  enabled: auth.enabled,
  settling: auth.settling,
  admits: (cookies: Readonly<Record<string, string>>): boolean =>
    auth.check(cookies[SESSION_COOKIE]),
})
