/** Sign-in, sign-out, and the signed-in devices. */
import { z } from 'zod'
import { SESSION_COOKIE, sessionCookie, SIGN_IN_METHODS } from '../lib/people/sign-ins.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { invalid, missing } from '../lib/errors.ts'
import { clearCookie } from '../lib/http/cookies.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { recorded, recordedSignIn } from '../lib/people/audit.ts'

export const status = endpoint({
  summary: 'Whether a password is set, and whether the caller is signed in',
  public: true,
  cache: 'no-store',
  output: z.object({
    auth_enabled: z.boolean(),
    logged_in: z.boolean(),
    /** Name of the provider that people can sign in with. Absent: none. */
    provider: z.string().optional(),
    /** Several people can sign in, so the page asks for a name too. */
    asks_name: z.literal(true).optional(),
  }),
  run({ app, cookies }) {
    const status = app.auth.status(cookies[SESSION_COOKIE])
    return {
      ...status,
      ...(app.oidc && { provider: app.oidc.name }),
      ...(status.auth_enabled && app.people.hasOthers() && { asks_name: true as const }),
    }
  },
})

export const login = endpoint({
  summary: 'Sign in with the password',
  audit: recordedSignIn('password', ({ name }) => name),
  public: true,
  input: z.object({
    password: z.string().default(''),
    /** Whose password it is. Empty: that of the server, which the first owner has. */
    name: z.string().max(100).default(''),
    /** Of the authenticator app, or a recovery code, when the reply to the password asks for one. */
    code: z.string().max(40).optional(),
  }),
  output: Ok.extend({ message: z.string().optional() }),
  async run(ctx, { password, code, name }) {
    const { auth } = ctx.app
    if (!auth.enabled()) return { ...ok, message: 'Auth not enabled' }
    const { address, via, secure } = ctx.client
    const agent = ctx.req.headers['user-agent']
    const cookie = await auth.login(password, { address, via, agent }, { code, name })
    ctx.setCookie(sessionCookie(cookie, secure))
    return ok
  },
})

export const logout = endpoint({
  access: 'read',
  summary: 'Sign this browser out',
  audit(ctx, _, error) {
    if (ctx.app.auth.enabled()) recorded('sign-out')(ctx, {}, error)
  },
  output: Ok.extend({
    /** Where the person can sign out of the provider that signed this browser in. */
    provider_url: z.string().optional(),
  }),
  async run(ctx) {
    const { auth, oidc } = ctx.app
    const own = auth.list(ctx.cookies[SESSION_COOKIE]).find(({ current }) => current)
    ctx.app.auth.logout(ctx.cookies[SESSION_COOKIE])
    ctx.setCookie(clearCookie(SESSION_COOKIE))
    const provider_url = own?.how === 'oidc' ? await oidc?.signOutUrl() : undefined
    return { ...ok, ...(provider_url && { provider_url }) }
  },
})

const Device = z.object({
  id: z.string(),
  created_at: z.number(),
  expires_at: z.number(),
  address: z.string(),
  agent: z.string(),
  current: z.boolean(),
  name: z.string(),
  how: z.enum(SIGN_IN_METHODS),
  seen_at: z.number(),
  seen_address: z.string(),
  /** Name of the person; absent: the first owner. */
  person: z.string().optional(),
})

export const devices = endpoint({
  access: 'read',
  summary: 'Signed-in devices, newest first: of everyone for an owner, else the person’s own',
  cache: 'no-store',
  output: z.object({ devices: z.array(Device) }),
  run(ctx) {
    const { auth, people } = ctx.app
    const cookie = ctx.cookies[SESSION_COOKIE]
    return {
      devices: auth
        .list(cookie)
        .filter(({ id }) => ctx.may('own', null) || auth.isOwnDevice(id, cookie))
        .map(({ person, ...device }) =>
          person === undefined ? device : { ...device, person: people.nameOf({ id: person }) },
        ),
    }
  },
})

/** Throws a 404 for a device of another person, unless an owner asks. */
const requireDevice = (ctx: Ctx, id: string): void => {
  if (!ctx.may('own', null) && !ctx.app.auth.isOwnDevice(id, ctx.cookies[SESSION_COOKIE]))
    throw missing('This device is no longer signed in.', { code: 'device_not_found' })
}

export const revoke = endpoint({
  access: 'read',
  summary: 'Sign one device out, or all but this one',
  audit: recorded('device-revoked', ({ id, others }) => (others ? 'others' : id)),
  input: z.object({ id: z.string().optional(), others: z.boolean().default(false) }),
  output: z.object({ ok: z.literal(true), revoked: z.number() }),
  run(ctx, { id, others }) {
    const { auth, notifications } = ctx.app
    if (others) {
      const own = auth.list(ctx.cookies[SESSION_COOKIE]).find(each => each.current)?.id ?? null
      // Also of sign-ins that expired before.
      notifications.store.removeDevicesOf(
        (signIn, person) => signIn !== own && person === ctx.person.id,
      )
      return { ...ok, revoked: auth.revokeOthers(ctx.cookies[SESSION_COOKIE]) }
    }
    if (!id) throw invalid('id is required', { code: 'missing_fields' })
    requireDevice(ctx, id)
    return { ...ok, revoked: auth.revoke(id) ? 1 : 0 }
  },
})

export const renameDevice = endpoint({
  access: 'read',
  summary: 'Name a signed-in device; an empty name removes the one it has',
  input: z.object({ id: z.string(), name: z.string().trim().max(60) }),
  output: Ok,
  run(ctx, { id, name }) {
    requireDevice(ctx, id)
    if (!ctx.app.auth.rename(id, name))
      throw missing('This device is no longer signed in.', { code: 'device_not_found' })
    return ok
  },
})
