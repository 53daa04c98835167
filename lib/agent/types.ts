/**
 * The seam of the engine: values in, events out, an outcome at the end.
 * It knows nothing of HTTP, sessions, profiles or the environment; whoever joins it with them is `lib/turns`.
 */
import type { z } from 'zod'
import type { FailureType } from '../schema/event.ts'
import type { ToolCall } from '../schema/message.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import type { Usage } from '../schema/usage.ts'
import type { ProviderFailure } from './failure.ts'

/** What a provider may see of a message: these keys and no others (spec.md, Message). */
export type WireMessage = {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | { type: string; [key: string]: unknown }[]
  tool_calls?: ToolCall[]
  tool_call_id?: string
  name?: string
  refusal?: string
}

/** How a model is spoken to. `acp` is a whole agent of somebody else's: it answers turns, never a single call. */
export type ApiMode = 'chat_completions' | 'anthropic_messages' | 'codex_responses' | 'acp' | 'demo'
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh'

/** One model at one address, ready to be called: a pair {provider, model} with everything resolved. */
export type ModelEndpoint = {
  provider: string
  model: string
  apiMode: ApiMode
  /** Without trailing slash; empty for `demo`. */
  baseUrl: string
  apiKey: string | null
  /** Tokens the model can read; 0 when unknown. */
  contextLength: number
  /** Upper bound on an answer's tokens; absent leaves it to the provider. */
  maxTokens?: number
  effort?: Effort
  /** US dollars per million tokens; absent when unknown. */
  price?: { input: number; output: number; cacheRead?: number; cacheWrite?: number }
  /** Which entry of a credential pool the key is, so that it can be rested when the provider refuses it. */
  credential?: { pool: string; id: string }
  /** Command line of an agent that speaks ACP; only with `acp`. */
  command?: readonly string[]
}

/**
 * What a provider wants back in the same turn and nobody else may see: thinking signatures, encrypted reasoning.
 * It never reaches the transcript (contract, decision 32), and goes only to the endpoint that said it.
 */
export type Carry = { by: string; items: readonly unknown[] }

/** A message inside the loop. `id` is its id in the transcript, absent for what stands in none. */
export type LoopMessage = WireMessage & { id?: string; carry?: Carry }

/** What a provider yields. `usage` and `finish` come at most once, at the end. */
export type ProviderDelta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** The beginning or a further piece of a tool call; `index` tells parallel calls apart. */
  | { type: 'tool_call'; index: number; id?: string; name?: string; arguments?: string }
  | { type: 'refusal'; text: string }
  /** `inputTokens` is the whole prompt, what a cache served included. */
  | {
      type: 'usage'
      inputTokens: number
      outputTokens: number
      cacheReadTokens?: number
      cacheWriteTokens?: number
      cost?: number
    }
  /** Kept beside the assistant message for the rest of the turn. */
  | { type: 'carry'; item: unknown }
  | { type: 'finish'; reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other' }

export type ProviderRequest = {
  endpoint: ModelEndpoint
  /** `carry` is there only where this endpoint said it. */
  messages: (WireMessage & { carry?: Carry })[]
  /** JSON schemas of the tools on offer; empty when none. */
  tools: { name: string; description: string; parameters: unknown }[]
  signal: AbortSignal
  /** Where `demo` looks around; real providers ignore it. */
  workspace: string
  /** Stays the same for a session: providers route its calls to the same prompt cache by it. */
  sessionKey?: string
}

/**
 * A provider speaks one wire format. Contract: an async generator of deltas; throws only `ProviderFailure`
 * (or the signal's reason when aborted); honours `signal` within a second; never retries.
 */
export type Provider = (request: ProviderRequest) => AsyncGenerator<ProviderDelta>

/** By wire format. `speakerFor` refuses what is not there. */
export type Providers = Readonly<Partial<Record<ApiMode, Provider>>>

/** What is asked of a person before something dangerous runs. Matching rules' labels, most severe first. */
export type ApprovalAsk = {
  command: string
  patternKeys: string[]
  description: string
  cwd: string
}

/** What a tool is given. Everything comes as a value; a tool reads no global. */
export type ToolContext = {
  callId: string
  workspace: string
  /** The complete environment of children. */
  env: Readonly<Record<string, string>>
  /** Directories and files no tool may touch: the service's state, secrets. Absolute paths. */
  forbidden: readonly string[]
  signal: AbortSignal
  /** Live output, shown as it comes; not what the model reads. */
  output: (text: string) => void
  approve: (ask: ApprovalAsk) => Promise<ApprovalChoice>
  /** Null when nobody answered in time: the tool then tells the model to use its own judgement. */
  clarify: (question: string, choices: string[]) => Promise<string | null>
  /** Lives as long as the run: which files were read at which version, the todo list, … Keyed by tool. */
  memo: Map<string, unknown>
  now: () => number
}

/** `content` is what the model reads (JSON text by convention), `preview` one line for the card. */
export type ToolResult = { content: string; isError?: boolean; preview?: string }

/** A tool throws freely; the loop turns it into an error result. */
export type Tool<I extends z.ZodType = z.ZodType> = {
  name: string
  /** What the model reads about it. */
  summary: string
  input: I
  /** `read` tools of one batch run together; the others one after the other, in source order. */
  kind: 'read' | 'write' | 'execute' | 'ask' | 'think'
  /** The object of the verb, for the card: a path, a command, a pattern. */
  preview: (input: z.output<I>) => string
  run: (ctx: ToolContext, input: z.output<I>) => Promise<ToolResult> | ToolResult
}

export type AgentRequest = {
  endpoint: ModelEndpoint
  system: string
  /** Sanitised (see `history.ts`); the last one is the user's. */
  history: LoopMessage[]
  tools: readonly Tool[]
  workspace: string
  env: Readonly<Record<string, string>>
  forbidden: readonly string[]
  /** Model calls per turn. At the limit one last call without tools asks for a summary. */
  maxSteps: number
  signal: AbortSignal
  /** The id the next message will have; asked for once when a message begins, used by all its deltas. */
  nextMessageId: () => string
  approve: (ask: ApprovalAsk, callId: string) => Promise<ApprovalChoice>
  clarify: (question: string, choices: string[], callId: string) => Promise<string | null>
  /** Where a provider is looked up; a test passes its own. */
  providers: Providers
  now?: () => number
  /** The session's id, as the key of per-session caches and memories. */
  sessionKey?: string
  /**
   * Called when an endpoint failed with nothing said: another key, else the next fallback, else null. It lasts for
   * the rest of this turn (contract, decision 31). `message` is told to the person as a warning.
   */
  recover?: (failure: ProviderFailure, failed: ModelEndpoint) => Promise<Recovery | null>
}

export type Recovery = { endpoint: ModelEndpoint; kind: 'rotated' | 'fallback'; message: string }

/** A finished message of the run. `id` is the one its deltas named; tool results get theirs when they begin to be recorded. */
export type RunMessage = WireMessage & {
  id: string
  reasoning?: string
  model?: string
  provider?: string
}

export type AgentEvent =
  | { type: 'token'; messageId: string; text: string }
  | { type: 'reasoning'; messageId: string; text: string }
  /** What streamed for the message is void; the call is made again after `delayMs`. Never after text was spoken. */
  | { type: 'retry'; messageId: string; attempt: number; delayMs: number; message: string }
  /** Record it before anything that follows: an assistant message comes before its tools run, a result when it is known, in source order. */
  | { type: 'message'; message: RunMessage }
  | {
      type: 'tool'
      callId: string
      name: string
      preview: string | null
      args: Record<string, unknown>
    }
  | { type: 'tool_output'; callId: string; text: string }
  | {
      type: 'tool_complete'
      callId: string
      name: string
      preview: string | null
      args: Record<string, unknown>
      durationMs: number
      isError: boolean
    }
  | { type: 'warning'; kind: string; message: string }

/** Synchronous, must not throw. */
export type Emit = (event: AgentEvent) => void

export type Failure = { type: FailureType; message: string; hint?: string }

/** The loop never rejects. `text` is the last assistant text; on `stopped` and `failed` what streamed of an unfinished message is the caller's to keep. */
export type Outcome = {
  status: 'finished' | 'stopped' | 'failed'
  text: string
  steps: number
  usage: Usage
  provider: string
  model: string
  failure?: Failure
}

/** One agent, ours or somebody else's, behind the same door. */
export type Agent = (request: AgentRequest, emit: Emit) => Promise<Outcome>
