/** What a page draws of a subagent that works: its task, its calls in order, and the last it said. */
import { z } from 'zod'

export const SubagentStatus = z.enum(['running', 'completed', 'failed', 'interrupted'])
export type SubagentStatus = z.infer<typeof SubagentStatus>

export const SubagentStep = z.object({
  tid: z.string(),
  name: z.string(),
  preview: z.string().nullable(),
  args: z.record(z.string(), z.string()),
  started_at: z.number(),
  /** A bounded tail. */
  output: z.string(),
  /** Seconds; null while it runs. */
  duration: z.number().nullable(),
  is_error: z.boolean(),
})
export type SubagentStep = z.infer<typeof SubagentStep>

export const LiveSubagent = z
  .object({
    /** The call that delegated: one of the turn's own, or of another subagent. */
    parent_tid: z.string(),
    task_index: z.number(),
    goal: z.string(),
    status: SubagentStatus,
    started_at: z.number(),
    /** The newest ones. */
    steps: z.array(SubagentStep),
    /** What it is saying and thinking; bounded tails. */
    text: z.string(),
    reasoning: z.string(),
  })
  .meta({ id: 'LiveSubagent' })
export type LiveSubagent = z.infer<typeof LiveSubagent>
