/** Tool `delegate_task`: runs subagents, three at once, and returns their summaries. */
import { z } from 'zod'
import { DELEGATE_TOOL } from '../subagent.ts'
import type { SubagentResult, Tool, ToolContext, TraceEntry } from '../types.ts'

/** More than `subagent.ts` runs at once wait. */
const MAX_TASKS = 100
/** Limits a summary, so that a subagent can't fill its caller's context window with a pasted file. */
const SUMMARY_CHARS = 16_000

const Task = z.object({
  goal: z.string().trim().min(1).describe('The task, complete in itself'),
  context: z.string().default('').describe('What the subagent must know: paths, findings, limits'),
  toolsets: z.array(z.string()).default([]).describe('Toolsets it may use; default: all'),
  agent: z.string().trim().default('').describe('A subagent of the user, by name; default: none'),
})

const Input = z
  .object({
    goal: z.string().default('').describe('The task, if there is only one'),
    context: Task.shape.context,
    toolsets: Task.shape.toolsets,
    agent: Task.shape.agent,
    tasks: z.array(Task).max(MAX_TASKS).default([]).describe('Tasks to run in parallel, 3 at once'),
    max_iterations: z.number().int().positive().optional().describe('Model calls each may use'),
  })
  .refine(input => input.tasks.length > 0 || input.goal.trim() !== '', {
    message: 'Give a goal, or tasks with goals.',
  })
type Input = z.output<typeof Input>

const tasksOf = ({ goal, context, toolsets, agent, tasks }: Input): z.output<typeof Task>[] =>
  tasks.length > 0 ? tasks : [{ goal: goal.trim(), context, toolsets, agent }]

const seconds = (ms: number): number => Math.round(ms / 100) / 10

const bounded = (text: string): string =>
  text.length > SUMMARY_CHARS
    ? `${text.slice(0, SUMMARY_CHARS)}\n[… ${text.length - SUMMARY_CHARS} characters left out …]`
    : text

const maskedTrace = (trace: readonly TraceEntry[], mask: (text: string) => string): TraceEntry[] =>
  trace.map(({ trace: inner, ...entry }) => ({
    ...entry,
    preview: mask(entry.preview),
    ...(inner && { trace: maskedTrace(inner, mask) }),
  }))

/** Masks each field separately: inside JSON text, a secret that was cut in half isn't recognized. */
const toResult = (
  { goal, agent }: z.output<typeof Task>,
  task_index: number,
  result: SubagentResult,
  mask: (text: string) => string,
) => {
  const { outcome, reason, trace } = result
  const { text, steps, usage, model, failure, status } = outcome
  return {
    task_index,
    goal,
    ...(agent !== '' && { agent }),
    status: status === 'finished' ? 'completed' : status === 'stopped' ? 'interrupted' : 'failed',
    summary: bounded(mask(text)),
    ...(failure && { error: mask(`${failure.message}`) }),
    api_calls: steps,
    duration_seconds: seconds(result.durationMs),
    model,
    exit_reason: reason,
    tokens: { input: usage.input_tokens, output: usage.output_tokens },
    tool_trace: maskedTrace(trace, mask),
  }
}

const run = async (ctx: ToolContext, input: Input) => {
  const { spawn } = ctx
  if (!spawn) throw new Error('No subagents can be started here. Do the work yourself.')
  const begun = ctx.turn.clock.monotonic()
  const tasks = tasksOf(input)
  const limit = input.max_iterations
  const results = await Promise.all(
    tasks.map(async (task, index) =>
      toResult(
        task,
        index,
        await spawn({ index, ...task, ...(limit !== undefined && { maxSteps: limit }) }),
        ctx.turn.secrets?.mask ?? (text => text),
      ),
    ),
  )
  return {
    content: JSON.stringify({
      results,
      total_duration_seconds: seconds(ctx.turn.clock.monotonic() - begun),
    }),
    isError: results.every(({ status }) => status !== 'completed'),
  }
}

export const delegate: Tool<typeof Input> = {
  name: DELEGATE_TOOL,
  summary:
    'Give one task, or several that run in parallel (3 at once), to subagents. Each works in the same workspace in a new conversation: it knows only its goal and context, and returns a summary. Use it for separable work that would fill this conversation with detail, not for what one or two calls can do.',
  input: Input,
  kind: 'execute',
  parallel: true,
  // Plan mode applies to subagents, too.
  onlyReads: () => true,
  reaches: input =>
    tasksOf(input).flatMap(({ agent }) =>
      agent === '' ? [] : [{ kind: 'agent' as const, name: agent }],
    ),
  preview: input =>
    tasksOf(input)
      .map(({ agent, goal }) => (agent === '' ? goal : `${agent}: ${goal}`))
      .join(' · '),
  run,
}
