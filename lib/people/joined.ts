/** What follows an accepted invitation, whichever way of signing in the person chose. */
import type { IncomingMessage } from 'node:http'
import type { Auth, MadeBy } from './auth.ts'
import { SESSION_COOKIE, sessionCookie, signInClient } from './cookie.ts'
import type { Notify } from '../schema/notice.ts'
import type { Invitations } from './invitations.ts'

/** The part of an endpoint's context that this needs. */
type Joining = {
  app: {
    auth: Pick<Auth, 'admit' | 'endPerson' | 'logout'>
    invitations: Pick<Invitations, 'accept'>
    notify: Notify
  }
  cookies: Readonly<Record<string, string>>
  client: { address: string; via: string | undefined; secure: boolean }
  req: IncomingMessage
  setCookie(cookie: string): void
}

/** `key`: of the invitation, for challenges and answers of a provider that count for it only. */
export const byInvitation = (key: string): string => `invitation ${key}`

/**
 * Uses the invitation up and signs this browser in. Sign-ins of an earlier password end. `password`: hash of the new one; null
 * when the person signs in by other means. Returns the name of the person.
 */
export const join = async (
  ctx: Joining,
  key: string,
  { password = null, ...made }: Omit<MadeBy, 'person'> & { password?: string | null },
): Promise<string> => {
  const { auth, invitations } = ctx.app
  const { id, name } = invitations.accept(key, password)
  auth.endPerson(id)
  const cookie = await auth.admit(signInClient(ctx), { ...made, person: id })
  // Otherwise a browser in which someone else is signed in would keep that sign-in.
  auth.logout(ctx.cookies[SESSION_COOKIE])
  ctx.setCookie(sessionCookie(cookie, ctx.client.secure))
  ctx.app.notify('info', `${name} has joined.`, { code: 'person_joined', values: { name } })
  return name
}
