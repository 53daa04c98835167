/** Contracts of the engine: request in, events out, one outcome. No HTTP, sessions, profiles or environment in here. */
import type { Words } from '../base/sentences.ts'
import type { Clock } from '../base/clock.ts'
import type { Effort } from '../base/efforts.ts'
import type { z } from 'zod'
import type { AgentEvent, Emit } from './events.ts'
import type { FailureType } from '../schema/failure-type.ts'
import type { RunsIn } from '../schema/command-place.ts'
import type { RefusedBy } from '../schema/refused-by.ts'
import type { HookActivity } from '../schema/hook.ts'
import type { StoredImage } from '../schema/image.ts'
import type { ToolCall } from '../schema/message.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import type { Usage } from '../schema/usage.ts'
import type { Demands } from './answer-form.ts'
import type { Compression } from './compress.ts'
import type { ExternalAgentSettings, ExternalAgentContext } from './external-agent.ts'
import type { ProviderFailure } from './failure.ts'
import type { Hooks } from './hooks.ts'
import type { ImageStore } from './images.ts'
import type { NestedInstructions } from './nested-instructions.ts'
import type { Access } from './permissions/types.ts'
import type { Rules } from './permissions/rules.ts'
import type { ObservedCall, ProviderRequest, Providers } from './provider-types.ts'
import type { Delegation, SubagentResult, SubagentTask } from './subagent-types.ts'
import type {
  ApprovalRequest,
  ChangeScope,
  CheckEdits,
  CommandRunner,
  EditorFiles,
  Guards,
  PlanMode,
  Processes,
  ReadDocument,
  Secrets,
} from './tool-services.ts'
import type { EndpointWindow, WindowServices } from './window-services.ts'

/** A message as it is sent to a provider: these keys and no others. */
export type WireMessage = {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | { type: string; [key: string]: unknown }[]
  tool_calls?: ToolCall[]
  tool_call_id?: string
  name?: string
  refusal?: string
}

/** The wire format of a model. `acp` is an external agent: it runs whole turns, never a single model call. */
export type ApiMode = HttpApiMode | 'acp' | 'demo'
export type HttpApiMode =
  | 'chat_completions'
  | 'anthropic_messages'
  | 'codex_responses'
  | 'ollama_chat'

/** A sign-in in auth.json of the home `dir`. */
export type SignInReference = { dir: string; provider: string; id: string }

/** Further headers of the requests to an endpoint, and their time limits. */
export type RequestSettings = {
  /** They may hold keys. */
  headers?: Readonly<Record<string, string>>
  /** How long a response may take, and how long no data may arrive; 0: without a limit. Absent: the engine's own limits. */
  requestTimeoutMs?: number
  staleTimeoutMs?: number
}

/** One model at one address, ready to be called: {provider, model} with address, key and limits resolved. */
export type ModelEndpoint = EndpointWindow &
  RequestSettings & {
    provider: string
    /** Display name of the provider; the address of an unnamed custom endpoint. */
    providerName?: string
    model: string
    apiMode: ApiMode
    /** Without trailing slash; empty for `demo`. */
    baseUrl: string
    apiKey: string | null
    /** Upper bound of tokens per response; absent: the provider's default. */
    maxTokens?: number
    effort?: Effort
    /** US dollars per million tokens; absent when unknown. */
    price?: { input: number; output: number; cacheRead?: number; cacheWrite?: number }
    /** Lifetime of cached prompt parts at the provider; five minutes when absent. */
    cacheTtl?: '5m' | '1h'
    /** Whether the model accepts images; absent when that is not known. */
    vision?: boolean
    /** `vision` is from config.yaml, so what the server says does not change it. */
    hasConfiguredVision?: true
    /** Routing preferences of an aggregator such as OpenRouter, passed through unchanged. */
    routing?: Readonly<Record<string, unknown>>
    /** The credential pool entry the key comes from, so that a rejected key can be put on cooldown. */
    credential?: { pool: string; id: string }
    /** The sign-in in auth.json of the home `dir` that `apiKey` was read from; its current token replaces `apiKey`. */
    signIn?: SignInReference
    /** Command line of the external agent; only with `acp`. */
    command?: readonly string[]
    /** The external agent, its display name, and the model to select in it (null: its own choice). Only with `acp`. */
    agent?: { id: string; name: string; model: string | null; settings?: ExternalAgentSettings }
  }

/**
 * Opaque data a provider gets back with the message: reasoning, thinking signatures, encrypted items. It is recorded
 * apart from the transcript and sent only to the endpoint that produced it.
 */
export type ProviderState = {
  /** A digest that names the endpoint; see `endpointKeyOf`. */
  endpointKey: string
  /** The message belongs to a finished turn: `earlier-reasoning.ts` decides whether its endpoint gets it. */
  isEarlier?: boolean
  items: readonly unknown[]
  /** For each call of the message, its indexes in the response; absent when no duplicate was dropped. */
  callSources?: readonly (readonly number[])[]
}

/** A message inside the loop. `id` is its id in the transcript; absent for messages that are not recorded. */
export type LoopMessage = WireMessage & {
  id?: string
  providerState?: ProviderState
  /** Images of the user, or of a tool result. They are sent as the endpoint allows; see `providers/images.ts`. */
  images?: readonly StoredImage[]
  /** Position in the transcript, where known: a summary must cover a contiguous range. */
  position?: number
  /** Set on a summary: it replaces the messages from one id to another. */
  summary?: { from: string; to: string; text: string }
}

export type { Provider, ProviderDelta, ProviderRequest, Providers } from './provider-types.ts'
export type { ApprovalRequest, Guards }
export type {
  Delegation,
  SubagentKind,
  SubagentRef,
  SubagentResult,
  SubagentStatus,
  SubagentTask,
  TraceEntry,
} from './subagent-types.ts'
export type { AgentEvent, Emit }

/** `approvals.outside_sandbox`. */
export type OutsidePolicy = 'changes' | 'dangerous'

/** What decides which files may be read. */
export type ReadScope = {
  /** The complete environment of child processes. Its HOME is `~`. */
  env: Readonly<Record<string, string>>
  /** Absolute paths no tool may read or write: the server's state, secrets. */
  forbidden: readonly string[]
  /** Readable exceptions inside forbidden paths: offloaded results of this session. */
  readable?: readonly string[]
  /** Permission rules; absent: none. */
  rules?: Rules
}

/** What decides what a path of the model means, and whether it may be used. */
export type PathScope = ReadScope & {
  workspace: string
  /** Where commands run; absent: directly on this computer. */
  runner?: CommandRunner
}

/** What decides whether a command may run. */
export type CommandScope = PathScope & {
  /** Paths that control the agent itself (configuration, tasks, other profiles). Changing them always needs approval. */
  controlPaths?: readonly string[]
  /** Addresses this server listens on, as `host:port` or socket path. */
  ownAddresses?: readonly string[]
  /** Whether a signal to this process, or group, reaches the service. */
  isOwnProcess?: (pid: number) => boolean
}

/** What tools remember. */
export type Memos = {
  /** For one run, keyed by tool: the to-do list, … Where there is no `chatMemo`, it serves for that, too. */
  memo: Map<string, unknown>
  /** For the whole chat, until the service ends: what the model knows of files, the directory of commands. */
  chatMemo?: Map<string, unknown>
}

/** What a turn works with: the same objects for the engine, its tools, and an external agent. */
export type TurnServices = CommandScope & {
  /** What is asked about where commands run directly on this computer; absent: everything that can change something. */
  outside?: OutsidePolicy
  /** Absent: no limits. */
  guards?: Guards
  /** Absent: the turn has no plan mode. */
  planMode?: PlanMode
  signal: AbortSignal
  /** Whether commands may reach this now, by an earlier answer or a setting. Absent: no. */
  allowsNetwork?: (key: string) => boolean
  /** Records a checkpoint; await it before changing files. */
  beforeChange?: (what: ChangeScope) => Promise<void>
  /** Told of the run's own calls, just before their events: those of a subagent belong to the call that started it. Must not throw. */
  calls?: { started: (callId: string) => void; ended: (callId: string) => void }
  /** Background processes of the session; absent where they are not available. */
  processes?: Processes
  /** Changes of the workspace are recorded, so that they can be undone. */
  canUndo?: boolean
  secrets?: Secrets
  /** Absent: files are those on the disk. */
  editor?: EditorFiles
  /** The path of ripgrep, which the executable has in it; undefined where it cannot be unpacked. */
  unpackRipgrep?: () => string | undefined
  /** Absent: documents such as PDF files cannot be read. */
  readDocument?: ReadDocument
  /** Absent: edits are not checked. */
  checkEdits?: CheckEdits
  clock: Clock
  /** Called before each model call, also of subagents and tools: null to continue, else a sentence why the turn ends. */
  checkBudget?: () => Promise<Words | null>
}

/** The services of a turn by reference, and what its tools remember. */
export type CallScope = Memos & { turn: TurnServices }

/** One call of a tool: everything it works with. A tool reads no global state. */
export type ToolContext = CallScope & {
  callId: string
  /** Aborted with the turn, and when the run ends. */
  signal: AbortSignal
  /** As in `TurnServices`. Rejects when the run was stopped. */
  beforeChange?: (what: ChangeScope) => Promise<void>
  /** Emits live output for the page; the model reads only the result. */
  output: (text: string) => void
  /** Throws `Unapproved` when no one denied it, but no one allowed it either. */
  approve: (ask: ApprovalRequest) => Promise<ApprovalChoice>
  /** Asks the user. Null when there was no answer in time, or `signal` withdrew the question. */
  clarify: (question: string, choices: string[], signal?: AbortSignal) => Promise<string | null>
  /** A longer result is shortened; absent: only the general limits apply. */
  maxResultChars?: number
  /** Saves text that is too long for a result to a file and returns its path; null when that failed. */
  offload?: (text: string) => string | null
  /** Stores an image for the result, so that a model can see it. Throws the reason when that is not possible; absent: text only. */
  keepImage?: (bytes: Buffer, name: string) => StoredImage
  /** Stores bytes of another kind with the session and returns the path, which tools may read; null when that failed. */
  keepFile?: (bytes: Buffer, ending: string) => string | null
  /** Calls another available tool as the model would: validated, approved, recorded. Never rejects. */
  call?: (name: string, args: Record<string, unknown>) => Promise<ToolResult>
  /** Names of the available tools. */
  toolNames?: readonly string[]
  /** Runs a subagent; absent where delegation is not allowed. Never rejects. */
  spawn?: (task: SubagentTask) => Promise<SubagentResult>
  /** Called for every file that was read or written, by real path. */
  onFile?: (fullPath: string) => void
  /** Called for every command that starts, where commands have a runner. */
  onCommand?: (ranIn: RunsIn) => void
  /**
   * To be called before the call does what a second one would repeat: from then on it is not made again after a restart.
   * `output`, `beforeChange`, `onCommand`, `spawn`, and `call` imply it.
   */
  onBegin?: () => void
  /** Counts a model call of the tool in the turn. */
  addUsage?: (usage: Usage) => void
}

/** `content` is what the model reads (JSON text by convention), `preview` one line for the page. */
export type ToolResult = {
  content: string
  isError?: boolean
  /** Who refused the call; it is an error then. */
  refusedBy?: RefusedBy
  preview?: string
  /** The output in `content` with its ANSI colors, for the page; absent when it has none. */
  colored?: string
  /** Images of the result. `content` names each with its `imageLabel`, for models that cannot see them. */
  images?: readonly StoredImage[]
  /** What hooks did about the call, for the page. */
  hooks?: readonly HookActivity[]
  /** Where its command ran, for the page. */
  ranIn?: RunsIn
}

/** A tool may throw; the loop turns the error into an error result. */
export type Tool<I extends z.ZodType = z.ZodType> = {
  name: string
  /** Description for the model. */
  summary: string
  input: I
  /** The MCP server it belongs to. */
  server?: string
  /** Not described to the model, which finds it with `tool_search`. */
  deferred?: true
  /** Few conversations need it, so it is found with `tool_search` where that is on. What it is for, in a few words; empty: nothing a model must know before it searches. */
  seldom?: string
  /** A function of the client, which runs it itself: a call ends the turn, and its result comes with the next one. */
  isClient?: true
  /** JSON Schema for the model, instead of the one derived from `input`; MCP tools bring their own. */
  parameters?: Readonly<Record<string, unknown>>
  /** `read` calls of one batch run in parallel, all others sequentially in source order. */
  kind: 'read' | 'write' | 'execute' | 'ask' | 'think'
  /** Adjacent calls run in parallel although the tool does more than read. */
  parallel?: boolean
  /** One line about the call for the page: a path, a command, a pattern. */
  preview: (input: z.output<I>) => string
  /** For tools of other kinds than `read`: whether a call with this input changes nothing. Plan mode allows such calls. */
  onlyReads?: (input: z.output<I>) => boolean
  /** What a call with this input reaches, by which permission rules decide. Absent: nothing but itself. */
  reaches?: (input: z.output<I>, call: CallScope) => readonly Access[]
  run: (ctx: ToolContext, input: z.output<I>) => Promise<ToolResult> | ToolResult
}

export type Resumed = {
  /** Model calls. */
  steps: number
  usage: Usage
  /** Calls of the last message that have not been made: the last ones of it. They are made first. */
  calls: readonly ToolCall[]
}

export type AgentRequest = WindowServices &
  TurnServices & {
    chatMemo?: Memos['chatMemo']
    endpoint: ModelEndpoint
    system: string
    /** Messages sent before the history; never recorded. */
    prefill?: readonly WireMessage[]
    /** The conversation so far; the last message is the user's. */
    history: LoopMessage[]
    /** Attachments of the newest message, as paths. Used by external agents only. */
    attachments?: readonly string[]
    tools: readonly Tool[]
    /** Model calls per turn. At the limit, one last call that may use no tool asks for a summary. */
    maxSteps: number
    /** What this turn has done in an earlier process. */
    resumed?: Resumed
    /** Called between two steps. It may abort `signal`: nothing is under way. */
    onStepBoundary?: () => void
    /** A message may call only one function of the client. */
    oneClientCall?: boolean
    answerForm?: Demands['answerForm']
    mustCall?: Demands['mustCall']
    /** Allocates a message id; called once per message, before its first delta. */
    nextMessageId: () => string
    approve: (ask: ApprovalRequest, callId: string) => Promise<ApprovalChoice>
    clarify: (
      question: string,
      choices: string[],
      callId: string,
      signal?: AbortSignal,
      /** As `waitingCall` of an approval. */
      isWaiting?: boolean,
    ) => Promise<string | null>
    providers: Providers
    /** Called for each model call of the run and its subagents. */
    observe?: (call: ProviderRequest) => ObservedCall
    /** The session's id, as the key of per-session caches. */
    sessionKey?: string
    offload?: (callId: string, text: string) => string | null
    /** Saves an image of an external agent, or a file of an MCP server, with the session and returns its path; null when that failed. */
    saveImage?: (callId: string, bytes: Buffer, ending: string) => string | null
    /** Images of the conversation; absent: text only. */
    images?: ImageStore
    /** Other keys and models for calls that fail. */
    recovery?: TurnRecovery
    /** Compaction of the conversation; absent: it is sent in full. */
    compression?: Compression
    /** Attempts per model call, retries included; absent: the engine's defaults. */
    maxAttempts?: number
    /** At least so many where repeating helps at all; `maxAttempts` goes before it. */
    minAttempts?: number
    /** A call whose provider asks to wait longer than this fails. Absent: an hour. */
    maxRetryWaitMs?: number
    /**
     * Called when the wait before a retry begins, subagents included: `retryNow` ends it. Returns a function to call when
     * the wait is over.
     */
    onRetryWait?: (retryNow: () => void) => () => void
    /** Used by external agents only. */
    external?: ExternalAgentContext
    /** Returns new steering messages; called before each model call and before the turn ends. */
    takeSteeringMessages?: () => readonly SteeringMessage[] | Promise<readonly SteeringMessage[]>
    /** Called after each model call with the usage of the run so far, subagents included. */
    onUsage?: (usage: Usage) => void
    /** Absent: no subagents. */
    delegation?: Delegation
    /** Absent: none besides those in the system prompt. */
    instructions?: NestedInstructions
    /** Programs of the user that run around tool calls and at the end of the turn; absent: none. */
    hooks?: Hooks
  }

/** `text` is recorded, `modelText` is sent to the model: they differ when the message calls a skill by name. */
export type SteeringMessage = {
  key: string
  text: string
  modelText: string
  /** The attached images. */
  images?: readonly StoredImage[]
  attachments: readonly string[]
}

/** What a turn does when its endpoint fails. */
export type TurnRecovery = {
  /**
   * Called when an endpoint failed permanently: returns another key, else the next fallback, else null. The choice holds
   * for the rest of the turn. `message` is shown as a warning.
   */
  recover(failure: ProviderFailure, failed: ModelEndpoint): Promise<Recovery | null>
  /** Lower limit of attempts for this failure; undefined leaves `maxAttempts` in force. */
  attemptLimit?(failure: ProviderFailure, endpoint: ModelEndpoint): number | undefined
  /** Called once per run and endpoint after the first successful call. Must not throw. */
  onEndpointSuccess?(endpoint: ModelEndpoint): void
}

export type Recovery = { endpoint: ModelEndpoint; kind: 'rotated' | 'fallback'; message: Words }

/** A finished message of the run. Deltas of an assistant message carry the same `id`. */
export type RunMessage = WireMessage & {
  id: string
  attachments?: string[]
  reasoning?: string
  model?: string
  provider?: string
  /** Command output as in `content`, with its ANSI colors, for the page. */
  _output?: string
  /** Images of a tool result. */
  _images?: StoredImage[]
  /** What hooks did about the call; on a message of the user: a hook sent it. */
  _hooks?: HookActivity[]
  /** Where the command of the call ran. */
  _ran_in?: RunsIn
  _failed?: true
  _refused_by?: RefusedBy
  /** The turn ended with this message because it had used all its steps: their number. */
  _step_limit?: number
}

export type Failure = { type: FailureType; message: Words; hint?: Words }

/** `text` is the last assistant text; recording a partial message is up to the caller. */
export type Outcome = {
  status: 'finished' | 'stopped' | 'failed'
  text: string
  steps: number
  usage: Usage
  provider: string
  model: string
  failure?: Failure
}

/** Runs one turn: the engine, or an external agent. Never rejects. */
export type Agent = (request: AgentRequest, emit: Emit) => Promise<Outcome>
