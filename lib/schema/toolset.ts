/** What an agent may use: its toolsets, what is in them, which are on and why one cannot serve. */
import { z } from 'zod'

export const ToolsetRow = z
  .object({
    name: z.string(),
    summary: z.string(),
    tools: z.array(
      z.object({
        name: z.string(),
        /** Why it is not offered although its toolset is on; null when it is. */
        reason: z.string().nullable(),
      }),
    ),
    /** In the session that was asked for, else in the profile. */
    enabled: z.boolean(),
    /** As the profile says. */
    profile_enabled: z.boolean(),
    /** `agent.disabled_toolsets` keeps it off. */
    forbidden: z.boolean(),
  })
  .meta({ id: 'ToolsetRow' })
export type ToolsetRow = z.infer<typeof ToolsetRow>

export const Toolsets = z
  .object({
    toolsets: z.array(ToolsetRow),
    /** Tools of other programs, by server. */
    mcp: z.array(z.object({ name: z.string(), enabled: z.boolean() })),
    /** Who says which are on. */
    source: z.enum(['session', 'profile', 'default']),
    /** Null: as the profile says. */
    enabled_toolsets: z.array(z.string()).nullable(),
    session_id: z.string().nullable(),
    profile: z.string(),
  })
  .meta({ id: 'Toolsets' })
export type Toolsets = z.infer<typeof Toolsets>
