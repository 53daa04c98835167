/** Sign-in, sign-out, and the signed-in devices. */
import { z } from 'zod'
import { SESSION_COOKIE, sessionCookie } from '../lib/auth/cookie.ts'
import { SIGN_IN_METHODS } from '../lib/auth/login-sessions.ts'
import { endpoint } from '../lib/context.ts'
import { invalid, missing } from '../lib/errors.ts'
import { clearCookie } from '../lib/http/cookies.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { recorded, recordedSignIn } from '../lib/auth/recorded.ts'

export const status = endpoint({
  summary: 'Whether a password is set, and whether the caller is signed in',
  public: true,
  cache: 'no-store',
  output: z.object({ auth_enabled: z.boolean(), logged_in: z.boolean() }),
  run: ctx => ctx.app.auth.status(ctx.cookies[SESSION_COOKIE]),
})

export const login = endpoint({
  summary: 'Sign in with the password',
  audit: recordedSignIn('password'),
  public: true,
  input: z.object({
    password: z.string().default(''),
    /** Of the authenticator app, or a recovery code, when the reply to the password asks for one. */
    code: z.string().max(40).optional(),
  }),
  output: Ok.extend({ message: z.string().optional() }),
  async run(ctx, { password, code }) {
    const { auth } = ctx.app
    if (!auth.enabled()) return { ...ok, message: 'Auth not enabled' }
    const { address, via, secure } = ctx.client
    const agent = ctx.req.headers['user-agent']
    const cookie = await auth.login(password, { address, via, agent }, code)
    ctx.setCookie(sessionCookie(cookie, secure))
    return ok
  },
})

export const logout = endpoint({
  summary: 'Sign this browser out',
  audit(ctx, _, error) {
    if (ctx.app.auth.enabled()) recorded('sign-out')(ctx, {}, error)
  },
  output: Ok,
  run(ctx) {
    ctx.app.auth.logout(ctx.cookies[SESSION_COOKIE])
    ctx.setCookie(clearCookie(SESSION_COOKIE))
    return ok
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
})

export const devices = endpoint({
  summary: 'Signed-in devices, newest first',
  cache: 'no-store',
  output: z.object({ devices: z.array(Device) }),
  run: ctx => ({ devices: ctx.app.auth.list(ctx.cookies[SESSION_COOKIE]) }),
})

export const revoke = endpoint({
  summary: 'Sign one device out, or all but this one',
  audit: recorded('device-revoked', ({ id, others }) => (others ? 'others' : id)),
  input: z.object({ id: z.string().optional(), others: z.boolean().default(false) }),
  output: z.object({ ok: z.literal(true), revoked: z.number() }),
  run(ctx, { id, others }) {
    const { auth, notifications } = ctx.app
    if (others) {
      const own = auth.list(ctx.cookies[SESSION_COOKIE]).find(each => each.current)?.id ?? null
      // Also of sign-ins that expired before.
      notifications.store.removeDevicesOf(signIn => signIn !== own)
      return { ...ok, revoked: auth.revokeOthers(ctx.cookies[SESSION_COOKIE]) }
    }
    if (!id) throw invalid('id is required', { code: 'missing_fields' })
    return { ...ok, revoked: auth.revoke(id) ? 1 : 0 }
  },
})

export const renameDevice = endpoint({
  summary: 'Name a signed-in device; an empty name removes the one it has',
  input: z.object({ id: z.string(), name: z.string().trim().max(60) }),
  output: Ok,
  run(ctx, { id, name }) {
    if (!ctx.app.auth.rename(id, name)) throw missing('This device is no longer signed in.')
    return ok
  },
})
