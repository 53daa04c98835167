/** Contract of hooks: programs of the user that run around what the agent does. */
import type { HookActivity } from '../schema/hook.ts'
import type { Tool } from './types.ts'

/** What hooks see of a tool, which may be one of an external agent. */
export type HookedTool = { name: string; kind: Tool['kind']; server?: string }

export type HookedCall = {
  callId: string
  tool: HookedTool
  /** The arguments as the tool gets them. */
  input: Readonly<Record<string, unknown>>
  signal: AbortSignal
}

export type BeforeCall = {
  /** Why the call must not run; null: it may, as far as hooks are concerned. */
  blocked: string | null
  /** The arguments to use instead. They must be validated, and pass rules and approvals like any others. */
  input: Record<string, unknown> | null
  /** `ask`: only the user can allow the call. `allow`: approvals the call asks for are given, except those for control files, for leaving the sandbox, and those that a rule requires. */
  decision: 'ask' | 'allow' | null
  reason: string
  /** Texts for the model, to add to the result. */
  context: string[]
  activity: HookActivity[]
}

export type AfterCall = {
  /** Replaces the result; null: unchanged. */
  content: string | null
  context: string[]
  activity: HookActivity[]
}

export type HookedResult = { content: string; isError: boolean; durationMs: number }

export type HookedEnd = {
  status: 'finished' | 'failed'
  text: string
  model: string
  durationMs: number
}

/** Hooks of one turn. Methods reject only with the reason of an aborted signal. */
export type Hooks = {
  before: (call: HookedCall) => Promise<BeforeCall>
  after: (call: HookedCall, result: HookedResult) => Promise<AfterCall>
  /** Called when the agent wants to end with this text: null, or what to tell it, because it must continue. */
  atEnd: (
    text: string,
    signal: AbortSignal,
  ) => Promise<{ text: string; activity: HookActivity[] } | null>
  /** Called after the end, for programs that only observe. */
  ended: (end: HookedEnd, signal: AbortSignal) => Promise<void>
  /** Why a hook ended the whole turn, which the user has been shown; null while none did. */
  stopped: () => string | null
  /** The hooks of a subagent: the same, except at its end. */
  ofSubagent: (subagent: { id: string; name: string; goal: string }) => Hooks
}
