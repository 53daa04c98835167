/** State of one run of the engine: the current endpoint, the messages, counters, and everything a step needs. */
import { setMaxListeners } from 'node:events'
import type { Clock } from '../base/clock.ts'
import { thresholdOf } from './compress-plan.ts'
import { ContextWindow } from './context-window.ts'
import { imageKeeper } from './images.ts'
import { InstructionLookup } from './nested-instructions.ts'
import { repairHistory } from './repair-history.ts'
import { type RetryTiming, type Wait, waitOn } from './retry.ts'
import { Subagents } from './subagent.ts'
import { restoreDirectory } from './tools/shell-state.ts'
import { todoMemo } from './tools/todo.ts'
import { describeTools } from './tool-schema.ts'
import type {
  Agent,
  AgentRequest,
  Emit,
  LoopMessage,
  ModelEndpoint,
  Outcome,
  ToolContext,
} from './types.ts'
import { UsageMeter } from './usage-meter.ts'

export class Run {
  /** Replaced when a small window needs a shorter prompt and fewer tools. */
  request: AgentRequest
  readonly emit: Emit
  readonly meter: UsageMeter
  /** Aborts with the turn, and when the run ends. */
  readonly signal: AbortSignal
  readonly wait: Wait
  readonly random: () => number
  readonly clock: Clock
  /** The endpoint in use. A recovery replaces it for the rest of the turn. */
  endpoint: ModelEndpoint
  /** The same as `recover` returned it, by which it knows what was tried; `endpoint` is a copy when its window differs. */
  chosenEndpoint: ModelEndpoint
  /** The endpoint that completed the last call. */
  verifiedEndpoint: ModelEndpoint | null = null
  messages: LoopMessage[]
  /** Ids of all tool calls in the conversation, so that none is used twice. */
  readonly callIds: Set<string>
  readonly memo: Map<string, unknown>
  readonly chatMemo: Map<string, unknown>
  readonly keepImage: ToolContext['keepImage']
  /** Model calls so far. */
  steps: number
  /** Share of the step limit the model was last warned at. */
  warnedShare = 0
  /** The model was told to call a function of the client. */
  hasDemandedCall = false
  /** Notices already shown in this run. */
  readonly notices = new Set<string>()
  /** The model was told that a call in its text cannot be read. */
  isToldOfMarkup = false
  /** The step limit, once it is reached. */
  limitedAt = 0
  /** Text of the last assistant message. */
  text = ''
  readonly contextWindow: ContextWindow
  readonly subagents: Subagents
  readonly instructions: InstructionLookup
  readonly #end = new AbortController()

  /** `agent` runs subagents. */
  constructor(request: AgentRequest, emit: Emit, timing: RetryTiming, agent: Agent) {
    const { compression, resumed, chatMemo = new Map<string, unknown>() } = request
    this.request = request
    this.emit = emit
    this.meter = new UsageMeter(
      request.endpoint,
      request.onUsage,
      compression && (endpoint => thresholdOf(compression.settings, endpoint)),
      resumed?.usage,
    )
    restoreDirectory(chatMemo, request.workspace, request.history, request.runner)
    this.signal = AbortSignal.any([request.signal, this.#end.signal])
    // Every tool call of a batch adds a listener.
    setMaxListeners(0, this.signal)
    this.wait = timing.wait ?? waitOn(request.clock)
    this.random = timing.random ?? Math.random
    this.clock = request.clock
    this.endpoint = request.endpoint
    this.chosenEndpoint = request.endpoint
    this.messages = repairHistory(request.history, resumed?.calls)
    this.callIds = new Set(
      request.history.flatMap(message => message.tool_calls ?? []).map(call => call.id),
    )
    this.memo = new Map(todoMemo(request.history))
    this.chatMemo = chatMemo
    this.keepImage = request.images && imageKeeper(request.images)
    this.steps = resumed?.steps ?? 0
    this.contextWindow = new ContextWindow(this, () => describeTools(this.request.tools))
    this.subagents = new Subagents(this, agent)
    this.instructions = new InstructionLookup(this)
  }

  outcome(status: Outcome['status']): Outcome {
    const { provider, model } = this.endpoint
    const usage = this.meter.total()
    return { status, text: this.text, steps: this.steps, usage, provider, model }
  }

  /** Stops tools of an aborted batch that are still running. */
  close(): void {
    this.#end.abort(new Error('The turn is over.'))
  }
}
