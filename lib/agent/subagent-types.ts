/** Contract of subagents: limits, tasks, results, and what is kept of their calls. */
import type { HookActivity } from '../schema/hook.ts'
import type { ModelEndpoint, Outcome } from './types.ts'

/** Limits of delegation to subagents. */
export type Delegation = {
  /** 0 for the turn itself; a subagent at `maxDepth` delegates no further. */
  depth: number
  maxDepth: number
  /** Model calls of one subagent. */
  maxSteps: number
  /** Subagents the user has defined, as of now; absent: none. */
  kinds?: () => readonly SubagentKind[]
  /** The model of subagents; absent: the caller's current one. Throws a sentence why it cannot be called. */
  endpoint?: () => ModelEndpoint
}

/** A subagent with a prompt, tools, and a model of its own. */
export type SubagentKind = {
  name: string
  /** In addition to what every subagent is given. */
  prompt: string
  /** Those of the caller's tools that it gets; null: all. */
  tools: readonly string[] | null
  /** Absent: as for other subagents. Throws a sentence why it cannot be called. */
  endpoint?: () => ModelEndpoint
}

export type SubagentTask = {
  /** Index among the tasks of one call. */
  index: number
  goal: string
  context: string
  /** The name of a `SubagentKind`; absent or empty: none. */
  agent?: string
  /** Empty: the caller's tools. */
  toolsets: readonly string[]
  maxSteps?: number
}

/** One tool call of a subagent, stored with its result so that a reload can show it. `trace`: calls of nested subagents. */
export type TraceEntry = {
  tool: string
  preview: string
  status: 'ok' | 'error' | 'unfinished'
  duration_seconds: number
  task_index?: number
  trace?: TraceEntry[]
}

export type SubagentStatus = 'running' | 'completed' | 'failed' | 'interrupted'

export type SubagentResult = {
  outcome: Outcome
  reason: 'completed' | 'max_iterations' | 'interrupted' | 'error'
  durationMs: number
  trace: TraceEntry[]
  /** What hooks did about its calls; shown with the delegating call, never sent to a provider. */
  hooks: HookActivity[]
}

/** Identifies a subagent: the tool call that started it, and the index among its tasks. */
export type SubagentRef = { parent: string; index: number }
