/** State of a running subagent: its task, its tool calls, and the end of its text. */
import { z } from 'zod'
import { PendingRetry } from './retry.ts'

export const SubagentStatus = z.enum(['running', 'completed', 'failed', 'interrupted'])
export type SubagentStatus = z.infer<typeof SubagentStatus>

export const SubagentStep = z.object({
  tid: z.string(),
  name: z.string(),
  preview: z.string().nullable(),
  args: z.record(z.string(), z.string()),
  started_at: z.number(),
  /** The end of the output. */
  output: z.string(),
  /** Seconds; null while it runs. */
  duration: z.number().nullable(),
  is_error: z.boolean(),
})
export type SubagentStep = z.infer<typeof SubagentStep>

export const LiveSubagent = z
  .object({
    /** The delegating tool call, of the turn or of another subagent. */
    parent_tid: z.string(),
    task_index: z.number(),
    goal: z.string(),
    status: SubagentStatus,
    started_at: z.number(),
    /** The latest steps. */
    steps: z.array(SubagentStep),
    /** The end of its streamed text and reasoning. */
    text: z.string(),
    reasoning: z.string(),
    retry: PendingRetry.optional(),
  })
  .meta({ id: 'LiveSubagent' })
export type LiveSubagent = z.infer<typeof LiveSubagent>
