/** State of one run of the engine: the current endpoint, the messages, counters, and everything a step needs. */
import { setMaxListeners } from 'node:events'
import { thresholdOf } from './compress-plan.ts'
import { ContextWindow } from './context-window.ts'
import { createImageKeeper } from './images.ts'
import { createInstructionLookup } from './nested-instructions.ts'
import { repairHistory } from './repair-history.ts'
import { type Wait, waitOn } from './retry.ts'
import { createSpawn } from './subagent.ts'
import { restoreDirectory } from './tools/shell-state.ts'
import { todoMemo } from './tools/todo.ts'
import { describeTools } from './tool-schema.ts'
import type { Agent, AgentRequest, Emit, ModelEndpoint, Outcome } from './types.ts'
import { createUsageMeter } from './usage-meter.ts'

/** Delays and randomness of retries, replaced in tests. */
export type EngineOptions = { wait?: Wait; random?: () => number }

/** `agent` runs subagents. */
export const createRun = (
  request: AgentRequest,
  emit: Emit,
  options: EngineOptions,
  agent: Agent,
) => {
  const runEnd = new AbortController()
  const { compression, resumed } = request
  const meter = createUsageMeter(
    request.endpoint,
    request.onUsage,
    compression && (endpoint => thresholdOf(compression.settings, endpoint)),
    resumed?.usage,
  )
  const { chatMemo = new Map<string, unknown>() } = request
  restoreDirectory(chatMemo, request.workspace, request.history, request.runner?.hostPath)
  const signal = AbortSignal.any([request.signal, runEnd.signal])
  // Every tool call of a batch adds a listener.
  setMaxListeners(0, signal)
  const run = {
    /** Replaced when a small window needs a shorter prompt and fewer tools. */
    request,
    emit,
    meter,
    /** Aborts with the turn, and when the run ends. */
    signal,
    wait: options.wait ?? waitOn(request.clock),
    random: options.random ?? Math.random,
    clock: request.clock,
    /** The endpoint in use. A recovery replaces it for the rest of the turn. */
    endpoint: request.endpoint,
    /** The same as `recover` returned it, by which it knows what was tried; `endpoint` is a copy when its window differs. */
    chosenEndpoint: request.endpoint,
    /** The endpoint that completed the last call. */
    verifiedEndpoint: null as ModelEndpoint | null,
    messages: repairHistory(request.history, resumed?.calls),
    /** Ids of all tool calls in the conversation, so that none is used twice. */
    callIds: new Set(
      request.history.flatMap(message => message.tool_calls ?? []).map(call => call.id),
    ),
    memo: new Map<string, unknown>(todoMemo(request.history)),
    chatMemo,
    keepImage: request.images && createImageKeeper(request.images),
    /** Model calls so far. */
    steps: resumed?.steps ?? 0,
    /** Share of the step limit the model was last warned at. */
    warnedShare: 0,
    /** The model was told to call a function of the client. */
    hasDemandedCall: false,
    /** Notices already shown in this run. */
    notices: new Set<string>(),
    /** The model was told that a call in its text cannot be read. */
    isToldOfMarkup: false,
    /** The step limit, once it is reached. */
    limitedAt: 0,
    /** Text of the last assistant message. */
    text: '',
    outcome(status: Outcome['status']): Outcome {
      const { provider, model } = this.endpoint
      const usage = meter.total()
      return { status, text: this.text, steps: this.steps, usage, provider, model }
    },
    /** Stops tools of an aborted batch that are still running. */
    close: () => runEnd.abort(new Error('The turn is over.')),
  }
  return Object.assign(run, {
    spawn: createSpawn(run, agent),
    instructionsFor: createInstructionLookup(run),
    contextWindow: new ContextWindow(run, () => describeTools(run.request.tools)),
  })
}

export type Run = ReturnType<typeof createRun>
