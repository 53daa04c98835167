/** Signing in and out. */
import { z } from 'zod'
import { SESSION_COOKIE } from '../lib/auth/cookie.ts'
import { LIFETIME_S } from '../lib/auth/sign-ins.ts'
import { endpoint } from '../lib/ctx.ts'
import { clearCookie, formatCookie } from '../lib/http/cookies.ts'
import { Ok, ok } from '../lib/schema/ok.ts'

export const status = endpoint({
  summary: 'Whether a password is set, and whether the caller is signed in',
  public: true,
  cache: 'no-store',
  output: z.object({ auth_enabled: z.boolean(), logged_in: z.boolean() }),
  run: ctx => ctx.app.auth.status(ctx.cookies[SESSION_COOKIE]),
})

export const login = endpoint({
  summary: 'Sign in with the password',
  public: true,
  input: z.object({ password: z.string().default('') }),
  output: Ok.extend({ message: z.string().optional() }),
  async run(ctx, { password }) {
    const { auth } = ctx.app
    if (!auth.enabled()) return { ...ok, message: 'Auth not enabled' }
    const { address, secure } = ctx.client
    const cookie = await auth.login(password, { address, agent: ctx.req.headers['user-agent'] })
    ctx.setCookie(formatCookie(SESSION_COOKIE, cookie, { maxAge: LIFETIME_S, secure }))
    return ok
  },
})

export const logout = endpoint({
  summary: 'Sign this browser out',
  output: Ok,
  run(ctx) {
    ctx.app.auth.logout(ctx.cookies[SESSION_COOKIE])
    ctx.setCookie(clearCookie(SESSION_COOKIE))
    return ok
  },
})
