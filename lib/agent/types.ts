/** Contracts of the engine: request in, events out, one outcome. No HTTP, sessions, profiles or environment in here. */
import type { z } from 'zod'
import type { FailureType } from '../schema/event.ts'
import type { ToolCall } from '../schema/message.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import type { ApprovalRequest } from './approval-request.ts'
import type { Usage } from '../schema/usage.ts'
import type { Compression } from './compress.ts'
import type { ExternalAgentSettings, ExternalAgentContext } from './external-agent.ts'
import type { ProviderFailure } from './failure.ts'
import type { Processes } from './processes.ts'
import type { Secrets } from './secrets.ts'

/** A message as it is sent to a provider: these keys and no others (spec.md, Message). */
export type WireMessage = {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | { type: string; [key: string]: unknown }[]
  tool_calls?: ToolCall[]
  tool_call_id?: string
  name?: string
  refusal?: string
}

/** The wire format of a model. `acp` is an external agent: it runs whole turns, never a single model call. */
export type ApiMode = 'chat_completions' | 'anthropic_messages' | 'codex_responses' | 'acp' | 'demo'
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh'

/** One model at one address, ready to be called: {provider, model} with address, key and limits resolved. */
export type ModelEndpoint = {
  provider: string
  model: string
  apiMode: ApiMode
  /** Without trailing slash; empty for `demo`. */
  baseUrl: string
  apiKey: string | null
  /** Context window in tokens; 0 when unknown. */
  contextLength: number
  /** Upper bound of tokens per response; absent: the provider's default. */
  maxTokens?: number
  effort?: Effort
  /** US dollars per million tokens; absent when unknown. */
  price?: { input: number; output: number; cacheRead?: number; cacheWrite?: number }
  /** Lifetime of cached prompt parts at the provider; five minutes when absent. */
  cacheTtl?: '5m' | '1h'
  /** Routing preferences of an aggregator such as OpenRouter, passed through unchanged. */
  routing?: Readonly<Record<string, unknown>>
  /** The credential pool entry the key comes from, so that a rejected key can be put on cooldown. */
  credential?: { pool: string; id: string }
  /** Command line of the external agent; only with `acp`. */
  command?: readonly string[]
  /** The external agent, its display name, and the model to select in it (null: its own choice). Only with `acp`. */
  agent?: { id: string; name: string; model: string | null; settings?: ExternalAgentSettings }
}

/**
 * Opaque data a provider must get back within the turn: thinking signatures, encrypted reasoning.
 * It is never recorded (contract, decision 32) and is sent only to the endpoint that produced it.
 */
export type ProviderState = {
  endpointKey: string
  items: readonly unknown[]
  /** For each call of the message, its indexes in the response; absent when no duplicate was dropped. */
  callSources?: readonly (readonly number[])[]
}

/** A message inside the loop. `id` is its id in the transcript; absent for messages that are not recorded. */
export type LoopMessage = WireMessage & {
  id?: string
  providerState?: ProviderState
  /** Position in the transcript, where known: a summary must cover a contiguous range. */
  position?: number
  /** Set on a summary: it replaces the messages from one id to another. */
  summary?: { from: string; to: string; text: string }
}

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
  /** What the person should know of how the endpoint had to be asked; told once a run. */
  | { type: 'notice'; text: string }
  /** Kept beside the assistant message for the rest of the turn. */
  | { type: 'provider_state'; item: unknown }
  | { type: 'finish'; reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other' }

export type ProviderRequest = {
  endpoint: ModelEndpoint
  /** `carry` is there only where this endpoint said it. */
  messages: (WireMessage & { providerState?: ProviderState })[]
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

export type { ApprovalRequest }

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
  controlPaths?: readonly string[]
  /** Ports this service answers on. */
  ownAddresses?: readonly string[]
  /** Absent: the home forbids nothing. */
  guards?: Guards
  signal: AbortSignal
  /** Live output, shown as it comes; not what the model reads. */
  output: (text: string) => void
  approve: (ask: ApprovalRequest) => Promise<ApprovalChoice>
  /** Null when nobody answered in time: the tool then tells the model to use its own judgement. */
  clarify: (question: string, choices: string[]) => Promise<string | null>
  /** Below forbidden ones and readable all the same: long results of this session that were put aside. */
  readable?: readonly string[]
  /** Puts a text aside that is too long to be answered whole; where it stands, or null when it could not be kept. */
  offload?: (text: string) => string | null
  /** Must be awaited before files change: these real paths, or anything in the workspace. Rejects only when the run was stopped. */
  beforeChange?: (what: ChangeScope) => Promise<void>
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
export type ChangeScope = readonly string[] | 'workspace'

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
  parallel?: boolean
  /** The object of the verb, for the card: a path, a command, a pattern. */
  preview: (input: z.output<I>) => string
  run: (ctx: ToolContext, input: z.output<I>) => Promise<ToolResult> | ToolResult
}

export type AgentRequest = {
  endpoint: ModelEndpoint
  system: string
  /** Messages sent before the history; never recorded. */
  prefill?: readonly WireMessage[]
  /** The conversation so far; the last message is the user's. */
  history: LoopMessage[]
  /** Attachments of the newest message, as paths. Used by external agents only. */
  attachments?: readonly string[]
  tools: readonly Tool[]
  workspace: string
  env: Readonly<Record<string, string>>
  forbidden: readonly string[]
  /** As in `ToolContext`. */
  controlPaths?: readonly string[]
  ownAddresses?: readonly string[]
  guards?: Guards
  /** Model calls per turn. At the limit one last call without tools asks for a summary. */
  maxSteps: number
  signal: AbortSignal
  /** The id the next message will have; asked for once when a message begins, used by all its deltas. */
  nextMessageId: () => string
  approve: (ask: ApprovalRequest, callId: string) => Promise<ApprovalChoice>
  clarify: (question: string, choices: string[], callId: string) => Promise<string | null>
  /** Where a provider is looked up; a test passes its own. */
  providers: Providers
  now?: () => number
  /** The session's id, as the key of per-session caches and memories. */
  sessionKey?: string
  readable?: readonly string[]
  offload?: (callId: string, text: string) => string | null
  secrets?: Secrets
  /** Puts a picture another program's agent shows beside the session, where pages may read it; null when it could not. */
  saveImage?: (callId: string, bytes: Buffer, ending: string) => string | null
  beforeChange?: (what: ChangeScope) => Promise<void>
  processes?: Processes
  /**
   * Called when an endpoint failed for good: another key, else the next fallback, else null. It lasts for
   * the rest of this turn (contract, decision 31). `message` is told to the person as a warning.
   */
  recover?: (failure: ProviderFailure, failed: ModelEndpoint) => Promise<Recovery | null>
  /** How the conversation is kept within the model's window; without it, it is sent as it is. */
  compression?: Compression
  /** How often a call that fails is made in all; absent leaves it to the engine. */
  maxAttempts?: number
  /** How often it is worth making at all while it fails like this; undefined leaves it to `tries`. */
  attemptLimit?: (failure: ProviderFailure, endpoint: ModelEndpoint) => number | undefined
  /** Told once a run when an endpoint has answered: its key is good. Must not throw. */
  onEndpointSuccess?: (endpoint: ModelEndpoint) => void
  /** Only looked at by another program's agent. */
  external?: ExternalAgentContext
  /** What a person said into the running turn; read before each model call, and before the turn ends. */
  takeSteeringMessages?: () => readonly SteeringMessage[]
  /** Asked before each model call, a subagent's too: null to go on, else the sentence why the turn ends here. */
  checkBudget?: () => Promise<string | null>
  /** Told after each model call what the run has used so far, its subagents included. */
  onUsage?: (usage: Usage) => void
  /** Absent: no subagents. */
  delegation?: Delegation
}

/** `said` is recorded, `read` is what the model gets: the same, but for a skill that was called by name. */
export type SteeringMessage = {
  key: string
  text: string
  modelText: string
  attachments: readonly string[]
}

/** Limits of delegation to subagents. */
export type Delegation = {
  /** 0 for the turn itself; a subagent at `maxDepth` delegates no further. */
  depth: number
  maxDepth: number
  /** Model calls of one subagent. */
  maxSteps: number
  /** The model of subagents; absent: the caller's current one. Throws a sentence why it cannot be called. */
  endpoint?: () => ModelEndpoint
}

export type SubagentTask = {
  /** Index among the tasks of one call. */
  index: number
  goal: string
  context: string
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
}

/** Identifies a subagent: the tool call that started it, and the index among its tasks. */
export type SubagentRef = { parent: string; index: number }

export type Recovery = { endpoint: ModelEndpoint; kind: 'rotated' | 'fallback'; message: string }

/** A finished message of the run. Deltas of an assistant message carry the same `id`. */
export type RunMessage = WireMessage & {
  id: string
  attachments?: string[]
  reasoning?: string
  model?: string
  provider?: string
  /** Command output as in `content`, with its ANSI colors, for the page. */
  _output?: string
}

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
      message: string
      owner?: SubagentRef
    }
  /** Must be recorded before later events: an assistant message precedes its tool calls; results follow in source order. */
  | { type: 'message'; message: RunMessage; steeringKey?: string }
  | {
      type: 'tool'
      callId: string
      name: string
      preview: string | null
      args: Record<string, unknown>
      owner?: SubagentRef
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
      owner?: SubagentRef
    }
  | { type: 'warning'; kind: string; message: string }
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

/** Synchronous; must not throw. */
export type Emit = (event: AgentEvent) => void

export type Failure = { type: FailureType; message: string; hint?: string }

/** An agent never rejects. `text` is the last assistant text; recording a partial message is up to the caller. */
export type Outcome = {
  status: 'finished' | 'stopped' | 'failed'
  text: string
  steps: number
  usage: Usage
  provider: string
  model: string
  failure?: Failure
}

/** Runs one turn: the engine, or an external agent. */
export type Agent = (request: AgentRequest, emit: Emit) => Promise<Outcome>
