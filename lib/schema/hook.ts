/** Hooks: programs of the user that run around what the agent does, as the page shows them. */
import { z } from 'zod'

/** What one hook did at one point; shown, never sent to a provider. */
export const HookActivity = z.object({
  /** The event as config.yaml spells it, such as `PreToolUse`. */
  event: z.string(),
  /** The command of the hook, shortened. */
  hook: z.string(),
  action: z.enum(['blocked', 'changed', 'asked', 'allowed', 'added', 'continued', 'failed']),
  /** The reason, the added text, or the new arguments; shortened. */
  text: z.string().exactOptional(),
})
export type HookActivity = z.infer<typeof HookActivity>

/** One configured hook and what it has done since the service started. */
export const HookRow = z.object({
  event: z.string(),
  /** Empty: every tool. */
  matcher: z.string(),
  command: z.string(),
  timeout_seconds: z.number(),
  fail_closed: z.boolean(),
  runs: z.number(),
  blocks: z.number(),
  failures: z.number(),
  /** Seconds since 1970; null when it has not run. */
  last_run_at: z.number().nullable(),
  /** Why it failed most recently. */
  last_failure: z.string().nullable(),
})
export type HookRow = z.infer<typeof HookRow>
