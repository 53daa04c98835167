/** One-time codes as a second factor to the password: turning them on and off, and the recovery codes. */
import { z } from 'zod'
import { SESSION_COOKIE, signInClient } from '../lib/people/sign-ins.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { forbidden } from '../lib/errors.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { recorded } from '../lib/people/audit.ts'

const Password = z.object({ password: z.string().default('') })
const Recovery = z.object({ recovery: z.array(z.string()) })

/** Codes are asked for after the password of the server, which only its first owner has. */
const requireFirstOwner = ({ person }: Ctx): void => {
  if (person.id !== '')
    throw forbidden(
      'Codes are for the password of the server. Only its first owner can change this.',
      {
        code: 'role_not_allowed',
      },
    )
}

/** The password itself, whatever the age of the sign-in. Returns the sign-in. */
const confirmed = async (ctx: Ctx, password: string): Promise<string> => {
  requireFirstOwner(ctx)
  const { auth } = ctx.app
  const cookie = ctx.cookies[SESSION_COOKIE]
  await auth.confirm(cookie, { password, client: signInClient(ctx), always: true })
  return auth.signInOf(cookie)
}

export const view = endpoint({
  access: 'own',
  summary:
    'Whether signing in with the password needs a code, and how many recovery codes are left',
  cache: 'no-store',
  output: z.object({ enabled: z.boolean(), recovery_left: z.number() }),
  run: ctx => ctx.app.codes.view(),
})

export const start = endpoint({
  access: 'own',
  exact: true,
  summary: 'A new secret for an authenticator app; codes are required after its first code',
  input: Password,
  output: z.object({ secret: z.string(), uri: z.string() }),
  async run(ctx, { password }) {
    const by = await confirmed(ctx, password)
    return ctx.app.codes.start(by, { title: ctx.app.settings.get().bot_name })
  },
})

export const enable = endpoint({
  access: 'own',
  exact: true,
  audit: recorded('codes-on'),
  summary: 'Require codes; the reply is the only place where the recovery codes are shown',
  input: z.object({ code: z.string().max(40) }),
  output: Recovery,
  async run(ctx, { code }) {
    requireFirstOwner(ctx)
    const by = ctx.app.auth.signInOf(ctx.cookies[SESSION_COOKIE])
    const recovery = await ctx.app.codes.enable(by, code)
    ctx.app.notify('info', 'Signing in with the password now needs a code.', {
      code: 'codes_on',
    })
    return { recovery }
  },
})

export const disable = endpoint({
  access: 'own',
  summary: 'Stop requiring codes',
  audit: recorded('codes-off'),
  input: Password,
  output: Ok,
  async run(ctx, { password }) {
    await confirmed(ctx, password)
    ctx.app.codes.disable()
    ctx.app.notify('info', 'Signing in with the password no longer needs a code.', {
      code: 'codes_off',
    })
    return ok
  },
})

export const recovery = endpoint({
  access: 'own',
  summary: 'Replace the recovery codes',
  audit: recorded('recovery-renewed'),
  input: Password,
  output: Recovery,
  async run(ctx, { password }) {
    await confirmed(ctx, password)
    return { recovery: ctx.app.codes.renewRecovery() }
  },
})
