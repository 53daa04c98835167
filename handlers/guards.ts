/** Safeguards of a home: those this server does not support, which were accepted, and the hooks that run. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { GuardsOut } from '../lib/schema/guard.ts'
import { HookRow } from '../lib/schema/hook.ts'
import { hookRows } from '../lib/turn-context/turn-hooks.ts'

const show = (ctx: Ctx): z.output<typeof GuardsOut> => ({
  profile: ctx.home.name,
  guards: ctx.app.guards.list(ctx.home),
})

export const list = endpoint({
  summary: 'Unsupported safeguards of the profile, and what each one blocks',
  output: GuardsOut,
  run: show,
})

export const accept = endpoint({
  summary: 'Accept an unsupported safeguard while its value stays the same, or withdraw that',
  input: z.object({
    key: z.string().min(1).max(200),
    value_id: z.string().min(1).max(100),
    accepted: z.boolean(),
  }),
  output: GuardsOut,
  run: (ctx, { key, value_id, accepted }) => {
    ctx.app.guards.accept(ctx.home, key, value_id, accepted)
    return show(ctx)
  },
})

export const hooks = endpoint({
  summary: 'Hooks of the profile, and what each has done since the service started',
  output: z.object({ profile: z.string(), hooks: z.array(HookRow) }),
  run: ctx => ({ profile: ctx.home.name, hooks: hookRows(ctx.home, ctx.app.hooks) }),
})
