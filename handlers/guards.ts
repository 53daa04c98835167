/** Guards the shared home asks for that this service does not keep: what they close, and what the person accepted. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { GuardsOut } from '../lib/schema/guard.ts'

const show = (ctx: Ctx): z.output<typeof GuardsOut> => ({
  profile: ctx.home.name,
  guards: ctx.app.guards.list(ctx.home),
})

export const list = endpoint({
  summary: 'Guards of this profile that are not kept here, and what is refused because of them',
  output: GuardsOut,
  run: show,
})

export const accept = endpoint({
  summary: 'Do without a guard, as long as its value stays as it was shown; or ask for it again',
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
