/** Newer versions of the service and of the agent: looked for, and put in place. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { UpdateCheck, UpdateResult, UpdateTarget } from '../lib/schema/update.ts'
import { toBoolean } from '../lib/settings.ts'
import { simulatedUpdates } from '../lib/updates/check.ts'

const Flag = z.string().default('').transform(toBoolean)

export const check = endpoint({
  summary: 'Commits the service and the agent are behind; at most one look every half hour',
  input: z.object({ force: Flag, simulate: Flag, test_updates: Flag }),
  output: UpdateCheck,
  // It asks a remote: no other site may make a browser do that.
  effects: true,
  cache: 'no-store',
  run: (ctx, { force, simulate, test_updates }) => {
    if ((simulate || test_updates) && ctx.client.loopback) return simulatedUpdates
    if (!ctx.app.settings.get().check_for_updates) return { disabled: true as const }
    return ctx.app.updates.check({ force })
  },
})

const Target = z.object({
  target: z.unknown().optional(),
  force: z.unknown().optional().transform(toBoolean),
})

const run = (ctx: Ctx, target: unknown, force: boolean) => {
  const known = UpdateTarget.safeParse(target)
  if (!known.success) throw invalid('target must be "webui" or "agent"')
  return ctx.app.updates.apply(known.data, { force })
}

export const apply = endpoint({
  summary: 'Bring the service or the agent up to date, keeping local changes',
  input: Target,
  output: UpdateResult,
  run: (ctx, { target, force }) => run(ctx, target, force),
})

export const overwrite = endpoint({
  summary: 'Bring the service or the agent up to date, throwing local changes away',
  input: Target,
  output: UpdateResult,
  run: (ctx, { target }) => run(ctx, target, true),
})
