/**
 * The seam of the engine: values in, events out, an outcome at the end.
 * It knows nothing of HTTP, sessions, profiles or the environment; whoever joins it with them is `lib/turns`.
 */
import type { z } from 'zod'
import type { FailureType } from '../schema/event.ts'
import type { ToolCall } from '../schema/message.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import type { Usage } from '../schema/usage.ts'

/** What a provider may see of a message: these keys and no others (spec.md, Message). */
export type WireMessage = {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | { type: string; [key: string]: unknown }[]
  tool_calls?: ToolCall[]
  tool_call_id?: string
  name?: string
  refusal?: string
}

export type ApiMode = 'chat_completions' | 'demo'
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
  price?: { input: number; output: number }
}

/** What a provider yields. `usage` and `finish` come at most once, at the end. */
export type ProviderDelta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** The beginning or a further piece of a tool call; `index` tells parallel calls apart. */
  | { type: 'tool_call'; index: number; id?: string; name?: string; arguments?: string }
  | { type: 'refusal'; text: string }
  | { type: 'usage'; inputTokens: number; outputTokens: number; cost?: number }
  | { type: 'finish'; reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other' }

export type ProviderRequest = {
  endpoint: ModelEndpoint
  messages: WireMessage[]
  /** JSON schemas of the tools on offer; empty when none. */
  tools: { name: string; description: string; parameters: unknown }[]
  signal: AbortSignal
  /** Where `demo` looks around; real providers ignore it. */
  workspace: string
}

/**
 * A provider speaks one wire format. Contract: an async generator of deltas; throws only `ProviderFailure`
 * (or the signal's reason when aborted); honours `signal` within a second; never retries.
 */
export type Provider = (request: ProviderRequest) => AsyncGenerator<ProviderDelta>

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
  history: WireMessage[]
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
  providers: Readonly<Record<ApiMode, Provider>>
  now?: () => number
}

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
