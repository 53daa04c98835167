/** Converts an agent's updates to messages and events: calls before their results, text under its message's id. */
import type { Clock } from '../../base/clock.ts'
import type { Refusal } from '../../base/refusal.ts'
import { blockedResult } from '../error-result.ts'
import type { AgentRequest, Emit } from '../types.ts'
import { Edits, type ReadFile } from './edits.ts'
import type { AgentHooks } from './hooks.ts'
import { Images } from './images.ts'
import { MessageWriter } from './message-writer.ts'
import {
  blockText,
  type Call,
  describe,
  isFinished,
  isSettled,
  mergeCall,
  outputIn,
  planCall,
  resultOf,
  type TerminalOutput,
} from './tool-calls.ts'
import type { Block, CallUpdate, PlanEntry } from './updates.ts'

/** Limit of one turn's calls; beyond it the turn is stopped. */
const MAX_CALLS = 5_000

/** What a transcript is of: a turn, or a replayed history, which has less. */
export type TranscriptTurn = {
  workspace: string
  /** Call ids are unique in a journal. */
  history: AgentRequest['history']
  nextMessageId: () => string
  saveImage?: AgentRequest['saveImage']
  secrets?: AgentRequest['secrets']
  emit: Emit
  clock: Clock
  served: { provider: string; model: string }
  hooks?: AgentHooks
  /** Output of our terminals for a call. */
  terminals: (ids: string[]) => TerminalOutput | null
  /** Called with the terminals of a call, whose output belongs to its card. */
  onTerminals: (callId: string, terminalIds: string[]) => void
  /** Reads a file for a diff. */
  readFile: ReadFile
  /** Called when the turn exceeds its limits. */
  onFlood: () => void
}

/** A call that has not finished. */
type OpenCall = {
  call: Call
  /** Its id in the journal. */
  id: string
  name: string
  startedAt: number
  isShown: boolean
  /** Why it may not run; null: no one refused it. */
  denied: Refusal | null
}

export class Transcript {
  readonly #turn: TranscriptTurn
  readonly #images: Images
  readonly #writer: MessageWriter
  readonly #edits: Edits
  readonly #usedIds: Set<string>
  readonly #open = new Map<string, OpenCall>()
  /** The agent's ids of finished calls; later updates are ignored. */
  readonly #finishedIds = new Set<string>()
  /** How many calls the agent has started. */
  #calls = 0
  #plan = ''

  constructor(turn: TranscriptTurn) {
    this.#turn = turn
    this.#images = new Images(turn.saveImage)
    this.#writer = new MessageWriter(turn, turn.onFlood)
    this.#edits = new Edits(turn.workspace, turn.readFile)
    this.#usedIds = new Set(
      turn.history.flatMap(message => (message.tool_calls ?? []).map(call => call.id)),
    )
  }

  text(block: Block): void {
    if (!this.#writer.isClosed)
      this.#writer.add('text', this.#images.inAnswer(block) ?? blockText(block))
  }

  thought(block: Block): void {
    this.#writer.add('reasoning', blockText(block))
  }

  plan(entries: readonly PlanEntry[]): void {
    const text = JSON.stringify(entries)
    if (this.#writer.isClosed || entries.length === 0 || text === this.#plan) return
    this.#plan = text
    const { args, preview, content } = planCall(entries)
    const id = this.#idFor('plan')
    const head = { callId: id, name: 'todo', preview, args }
    this.#recordCall(id, 'todo', args)
    this.#turn.emit({ type: 'tool', ...head })
    this.#turn.emit({ type: 'tool_complete', ...head, durationMs: 0, isError: false })
    this.#writer.message({ role: 'tool', tool_call_id: id, name: 'todo', content })
  }

  /** Applies an update of a call; the first one starts the call. */
  call(received: CallUpdate): void {
    if (this.#writer.isClosed || this.#finishedIds.has(received.toolCallId)) return
    const { emit } = this.#turn
    const update = this.#images.inCall(received)
    const openCall = this.#open.get(update.toolCallId)
    if (!openCall && ++this.#calls > MAX_CALLS) {
      this.#turn.onFlood()
      return
    }
    const before = openCall?.call
    const call = mergeCall(before, update)
    const entry = this.#track(openCall, call)
    if (!isFinished(call)) this.#edits.recordBefore(call)
    const ids = terminalsOf(call)
    if (ids.length > 0) this.#turn.onTerminals(entry.id, ids)
    const printed = outputIn(update)
    if (isSettled(call)) this.#show(entry)
    if (printed !== '' && entry.isShown)
      emit({ type: 'tool_output', callId: entry.id, text: printed })
    if (isFinished(call)) this.#finish(entry)
    else if (entry.isShown && ids.length === 0) {
      // Growing output: emit only the new part.
      const grown = outputOf(call)
      const had = before ? outputOf(before) : ''
      if (grown.length > had.length && grown.startsWith(had))
        emit({ type: 'tool_output', callId: entry.id, text: grown.slice(had.length) })
    }
  }

  /** Shows a call that needs approval. Returns its id in our transcript. */
  awaitApproval(received: CallUpdate): { call: Call; id: string; diff: string } {
    const update = this.#images.inCall(received)
    const openCall = this.#open.get(update.toolCallId)
    const call = mergeCall(openCall?.call, update)
    const entry = this.#track(openCall, call)
    this.#edits.recordBefore(call)
    this.#show(entry)
    return { call, id: entry.id, diff: this.#edits.planned(call) }
  }

  /** The user denied the call, or it is blocked. */
  markDenied(agentCallId: string, why: Refusal): void {
    const entry = this.#open.get(agentCallId)
    if (entry) entry.denied = why
  }

  /** Ends the turn: open calls fail with the reason `how`. Returns the last text. */
  end(how: string): { text: string; steps: number } {
    for (const entry of [...this.#open.values()]) {
      entry.call = { ...entry.call, status: 'failed', rawOutput: how, content: [] }
      this.#finish(entry)
    }
    this.#writer.record()
    this.#writer.close()
    return { text: this.#writer.last, steps: this.#writer.steps }
  }

  /** Ends without recording the open message and calls; the runner records those of an interrupted turn. */
  abandon(): { steps: number; isEmpty: boolean } {
    this.#writer.flush()
    this.#writer.close()
    const { steps, streamedChars } = this.#writer
    return { steps, isEmpty: steps === 0 && streamedChars === 0 && this.#calls === 0 }
  }

  /** An id that is unique in the journal. */
  #idFor(base: string): string {
    let id = base || 'call'
    for (let at = 2; this.#usedIds.has(id); at++) id = `${base}_${at}`
    this.#usedIds.add(id)
    return id
  }

  #track(openCall: OpenCall | undefined, call: Call): OpenCall {
    const entry = openCall ?? {
      call,
      id: this.#idFor(call.id),
      name: '',
      startedAt: this.#turn.clock.monotonic(),
      isShown: false,
      denied: null,
    }
    entry.call = call
    this.#open.set(call.id, entry)
    return entry
  }

  #recordCall(id: string, name: string, args: Record<string, unknown>): void {
    this.#writer.record([
      { id, type: 'function', function: { name, arguments: JSON.stringify(args) } },
    ])
  }

  #show(entry: OpenCall): void {
    if (entry.isShown) return
    entry.isShown = true
    const { name, args, preview } = describe(entry.call, this.#turn.workspace)
    entry.name = name
    this.#recordCall(entry.id, name, args)
    this.#turn.emit({ type: 'tool', callId: entry.id, name, preview, args })
  }

  #finish(entry: OpenCall): void {
    // The text being streamed already has an id; the result needs the next one.
    if (entry.isShown) this.#writer.record()
    this.#show(entry)
    const { call, id: callId, name, denied, startedAt } = entry
    this.#open.delete(call.id)
    this.#finishedIds.add(call.id)
    const ids = terminalsOf(call)
    const diff = this.#edits.done(call)
    const refusal = call.status === 'failed' ? denied : null
    const { content, isError = false } =
      refusal !== null
        ? blockedResult(refusal.by, refusal.message)
        : resultOf(call, diff, ids.length > 0 ? this.#turn.terminals(ids) : null)
    const { args, preview } = describe(call, this.#turn.workspace)
    const durationMs = this.#turn.clock.monotonic() - startedAt
    this.#turn.emit({ type: 'tool_complete', callId, name, preview, args, durationMs, isError })
    if (denied === null)
      this.#turn.hooks?.finished(
        { callId, name, kind: call.kind, args },
        { content, isError, durationMs },
      )
    this.#writer.message({
      role: 'tool',
      tool_call_id: callId,
      name,
      content,
      ...(refusal ? { _refused_by: refusal.by } : isError && { _failed: true as const }),
    })
    this.#writer.add('text', this.#images.belowCall(call.content))
  }
}

const terminalsOf = (call: Call): string[] =>
  call.content.flatMap(part => (part.type === 'terminal' ? [part.terminalId] : []))

const outputOf = (call: Call): string =>
  call.kind === 'execute'
    ? call.content
        .flatMap(part => (part.type === 'content' ? [blockText(part.content)] : []))
        .join('\n')
    : ''
