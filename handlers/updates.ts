/** Updates of agent-webui and of the host agent: check and apply. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { UpdateCheck, UpdateResult, UpdateTarget } from '../lib/schema/update.ts'
import { toBoolean } from '../lib/profiles/settings.ts'
import { simulatedUpdates } from '../lib/operations/updates/check.ts'

const Flag = z.string().default('').transform(toBoolean)

export const check = endpoint({
  access: 'own',
  summary: 'How many commits agent-webui and the agent are behind; checked at most every half hour',
  input: z.object({ force: Flag, simulate: Flag, test_updates: Flag }),
  output: UpdateCheck,
  // It contacts a remote, so other sites must not be able to trigger it.
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
  const result = UpdateTarget.safeParse(target)
  if (!result.success) throw invalid('target must be "webui" or "agent"')
  return ctx.app.updates.apply(result.data, { force })
}

export const apply = endpoint({
  once: 'disk',
  access: 'own',
  summary: 'Update agent-webui or the agent, keeping local changes',
  input: Target,
  output: UpdateResult,
  run: (ctx, { target, force }) => run(ctx, target, force),
})

export const overwrite = endpoint({
  once: 'disk',
  access: 'own',
  summary: 'Update agent-webui or the agent, discarding local changes',
  input: Target,
  output: UpdateResult,
  run: (ctx, { target }) => run(ctx, target, true),
})
