/** Settings of the client API: the switch, and the tokens of programs. */
import { toSeconds } from '../lib/base/clock.ts'
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { ApiToken, TokenPath, TokenScope } from '../lib/schema/api-token.ts'
import { SESSION_COOKIE, signInClient } from '../lib/people/sign-ins.ts'
import { recorded } from '../lib/people/audit.ts'

const ApiAccess = z.object({ enabled: z.boolean(), tokens: z.array(ApiToken) })

const DAY_S = 86_400

const show = (ctx: Ctx): z.output<typeof ApiAccess> => ctx.app.apiTokens.list()

export const list = endpoint({
  access: 'own',
  summary: 'Whether the client API is on, and its tokens without their secrets',
  cache: 'no-store',
  output: ApiAccess,
  run: show,
})

export const enable = endpoint({
  access: 'own',
  audit: recorded('tokens', ({ enabled }) => (enabled ? 'on' : 'off')),
  summary: 'Turn the client API on or off; off ends its running requests',
  input: z.object({ enabled: z.boolean() }),
  output: ApiAccess,
  run(ctx, { enabled }) {
    ctx.app.apiTokens.setEnabled(enabled)
    return show(ctx)
  },
})

export const create = endpoint({
  once: 'memory',
  access: 'own',
  audit: recorded('tokens', ({ name }) => `created ${name}`),
  summary: 'Make a token; the reply is the only place where it is shown',
  input: z.object({
    name: z.string().trim().min(1).max(100),
    profile: z.string().max(64).optional(),
    workspace: z.string().max(4_096).default(''),
    approvals: z.enum(['ask', 'deny']).default('ask'),
    disconnect: z.enum(['stop', 'continue']).default('stop'),
    /** Absent or null: it never expires. */
    expires_in_days: z.number().int().min(1).max(3_650).nullable().default(null),
    scope: TokenScope.default('work'),
    paths: z.array(TokenPath).min(1).default(['v1']),
    /** Of the server, where the sign-in is not a confirmation by itself: a token outlives it. */
    password: z.string().optional(),
  }),
  output: ApiAccess.extend({ secret: z.string() }),
  async run(ctx, { profile, workspace, password, expires_in_days: days, paths, ...input }) {
    const client = signInClient(ctx)
    await ctx.app.auth.confirmChange(ctx.cookies[SESSION_COOKIE], { password, client })
    const home = profile ? ctx.app.homes.open(profile) : ctx.home
    const place = workspace.trim() === '' ? '' : ctx.app.workspaces.check(home, workspace)
    const { secret } = ctx.app.apiTokens.create({
      ...input,
      profile: home.name,
      workspace: place,
      expires_at: days === null ? null : Math.floor(toSeconds(ctx.app.clock.now())) + days * DAY_S,
      paths: [...new Set(paths)],
    })
    return { ...show(ctx), secret }
  },
})

export const revoke = endpoint({
  access: 'own',
  audit: recorded('tokens', ({ id }) => `revoked ${id}`),
  summary: 'Revoke a token; its running requests end',
  input: z.object({ id: z.string().max(64) }),
  output: ApiAccess.extend({ revoked: z.boolean() }),
  run(ctx, { id }) {
    const revoked = ctx.app.apiTokens.revoke(id)
    return { ...show(ctx), revoked }
  },
})
