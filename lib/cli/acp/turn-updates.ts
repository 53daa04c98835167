/** Turns what the engine emits during a turn into `session/update` notifications. */
import type { PathScope } from '../../agent/types.ts'
import type { PlanEntry, SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk'
import { asObject, asObjects, asString } from '../../base/json.ts'
import { redact, redactValue } from '../../base/redact/redact.ts'
import { StreamMask } from '../../turns/to-stream-event.ts'
import type { AgentEvent } from '../../agent/types.ts'
import { describeRetry } from '../turn-output.ts'
import {
  codeContent,
  type Edit,
  editOf,
  kindOf,
  locationsOf,
  readResult,
  callTitle,
} from './tool-updates.ts'

type Event<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>

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

export class TurnUpdates {
  readonly #place: PathScope
  readonly #push: (update: SessionUpdate) => void
  /** Shows a sentence that is not part of the answer. */
  readonly #notice: (text: string) => void
  readonly #mask = new StreamMask()
  readonly #calls = new Map<string, OpenCall>()
  readonly #names = new Map<string, string>()
  #hasStreamed = false
  /** Why the model stopped, as far as it is not the end of its answer. */
  #stop: 'max_tokens' | 'max_turn_requests' | 'refusal' | null = null

  constructor(
    place: PathScope,
    push: (update: SessionUpdate) => void,
    notice: (text: string) => void,
  ) {
    this.#place = place
    this.#push = push
    this.#notice = notice
  }

  #startCall({ callId, name, preview, args, owner }: Event<'tool'>): void {
    const edit = editOf(name, args, this.#place)
    this.#calls.set(callId, {
      edit,
      output: '',
      hasTerminal: false,
      isNested: owner !== undefined,
      isError: false,
    })
    this.#names.set(callId, name)
    if (this.#stop === 'max_tokens') this.#stop = null
    this.#push({
      sessionUpdate: 'tool_call',
      toolCallId: callId,
      title: callTitle(name, preview),
      name,
      kind: kindOf(name),
      status: 'in_progress',
      rawInput: redactValue(args),
      locations: locationsOf(name, args, this.#place),
      ...(edit.planned.length > 0 && { content: edit.planned }),
      ...(owner && { _meta: { parentToolCallId: owner.parent } }),
    })
  }

  #showOutput({ callId, text }: Event<'tool_output'>): void {
    const call = this.#calls.get(callId)
    if (!call || call.hasTerminal) return
    call.output = (call.output + text).slice(-MAX_OUTPUT_CHARS)
    this.#push({
      sessionUpdate: 'tool_call_update',
      toolCallId: callId,
      content: codeContent(call.output),
    })
  }

  #endCall(callId: string, isError: boolean, content: ToolCallContent[], raw?: unknown) {
    this.#calls.delete(callId)
    this.#push({
      sessionUpdate: 'tool_call_update',
      toolCallId: callId,
      status: isError ? 'failed' : 'completed',
      ...(content.length > 0 && { content }),
      ...(raw !== undefined && { rawOutput: raw }),
    })
  }

  #completeCall({ callId, isError }: Event<'tool_complete'>): void {
    const call = this.#calls.get(callId)
    if (!call) return
    // Its result follows as a message.
    if (!call.isNested) call.isError = isError
    else
      this.#endCall(
        callId,
        isError,
        isError ? [] : [...call.edit.done(), ...codeContent(call.output)],
      )
  }

  #showResult(callId: string, content: string): void {
    const call = this.#calls.get(callId)
    const result = readResult(redact(content))
    const isError = call?.isError ?? result.isError
    const changes = isError ? [] : (call?.edit.done() ?? [])
    const output = call?.hasTerminal ? [] : codeContent(result.text)
    this.#endCall(callId, isError, changes.length > 0 ? changes : output, result.raw)
    const entries = planOf(this.#names.get(callId) ?? '', result.raw)
    if (entries) this.#push({ sessionUpdate: 'plan', entries })
  }

  #showMessage({ message }: Event<'message'>): void {
    const { role, content, tool_call_id: callId, refusal } = message
    if (role === 'tool' && callId !== undefined) this.#showResult(callId, String(content))
    if (role !== 'assistant') return
    this.#hasStreamed = false
    if (refusal) this.#stop = 'refusal'
  }

  #showRetry(event: Event<'retry'>): void {
    this.#notice(describeRetry(event))
    if (event.owner || !this.#hasStreamed) return
    // Streamed text cannot be taken back.
    this.#push({
      sessionUpdate: 'agent_message_chunk',
      messageId: event.messageId,
      content: { type: 'text', text: '\n\n*The answer starts over:*\n\n' },
    })
    this.#hasStreamed = false
  }

  #showText(event: Event<'token' | 'reasoning'>): void {
    // Text of parallel subagents would be interleaved.
    if (event.text === '' || event.owner) return
    const isAnswer = event.type === 'token'
    if (isAnswer) this.#hasStreamed = true
    this.#push({
      sessionUpdate: isAnswer ? 'agent_message_chunk' : 'agent_thought_chunk',
      messageId: event.messageId,
      content: { type: 'text', text: event.text },
    })
  }

  #showWarning({ kind, message }: Event<'warning'>): void {
    if (kind === 'step_limit') this.#stop = 'max_turn_requests'
    if (kind === 'cut') this.#stop = 'max_tokens'
    this.#notice(redact(`${message}`))
  }

  #show(event: AgentEvent): void {
    if (event.type === 'token' || event.type === 'reasoning') this.#showText(event)
    else if (event.type === 'tool') this.#startCall(event)
    else if (event.type === 'tool_output') this.#showOutput(event)
    else if (event.type === 'tool_complete') this.#completeCall(event)
    else if (event.type === 'message') this.#showMessage(event)
    else if (event.type === 'retry') this.#showRetry(event)
    else if (event.type === 'warning') this.#showWarning(event)
    else if (event.type === 'compressing') this.#notice('Summarizing earlier messages.')
  }

  event(event: AgentEvent): void {
    for (const masked of this.#mask.push(event)) this.#show(masked)
  }

  /** Shows what is held back, and ends the calls of a stopped turn. */
  end(): void {
    for (const masked of this.#mask.flush()) this.#show(masked)
    for (const callId of [...this.#calls.keys()]) this.#endCall(callId, true, [])
  }

  /** Shows a terminal of the client in the call that runs there. */
  showTerminal(callId: string, terminalId: string): void {
    const call = this.#calls.get(callId)
    if (!call) return
    call.hasTerminal = true
    this.#push({
      sessionUpdate: 'tool_call_update',
      toolCallId: callId,
      content: [{ type: 'terminal', terminalId }],
    })
  }

  stopReason(): 'max_tokens' | 'refusal' | 'max_turn_requests' | null {
    return this.#stop
  }

  /** The differences that a call shows, for its approval. */
  contentOf(callId: string): ToolCallContent[] {
    return this.#calls.get(callId)?.edit.planned ?? []
  }

  has(callId: string): boolean {
    return this.#calls.has(callId)
  }
}
