/** Pairing another device: a code that signs it in once, shown on a signed-in page as a link and a QR code. */
import { networkInterfaces } from 'node:os'
import { z } from 'zod'
import { SESSION_COOKIE, sessionCookie, signInClient } from '../lib/people/sign-ins.ts'
import { visibleName } from '../lib/base/visible.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { unauthorized } from '../lib/errors.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { recorded, recordedSignIn } from '../lib/people/audit.ts'

/** Where other devices may reach this server: configured origins first, then this machine's own addresses. */
const addressesOf = (ctx: Ctx): string[] => {
  const { config } = ctx.app
  const { localPort } = ctx.req.socket
  const scheme = 'encrypted' in ctx.req.socket ? 'https' : 'http'
  const own = config.isExposed
    ? Object.values(networkInterfaces())
        .flatMap(list => list ?? [])
        .filter(({ family, internal }) => family === 'IPv4' && !internal)
        .map(({ address }) => `${scheme}://${address}:${localPort}`)
    : []
  return [...config.allowedOrigins, ...own].map(origin => `${origin}/`)
}

export const create = endpoint({
  once: 'memory',
  access: 'read',
  summary: 'Make a pairing code for one more device: it works once, for five minutes',
  input: z.object({ password: z.string().optional() }),
  output: z.object({
    id: z.string(),
    /** Goes into the fragment of the link, which browsers send to no server. */
    code: z.string(),
    /** Seconds. */
    expires_in: z.number(),
    /** Addresses of this server that other devices may be able to open. */
    addresses: z.array(z.string()),
  }),
  async run(ctx, { password }) {
    const { auth, pairing } = ctx.app
    const cookie = ctx.cookies[SESSION_COOKIE]
    await auth.confirm(cookie, { password, client: signInClient(ctx) })
    return { ...pairing.create(auth.signInOf(cookie)), addresses: addressesOf(ctx) }
  },
})

const Id = z.object({ id: z.string().max(64) })

export const status = endpoint({
  access: 'read',
  summary: 'Whether a pairing code that this sign-in made has been used, and by which device',
  input: Id,
  cache: 'no-store',
  output: z.object({ state: z.enum(['waiting', 'paired', 'gone']), name: z.string().optional() }),
  run: (ctx, { id }) =>
    ctx.app.pairing.status(id, ctx.app.auth.signInOf(ctx.cookies[SESSION_COOKIE])),
})

export const cancel = endpoint({
  access: 'read',
  summary: 'End a pairing code',
  input: Id,
  output: Ok,
  run(ctx, { id }) {
    ctx.app.pairing.cancel(id, ctx.app.auth.signInOf(ctx.cookies[SESSION_COOKIE]))
    return ok
  },
})

export const use = endpoint({
  summary: 'Sign this device in with a pairing code',
  audit(ctx, { name }, error) {
    recordedSignIn('pairing')(ctx, {}, error)
    if (ctx.app.auth.enabled()) recorded('device-paired', () => name)(ctx, {}, error)
  },
  public: true,
  input: z.object({ code: z.string().max(200), name: z.string().trim().max(60).default('') }),
  output: Ok.extend({ message: z.string().optional() }),
  async run(ctx, { code, name }) {
    const { auth, pairing, pairingThrottle } = ctx.app
    if (!auth.enabled()) return { ...ok, message: 'Auth not enabled' }
    const slot = pairingThrottle.take(ctx.client)
    const by = pairing.use(code, name)
    if (by === undefined)
      throw unauthorized(
        'This pairing link has expired or was already used. Make a new one in Settings → Access.',
        { code: 'pairing_expired' },
      )
    slot.clear()
    const method = { how: 'pairing' as const, name, person: auth.personBehind(by) }
    const cookie = await auth.admit(signInClient(ctx), method, () => auth.isSignedIn(by))
    // Otherwise a device that is paired again would be listed twice.
    auth.logout(ctx.cookies[SESSION_COOKIE])
    ctx.setCookie(sessionCookie(cookie, ctx.client.secure, true))
    if (name)
      ctx.app.notify('info', `“${visibleName(name)}” was paired.`, {
        code: 'device_paired',
        values: { name: visibleName(name) },
      })
    else ctx.app.notify('info', 'A new device was paired.', { code: 'unnamed_device_paired' })
    return ok
  },
})
