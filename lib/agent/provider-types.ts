/** Contracts of a provider: one request in, a stream of deltas out. */
import type { Words } from '../base/sentences.ts'
import type { AnswerFormat } from './answer-form.ts'
import type { ImageSource } from './images.ts'
import type { ApiMode, LoopMessage, ModelEndpoint } from './types.ts'

/** What a provider yields. `usage` and `finish` come at most once, at the end. */
export type ProviderDelta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** A fragment of a tool call; `index` tells parallel calls apart. */
  | { type: 'tool_call'; index: number; id?: string; name?: string; arguments?: string }
  | { type: 'refusal'; text: string }
  /** `inputTokens` is the whole prompt, cached tokens included. */
  | {
      type: 'usage'
      inputTokens: number
      outputTokens: number
      cacheReadTokens?: number
      cacheWriteTokens?: number
      cost?: number
    }
  /** A limitation of the endpoint for the user to know; shown once per run. */
  | { type: 'notice'; text: Words }
  /** See `ProviderState`. */
  | { type: 'provider_state'; item: unknown }
  /** `window_full`: prompt and answer fill the model's context window. */
  | {
      type: 'finish'
      /** `unmarked`: the stream just ended, so something may be missing. */
      reason:
        | 'stop'
        | 'length'
        | 'tool_calls'
        | 'content_filter'
        | 'window_full'
        | 'unmarked'
        | 'other'
    }

export type ProviderRequest = {
  endpoint: ModelEndpoint
  /** `providerState` is present only where this endpoint produced it. */
  messages: LoopMessage[]
  /** How to send the images of messages; absent: without them. */
  images?: ImageSource
  /** JSON schemas of the tools on offer; empty when none. */
  tools: { name: string; description: string; parameters: unknown }[]
  /** The tools are only described, so that the prompt stays the same: none may be called. Absent: the model decides. */
  toolChoice?: 'none'
  /** What was learned about the server is forgotten: the user may have changed it. */
  isConnectionTest?: true
  /** The form of the answer, for APIs that can hold a model to it. Only a request: the answer is checked anyway. */
  answer?: AnswerFormat
  /** The answer must be a call of one of the tools. */
  mustCall?: boolean
  signal: AbortSignal
  /** Used by `demo` only. */
  workspace: string
  /** Constant per session: providers route calls to the same prompt cache by it. */
  sessionKey?: string
  /** Header of W3C Trace Context, for a model server that is part of the trace. */
  traceparent?: string
}

/**
 * A provider implements one wire format as an async generator of deltas. It throws only `ProviderFailure`
 * (or the signal's reason when aborted), honors `signal` within a second, and never retries. A promise: of one that has its
 * first delta. What can be done before it, such as a request adapted to the endpoint, is then no part of the stream.
 */
export type Provider = (
  request: ProviderRequest,
) => AsyncGenerator<ProviderDelta> | Promise<AsyncGenerator<ProviderDelta>>

/** What follows one model call from outside of the engine. Must not throw: it runs inside turns. */
export type ObservedCall = {
  /** Sent with the request. */
  traceparent?: string | undefined
  delta(delta: ProviderDelta): void
  /** Called once. `error`: why it failed; undefined when it finished. */
  ended(error?: unknown): void
}

/** Providers by wire format. `providerFor` throws for a missing one. */
export type Providers = Readonly<Partial<Record<ApiMode, Provider>>>
