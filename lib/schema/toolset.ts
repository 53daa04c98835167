/** Toolsets: their tools, whether they are enabled, and why a tool is unavailable. */
import { z } from 'zod'

export const ToolsetRow = z
  .object({
    name: z.string(),
    summary: z.string(),
    tools: z.array(
      z.object({
        name: z.string(),
        /** Why it is unavailable although its toolset is enabled; null when it is available. */
        reason: z.string().nullable(),
        /** Variables of .env, one of which would make it available. */
        needs: z.array(z.string()).optional(),
      }),
    ),
    /** For the requested session, or else for the profile. */
    enabled: z.boolean(),
    /** For the profile. */
    profile_enabled: z.boolean(),
    /** Disabled by `agent.disabled_toolsets`. */
    forbidden: z.boolean(),
  })
  .meta({ id: 'ToolsetRow' })
export type ToolsetRow = z.infer<typeof ToolsetRow>

export const Toolsets = z
  .object({
    toolsets: z.array(ToolsetRow),
    /** MCP servers. */
    mcp: z.array(z.object({ name: z.string(), enabled: z.boolean() })),
    /** Where the selection comes from. */
    source: z.enum(['session', 'profile', 'default']),
    /** Null: the selection of the profile applies. */
    enabled_toolsets: z.array(z.string()).nullable(),
    /** Absolute paths of the instruction files (AGENTS.md and the like) that the session's model was given; empty before its first turn. */
    instruction_files: z.array(z.string()),
    session_id: z.string().nullable(),
    profile: z.string(),
  })
  .meta({ id: 'Toolsets' })
export type Toolsets = z.infer<typeof Toolsets>
