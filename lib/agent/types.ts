/**
 * The seam of the engine: values in, events out, an outcome at the end.
 * It knows nothing of HTTP, sessions, profiles or the environment; whoever joins it with them is `lib/turns`.
 */
import type { z } from 'zod'
import type { FailureType } from '../schema/event.ts'
import type { ToolCall } from '../schema/message.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import type { ApprovalAsk } from './approval-request.ts'
import type { Usage } from '../schema/usage.ts'
import type { Compression } from './compress.ts'
import type { AgentSettings, External } from './external-agent.ts'
import type { ProviderFailure } from './failure.ts'
import type { Processes } from './processes.ts'
import type { Secrets } from './secrets.ts'

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
  /** How long a marked prompt stays in the provider's cache; five minutes when absent. */
  cacheTtl?: '5m' | '1h'
  /** Which of a router's own providers may serve the request, in the router's words. */
  routing?: Readonly<Record<string, unknown>>
  /** Which entry of a credential pool the key is, so that it can be rested when the provider refuses it. */
  credential?: { pool: string; id: string }
  /** Command line of an agent that speaks ACP; only with `acp`. */
  command?: readonly string[]
  /** Which agent that is, its name for people, and which of its models is meant; null leaves it the choice. Only with `acp`. */
  agent?: { id: string; name: string; model: string | null; settings?: AgentSettings }
}

/**
 * What a provider wants back in the same turn and nobody else may see: thinking signatures, encrypted reasoning.
 * It never reaches the transcript (contract, decision 32), and goes only to the endpoint that said it.
 */
export type Carry = {
  by: string
  items: readonly unknown[]
  /** For each call of the message, the places it had in the answer; absent where nothing was dropped. */
  from?: readonly (readonly number[])[]
}

/** A message inside the loop. `id` is its id in the transcript, absent for what stands in none. */
export type LoopMessage = WireMessage & {
  id?: string
  carry?: Carry
  /** Where it stands in the transcript, as far as that is known: what is summarised must stand together there. */
  place?: number
  /** It is a summary and stands for the messages from one id to another. */
  summary?: { from: string; to: string; text: string }
}

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
  /** What the person should know of how the endpoint had to be asked; told once a run. */
  | { type: 'notice'; text: string }
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

export type { ApprovalAsk }

/**
 * What the home itself forbids (`approvals.deny`, a terminal back end that is not ours, …), whatever a person, a session or
 * a mode allows. Each answers the sentence why, or null; asked at every use, because the file may change meanwhile.
 */
export type Guards = {
  /** Why no command at all may run. */
  commands: () => string | null
  /** Why this one may not. */
  command: (command: string, context: { home: string; cwd: string }) => string | null
  /** Why the file tools may not write at this real path. */
  write: (path: string) => string | null
  /** Why a tool may not be used at all. */
  tool: (name: string) => string | null
}

/** What a tool is given. Everything comes as a value; a tool reads no global. */
export type ToolContext = {
  callId: string
  workspace: string
  /** The complete environment of children. */
  env: Readonly<Record<string, string>>
  /** Directories and files no tool may touch: the service's state, secrets. Absolute paths. */
  forbidden: readonly string[]
  /** What decides about the agent itself: configuration, tasks, other profiles, the service. Always asked about. */
  control?: readonly string[]
  /** Ports this service answers on. */
  own?: readonly string[]
  /** Absent: the home forbids nothing. */
  guards?: Guards
  signal: AbortSignal
  /** Live output, shown as it comes; not what the model reads. */
  output: (text: string) => void
  approve: (ask: ApprovalAsk) => Promise<ApprovalChoice>
  /** Null when nobody answered in time: the tool then tells the model to use its own judgement. */
  clarify: (question: string, choices: string[]) => Promise<string | null>
  /** Below forbidden ones and readable all the same: long results of this session that were put aside. */
  readable?: readonly string[]
  /** Puts a text aside that is too long to be answered whole; where it stands, or null when it could not be kept. */
  spill?: (text: string) => string | null
  /** Must be awaited before files change: these real paths, or anything in the workspace. Rejects only when the run was stopped. */
  beforeChange?: (what: Changing) => Promise<void>
  /** Programs that run on beside the conversation; absent where there are none. */
  processes?: Processes
  secrets?: Secrets
  /** Another tool on offer, called as if by the model: checked, asked for, recorded. Never rejects. */
  call?: (name: string, args: Record<string, unknown>) => Promise<ToolResult>
  /** Names of the tools on offer. */
  toolNames?: readonly string[]
  /** Gives a task to a subagent; absent where none may be started. Never rejects. */
  spawn?: (task: SubagentTask) => Promise<SubagentResult>
  /** Lives as long as the run: which files were read at which version, the todo list, … Keyed by tool. */
  memo: Map<string, unknown>
  now: () => number
}

/** What is about to change: files by their real paths, or anything in the workspace. */
export type Changing = readonly string[] | 'workspace'

/** `content` is what the model reads (JSON text by convention), `preview` one line for the card. */
export type ToolResult = {
  content: string
  isError?: boolean
  preview?: string
  /** The output in `content` with its colours, for people; absent where it had none. */
  colored?: string
}

/** A tool throws freely; the loop turns it into an error result. */
export type Tool<I extends z.ZodType = z.ZodType> = {
  name: string
  /** What the model reads about it. */
  summary: string
  input: I
  /** JSON Schema the model is shown instead of `input`'s own: another program's tool brings its own. */
  parameters?: Readonly<Record<string, unknown>>
  /** `read` tools of one batch run together; the others one after the other, in source order. */
  kind: 'read' | 'write' | 'execute' | 'ask' | 'think'
  /** Neighbouring calls of it run together although it does more than read. */
  together?: boolean
  /** The object of the verb, for the card: a path, a command, a pattern. */
  preview: (input: z.output<I>) => string
  run: (ctx: ToolContext, input: z.output<I>) => Promise<ToolResult> | ToolResult
}

export type AgentRequest = {
  endpoint: ModelEndpoint
  system: string
  /** Said before the conversation, and recorded nowhere. */
  prefill?: readonly WireMessage[]
  /** Sanitised (see `history.ts`); the last one is the user's. */
  history: LoopMessage[]
  /** Files of the workspace that the newest message came with. Only looked at by another program's agent. */
  attachments?: readonly string[]
  tools: readonly Tool[]
  workspace: string
  env: Readonly<Record<string, string>>
  forbidden: readonly string[]
  /** As in `ToolContext`. */
  control?: readonly string[]
  own?: readonly string[]
  /** As in `ToolContext`. */
  guards?: Guards
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
  /** As in `ToolContext`. */
  readable?: readonly string[]
  spill?: (callId: string, text: string) => string | null
  secrets?: Secrets
  /** Puts a picture another program's agent shows beside the session, where pages may read it; null when it could not. */
  keepPicture?: (callId: string, bytes: Buffer, ending: string) => string | null
  beforeChange?: (what: Changing) => Promise<void>
  processes?: Processes
  /**
   * Called when an endpoint failed for good: another key, else the next fallback, else null. It lasts for
   * the rest of this turn (contract, decision 31). `message` is told to the person as a warning.
   */
  recover?: (failure: ProviderFailure, failed: ModelEndpoint) => Promise<Recovery | null>
  /** How the conversation is kept within the model's window; without it, it is sent as it is. */
  compression?: Compression
  /** How often a call that fails is made in all; absent leaves it to the engine. */
  tries?: number
  /** How often it is worth making at all while it fails like this; undefined leaves it to `tries`. */
  attempts?: (failure: ProviderFailure, endpoint: ModelEndpoint) => number | undefined
  /** Told once a run when an endpoint has answered: its key is good. Must not throw. */
  answered?: (endpoint: ModelEndpoint) => void
  /** Only looked at by another program's agent. */
  external?: External
  /** What a person said into the running turn; read before each model call, and before the turn ends. */
  inbox?: () => readonly Steered[]
  /** Asked before each model call, a subagent's too: null to go on, else the sentence why the turn ends here. */
  allow?: () => Promise<string | null>
  /** Told after each model call what the run has used so far, its subagents included. */
  spent?: (usage: Usage) => void
  /** Absent: no subagents. */
  delegation?: Delegation
}

/** `said` is recorded, `read` is what the model gets: the same, but for a skill that was called by name. */
export type Steered = { key: string; said: string; read: string; attachments: readonly string[] }

/** How far a turn may delegate. */
export type Delegation = {
  /** 0 for the turn itself; a subagent at `maxDepth` delegates no further. */
  depth: number
  maxDepth: number
  /** Model calls of one subagent. */
  maxSteps: number
  /** The subagents' own model; absent: the one of the moment. Throws the sentence why it cannot be called. */
  endpoint?: () => ModelEndpoint
}

export type SubagentTask = {
  /** Its place among the tasks of one call. */
  index: number
  goal: string
  context: string
  /** Empty: whatever the caller has. */
  toolsets: readonly string[]
  maxSteps?: number
}

/** One call of a subagent, kept with the result so that a reload can show it; `trace` is what subagents of its own did. */
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
}

/** What is from a subagent: the call that delegated, and the place among its tasks. */
export type Nested = { parent: string; index: number }

export type Recovery = { endpoint: ModelEndpoint; kind: 'rotated' | 'fallback'; message: string }

/** A finished message of the run. `id` is the one its deltas named; tool results get theirs when they begin to be recorded. */
export type RunMessage = WireMessage & {
  id: string
  attachments?: string[]
  reasoning?: string
  model?: string
  provider?: string
  /** What people see of a program's output: as in `content`, with its colours. */
  _output?: string
}

export type AgentEvent =
  | { type: 'token'; messageId: string; text: string; owner?: Nested }
  | { type: 'reasoning'; messageId: string; text: string; owner?: Nested }
  /**
   * What streamed for the message is void, words included; the call is made again after `delayMs`, and all of it is said
   * again under the same id. `attempt` have failed, of `attempts` that are made at most.
   */
  | {
      type: 'retry'
      messageId: string
      attempt: number
      attempts: number
      delayMs: number
      message: string
      owner?: Nested
    }
  /** Record it before anything that follows: an assistant message comes before its tools run, a result when it is known, in source order. */
  | { type: 'message'; message: RunMessage; steered?: string }
  | {
      type: 'tool'
      callId: string
      name: string
      preview: string | null
      args: Record<string, unknown>
      owner?: Nested
    }
  | { type: 'tool_output'; callId: string; text: string; owner?: Nested }
  | {
      type: 'tool_complete'
      callId: string
      name: string
      preview: string | null
      args: Record<string, unknown>
      durationMs: number
      isError: boolean
      owner?: Nested
    }
  | { type: 'warning'; kind: string; message: string }
  /** Earlier messages are being summarised, which takes a while. */
  | { type: 'compressing'; tokens: number }
  /** Record it: `text` stands from here on for the messages from one id to another. Null: they stand in no transcript. */
  | {
      type: 'compressed'
      first: string | null
      last: string | null
      text: string
      beforeTokens: number
      afterTokens: number
    }
  /** A subagent begins, and ends. */
  | { type: 'subagent'; owner: Nested; goal: string; status: SubagentStatus }

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
