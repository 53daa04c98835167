/** Turns what the engine emits during a turn into `session/update` notifications. */
import type { PlanEntry, SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk'
import { asObject, asObjects, asString } from '../../base/json.ts'
import { redact, redactValue } from '../../base/redact/redact.ts'
import { createStreamMask } from '../../turns/to-stream-event.ts'
import type { AgentEvent } from '../../agent/types.ts'
import { describeRetry } from '../turn-output.ts'
import {
  codeContent,
  type Edit,
  editOf,
  kindOf,
  locationsOf,
  type Place,
  readResult,
  titleOf,
} from './tool-updates.ts'

type Event<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>

export type TurnUpdatesOptions = {
  place: Place
  push: (update: SessionUpdate) => void
  /** Shows a sentence that is not part of the answer. */
  notice: (text: string) => void
}

/** A call that has started. */
type OpenCall = {
  edit: Edit
  output: string
  /** It shows its output itself. */
  hasTerminal: boolean
  /** Of a subagent: its result is not in the transcript. */
  isNested: boolean
  isError: boolean
}

const MAX_OUTPUT_CHARS = 60_000

/** The to-do list of a result; null when it has none. */
const planOf = (name: string, raw: unknown): PlanEntry[] | null => {
  if (name !== 'todo') return null
  return asObjects(asObject(raw).todos).flatMap(({ content, status }): PlanEntry[] =>
    status === 'pending' || status === 'in_progress' || status === 'completed'
      ? [{ content: asString(content), priority: 'medium', status }]
      : [],
  )
}

export type TurnUpdates = ReturnType<typeof createTurnUpdates>

export const createTurnUpdates = ({ place, push, notice }: TurnUpdatesOptions) => {
  const mask = createStreamMask()
  const calls = new Map<string, OpenCall>()
  const names = new Map<string, string>()
  let hasStreamed = false
  /** Why the model stopped, as far as it is not the end of its answer. */
  let stop: 'max_tokens' | 'max_turn_requests' | 'refusal' | null = null

  const startCall = ({ callId, name, preview, args, owner }: Event<'tool'>): void => {
    const edit = editOf(name, args, place)
    calls.set(callId, {
      edit,
      output: '',
      hasTerminal: false,
      isNested: owner !== undefined,
      isError: false,
    })
    names.set(callId, name)
    if (stop === 'max_tokens') stop = null
    push({
      sessionUpdate: 'tool_call',
      toolCallId: callId,
      title: titleOf(name, preview),
      name,
      kind: kindOf(name),
      status: 'in_progress',
      rawInput: redactValue(args),
      locations: locationsOf(name, args, place),
      ...(edit.planned.length > 0 && { content: edit.planned }),
      ...(owner && { _meta: { parentToolCallId: owner.parent } }),
    })
  }

  const showOutput = ({ callId, text }: Event<'tool_output'>): void => {
    const call = calls.get(callId)
    if (!call || call.hasTerminal) return
    call.output = (call.output + text).slice(-MAX_OUTPUT_CHARS)
    push({
      sessionUpdate: 'tool_call_update',
      toolCallId: callId,
      content: codeContent(call.output),
    })
  }

  const endCall = (callId: string, isError: boolean, content: ToolCallContent[], raw?: unknown) => {
    calls.delete(callId)
    push({
      sessionUpdate: 'tool_call_update',
      toolCallId: callId,
      status: isError ? 'failed' : 'completed',
      ...(content.length > 0 && { content }),
      ...(raw !== undefined && { rawOutput: raw }),
    })
  }

  const completeCall = ({ callId, isError }: Event<'tool_complete'>): void => {
    const call = calls.get(callId)
    if (!call) return
    // Its result follows as a message.
    if (!call.isNested) call.isError = isError
    else endCall(callId, isError, isError ? [] : [...call.edit.done(), ...codeContent(call.output)])
  }

  const showResult = (callId: string, content: string): void => {
    const call = calls.get(callId)
    const result = readResult(redact(content))
    const isError = call?.isError ?? result.isError
    const changes = isError ? [] : (call?.edit.done() ?? [])
    const shown = call?.hasTerminal ? [] : codeContent(result.text)
    endCall(callId, isError, changes.length > 0 ? changes : shown, result.raw)
    const entries = planOf(names.get(callId) ?? '', result.raw)
    if (entries) push({ sessionUpdate: 'plan', entries })
  }

  const showMessage = ({ message }: Event<'message'>): void => {
    const { role, content, tool_call_id: callId, refusal } = message
    if (role === 'tool' && callId !== undefined) showResult(callId, String(content))
    if (role !== 'assistant') return
    hasStreamed = false
    if (refusal) stop = 'refusal'
  }

  const showRetry = (event: Event<'retry'>): void => {
    notice(describeRetry(event))
    if (event.owner || !hasStreamed) return
    // Streamed text cannot be taken back.
    push({
      sessionUpdate: 'agent_message_chunk',
      messageId: event.messageId,
      content: { type: 'text', text: '\n\n*The answer starts over:*\n\n' },
    })
    hasStreamed = false
  }

  const showText = (event: Event<'token' | 'reasoning'>): void => {
    // Text of parallel subagents would be interleaved.
    if (event.text === '' || event.owner) return
    const isAnswer = event.type === 'token'
    if (isAnswer) hasStreamed = true
    push({
      sessionUpdate: isAnswer ? 'agent_message_chunk' : 'agent_thought_chunk',
      messageId: event.messageId,
      content: { type: 'text', text: event.text },
    })
  }

  const showWarning = ({ kind, message }: Event<'warning'>): void => {
    if (kind === 'step_limit') stop = 'max_turn_requests'
    if (kind === 'cut') stop = 'max_tokens'
    notice(redact(`${message}`))
  }

  const show = (event: AgentEvent): void => {
    if (event.type === 'token' || event.type === 'reasoning') showText(event)
    else if (event.type === 'tool') startCall(event)
    else if (event.type === 'tool_output') showOutput(event)
    else if (event.type === 'tool_complete') completeCall(event)
    else if (event.type === 'message') showMessage(event)
    else if (event.type === 'retry') showRetry(event)
    else if (event.type === 'warning') showWarning(event)
    else if (event.type === 'compressing') notice('Summarizing earlier messages.')
  }

  return {
    event: (event: AgentEvent): void => mask.push(event).forEach(show),
    /** Shows what is held back, and ends the calls of a stopped turn. */
    end(): void {
      mask.flush().forEach(show)
      for (const callId of [...calls.keys()]) endCall(callId, true, [])
    },
    /** Shows a terminal of the client in the call that runs there. */
    showTerminal(callId: string, terminalId: string): void {
      const call = calls.get(callId)
      if (!call) return
      call.hasTerminal = true
      push({
        sessionUpdate: 'tool_call_update',
        toolCallId: callId,
        content: [{ type: 'terminal', terminalId }],
      })
    },
    stopReason: () => stop,
    /** The differences that a call shows, for its approval. */
    contentOf: (callId: string): ToolCallContent[] => calls.get(callId)?.edit.planned ?? [],
    has: (callId: string): boolean => calls.has(callId),
  }
}
