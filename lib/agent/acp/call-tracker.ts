/** Tracks the tool calls of a turn: shows each call, streams its output, and emits its result with the diff of its edits. */
import type { Refusal } from '../../base/refusal.ts'
import { blockedResult } from '../error-result.ts'
import type { Clock } from '../../base/clock.ts'
import type { Emit } from '../types.ts'
import { createEdits, type ReadFile } from './edits.ts'
import type { AgentHooks } from './hooks.ts'
import type { Images } from './images.ts'
import type { MessageWriter } from './message-writer.ts'
import {
  blockText,
  type Call,
  describe,
  isFinished,
  isSettled,
  mergeCall,
  outputIn,
  resultOf,
  type TerminalOutput,
} from './tool-calls.ts'
import type { CallUpdate } from './updates.ts'

/** Limit of one turn's calls; beyond it the turn is stopped. */
const MAX_CALLS = 5_000

export type TerminalView = (ids: string[]) => TerminalOutput | null

export type CallTrackerOptions = {
  workspace: string
  emit: Emit
  clock: Pick<Clock, 'monotonic'>
  writer: MessageWriter
  images: Images
  /** Makes an id of the journal from the agent's id of a call. */
  idFor: (wanted: string) => string
  /** Output of our terminals for a call. */
  terminals: TerminalView
  /** Called with the terminals of a call, whose output belongs to its card. */
  onTerminals: (callId: string, terminalIds: string[]) => void
  /** Reads a file for a diff. */
  readFile: ReadFile
  /** Called when there are too many calls. */
  onFlood: () => void
  /** Called with each call that has run, and its result. */
  onFinished?: AgentHooks['finished']
}

type Open = {
  call: Call
  id: string
  name: string
  startedAt: number
  isShown: boolean
  /** Why it may not run; null: no one refused it. */
  denied: Refusal | null
}

export const createCallTracker = (options: CallTrackerOptions) => {
  const { workspace, emit, clock, writer, images, idFor } = options
  const edits = createEdits(workspace, options.readFile)
  const open = new Map<string, Open>()
  /** The agent's ids of finished calls; later updates are ignored. */
  const done = new Set<string>()
  let calls = 0

  const track = (known: Open | undefined, call: Call): Open => {
    const entry = known ?? {
      call,
      id: idFor(call.id),
      name: '',
      startedAt: clock.monotonic(),
      isShown: false,
      denied: null,
    }
    entry.call = call
    open.set(call.id, entry)
    return entry
  }

  const show = (entry: Open): void => {
    if (entry.isShown) return
    entry.isShown = true
    const { name, args, preview } = describe(entry.call, workspace)
    entry.name = name
    writer.record([
      { id: entry.id, type: 'function', function: { name, arguments: JSON.stringify(args) } },
    ])
    emit({ type: 'tool', callId: entry.id, name, preview, args })
  }

  const finish = (entry: Open): void => {
    // The text being streamed already has an id; the result needs the next one.
    if (entry.isShown) writer.record()
    show(entry)
    open.delete(entry.call.id)
    done.add(entry.call.id)
    const ids = terminalsOf(entry.call)
    const diff = edits.done(entry.call)
    const refusal = entry.call.status === 'failed' ? entry.denied : null
    const { content, isError = false } =
      refusal !== null
        ? blockedResult(refusal.by, refusal.message)
        : resultOf(entry.call, diff, ids.length > 0 ? options.terminals(ids) : null)
    const { args, preview } = describe(entry.call, workspace)
    const durationMs = clock.monotonic() - entry.startedAt
    const { id: callId, name } = entry
    emit({ type: 'tool_complete', callId, name, preview, args, durationMs, isError })
    const { kind } = entry.call
    if (entry.denied === null)
      options.onFinished?.({ callId, name, kind, args }, { content, isError, durationMs })
    writer.message({
      role: 'tool',
      tool_call_id: entry.id,
      name: entry.name,
      content,
      ...(refusal ? { _refused_by: refusal.by } : isError && { _failed: true as const }),
    })
    writer.add('text', images.belowCall(entry.call.content))
  }

  return {
    /** Applies an update of a call; the first one starts the call. */
    update(given: CallUpdate): void {
      if (writer.isClosed() || done.has(given.toolCallId)) return
      const update = images.inCall(given)
      const known = open.get(update.toolCallId)
      if (!known && ++calls > MAX_CALLS) {
        options.onFlood()
        return
      }
      const before = known?.call
      const call = mergeCall(before, update)
      const entry = track(known, call)
      if (!isFinished(call)) edits.recordBefore(call)
      const ids = terminalsOf(call)
      if (ids.length > 0) options.onTerminals(entry.id, ids)
      const printed = outputIn(update)
      if (isSettled(call)) show(entry)
      if (printed !== '' && entry.isShown)
        emit({ type: 'tool_output', callId: entry.id, text: printed })
      if (isFinished(call)) finish(entry)
      else if (entry.isShown && ids.length === 0) {
        // Growing output: emit only the new part.
        const grown = outputOf(call)
        const had = before ? outputOf(before) : ''
        if (grown.length > had.length && grown.startsWith(had))
          emit({ type: 'tool_output', callId: entry.id, text: grown.slice(had.length) })
      }
    },

    /** Shows a call that needs approval. Returns its id in our transcript. */
    awaitApproval(given: CallUpdate): { call: Call; id: string; diff: string } {
      const update = images.inCall(given)
      const known = open.get(update.toolCallId)
      const call = mergeCall(known?.call, update)
      const entry = track(known, call)
      edits.recordBefore(call)
      show(entry)
      return { call, id: entry.id, diff: edits.planned(call) }
    },

    /** The user denied the call, or it is blocked. */
    markDenied(agentCallId: string, why: Refusal): void {
      const entry = open.get(agentCallId)
      if (entry) entry.denied = why
    },

    /** Fails all open calls with the reason `how`. */
    failOpen(how: string): void {
      for (const entry of [...open.values()]) {
        entry.call = { ...entry.call, status: 'failed', rawOutput: how, content: [] }
        finish(entry)
      }
    },

    /** How many calls the agent has started. */
    count: () => calls,
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
