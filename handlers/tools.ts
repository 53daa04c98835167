/** Toolsets: list them, enable them for the profile, override them for a session. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { Toolsets } from '../lib/schema/toolset.ts'
import { toBoolean } from '../lib/profiles/settings.ts'

export const list = endpoint({
  access: 'read',
  summary: 'Toolsets with their tools, whether they are enabled, and why a tool is unavailable',
  input: z.object({ session_id: SessionId.optional() }),
  output: Toolsets,
  run: (ctx, { session_id }) => ctx.app.toolsets.of(ctx.home, session_id ?? null),
})

export const toggle = endpoint({
  access: 'own',
  summary: 'Enable or disable a toolset for the profile',
  input: z.object({
    toolset: z.string({ error: 'toolset is required' }).min(1, 'toolset is required').max(200),
    enabled: z.unknown().transform(value => toBoolean(value ?? true)),
  }),
  output: Toolsets,
  run(ctx, { toolset, enabled }) {
    ctx.app.toolsets.toggle(ctx.home, toolset, enabled)
    return ctx.app.toolsets.of(ctx.home, null)
  },
})

export const override = endpoint({
  access: 'own',
  summary: 'Set the toolsets of one session; null restores those of its profile',
  input: z.object({
    session_id: SessionId,
    toolsets: z.array(z.string().trim().min(1).max(200)).max(200).nullable(),
  }),
  output: Ok.extend({ enabled_toolsets: z.array(z.string()).nullable() }),
  run: (ctx, { session_id, toolsets }) => ({
    ...ok,
    enabled_toolsets: ctx.app.toolsets.override(session_id, toolsets),
  }),
})
