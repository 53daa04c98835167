/** Sign-in as the HTTP layer needs it: whether one is required, whose a request proves, and what that person may call. */
import type { Authenticator, TokenCheck } from '../http/access.ts'
import type { Auth } from './auth.ts'
import { SESSION_COOKIE, sessionCookie } from './cookie.ts'
import { may } from './may.ts'

export const createAuthenticator = (
  auth: Pick<Auth, 'enabled' | 'personOf' | 'admitUser' | 'settling' | 'account'>,
  tokens?: TokenCheck,
): Authenticator => ({
  ...(tokens && { tokens }),
  isRequired: auth.enabled,
  ready: auth.settling,
  account: cookies => auth.account(cookies[SESSION_COOKIE]),
  personOf: ({ cookies, client, user }) =>
    auth.personOf(cookies[SESSION_COOKIE], () => client().address, user),
  admitUser({ headers, client, user }) {
    if (user === undefined) return undefined
    const value = auth.admitUser(user, () => ({
      address: client().address,
      agent: headers['user-agent'],
    }))
    if (value === undefined) return undefined
    const header = sessionCookie(value, client().secure)
    return { cookies: { [SESSION_COOKIE]: value }, header }
  },
  may: (person, access) => may(person, access, null),
})
