/** What a run of the engine emits. */
import type { Words } from '../base/sentences.ts'
import type { RunsIn } from '../schema/command-place.ts'
import type { HookActivity } from '../schema/hook.ts'
import type { RetryReason } from '../schema/retry.ts'
import type { ProviderState, RunMessage, SubagentRef, SubagentStatus } from './types.ts'

export type AgentEvent =
  | { type: 'token'; messageId: string; text: string; owner?: SubagentRef }
  | { type: 'reasoning'; messageId: string; text: string; owner?: SubagentRef }
  /**
   * Everything streamed for the message is void. The call is repeated after `delayMs` and streams under the same id.
   * `attempt`: failed attempts so far; `attempts`: the maximum.
   */
  | {
      type: 'retry'
      messageId: string
      attempt: number
      attempts: number
      delayMs: number
      message: Words
      reason?: RetryReason
      /** Display name of the provider. */
      provider?: string
      owner?: SubagentRef
    }
  /** Must be recorded before later events: an assistant message precedes its tool calls; results follow in source order. */
  | { type: 'message'; message: RunMessage; steeringKey?: string; providerState?: ProviderState }
  /** Must be recorded: the model reads this text of an earlier message, now and in later turns. */
  | { type: 'sent'; messageId: string; text: string }
  | {
      type: 'tool'
      callId: string
      name: string
      preview: string | null
      args: Record<string, unknown>
      owner?: SubagentRef
    }
  /** A call is being written, the nth of its message: `text` is added to the file at `path`, which is known from the first event that has it. */
  | {
      type: 'tool_writing'
      messageId: string
      index: number
      name: string
      path?: string
      text: string
    }
  | { type: 'tool_output'; callId: string; text: string; owner?: SubagentRef }
  | {
      type: 'tool_complete'
      callId: string
      name: string
      preview: string | null
      args: Record<string, unknown>
      durationMs: number
      isError: boolean
      /** What hooks did about the call. */
      hooks?: readonly HookActivity[]
      /** Where its command ran. */
      ranIn?: RunsIn
      owner?: SubagentRef
    }
  | { type: 'warning'; kind: string; message: Words }
  /** Compaction has started. */
  | { type: 'compressing'; tokens: number }
  /** Must be recorded: `text` replaces the messages from `first` to `last`; null ids: none of them is in the transcript. */
  | {
      type: 'compressed'
      first: string | null
      last: string | null
      text: string
      beforeTokens: number
      afterTokens: number
    }
  /** A subagent has started or ended. */
  | { type: 'subagent'; owner: SubagentRef; goal: string; status: SubagentStatus }

/** Synchronous, must not throw. */
export type Emit = (event: AgentEvent) => void
