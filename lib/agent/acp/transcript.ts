/** Converts an agent's updates to messages and events: calls before their results, text under its message's id. */
import type { Clock } from '../../base/clock.ts'
import type { AgentRequest, Emit } from '../types.ts'
import { createCallTracker, type TerminalView } from './call-tracker.ts'
import type { ReadFile } from './edits.ts'
import type { AgentHooks } from './hooks.ts'
import { createImages } from './images.ts'
import { createMessageWriter } from './message-writer.ts'
import { blockText, planCall } from './tool-calls.ts'
import type { Block, PlanEntry } from './updates.ts'

export type TranscriptOptions = {
  request: Pick<AgentRequest, 'nextMessageId' | 'workspace' | 'history' | 'saveImage' | 'secrets'>
  emit: Emit
  clock: Pick<Clock, 'monotonic'>
  served: { provider: string; model: string }
  /** Output of our terminals for a call. */
  terminals: TerminalView
  /** Called with the terminals of a call, whose output belongs to its card. */
  onTerminals: (callId: string, terminalIds: string[]) => void
  /** Reads a file for a diff. */
  readFile: ReadFile
  /** Called when the turn exceeds its limits. */
  onFlood: () => void
  /** Called with each call that has run, and its result. */
  onFinished?: AgentHooks['finished']
}

export type Transcript = ReturnType<typeof createTranscript>

/** Makes call ids that are unique in the journal. */
const createCallIds = (history: AgentRequest['history']) => {
  const usedIds = new Set(
    history.flatMap(message => (message.tool_calls ?? []).map(call => call.id)),
  )
  return (wanted: string): string => {
    let id = wanted || 'call'
    for (let at = 2; usedIds.has(id); at++) id = `${wanted}_${at}`
    usedIds.add(id)
    return id
  }
}

export const createTranscript = (options: TranscriptOptions) => {
  const { request, emit, clock, served, terminals, onTerminals, readFile, onFlood, onFinished } =
    options
  const images = createImages(request.saveImage)
  const idFor = createCallIds(request.history)
  const writer = createMessageWriter({ request, emit, served, onFlood })
  const calls = createCallTracker({
    workspace: request.workspace,
    emit,
    clock,
    writer,
    images,
    idFor,
    terminals,
    onTerminals,
    readFile,
    onFlood,
    onFinished,
  })
  let plan = ''

  return {
    text(block: Block): void {
      if (!writer.isClosed()) writer.add('text', images.inAnswer(block) ?? blockText(block))
    },
    thought: (block: Block) => writer.add('reasoning', blockText(block)),
    call: calls.update,
    awaitApproval: calls.awaitApproval,
    markDenied: calls.markDenied,

    plan(entries: readonly PlanEntry[]): void {
      const written = JSON.stringify(entries)
      if (writer.isClosed() || entries.length === 0 || written === plan) return
      plan = written
      const { args, preview, content } = planCall(entries)
      const id = idFor('plan')
      const head = { callId: id, name: 'todo', preview, args }
      writer.record([
        { id, type: 'function', function: { name: 'todo', arguments: JSON.stringify(args) } },
      ])
      emit({ type: 'tool', ...head })
      emit({ type: 'tool_complete', ...head, durationMs: 0, isError: false })
      writer.message({ role: 'tool', tool_call_id: id, name: 'todo', content })
    },

    /** Ends the turn: open calls fail with the reason `how`. Returns the last text. */
    end(how: string): { text: string; steps: number; isEmpty: boolean } {
      calls.failOpen(how)
      writer.record()
      writer.close()
      const { last, steps } = writer.summary()
      return { text: last, steps, isEmpty: steps === 0 }
    },
    /** Ends without recording the open message and calls; the runner records those of an interrupted turn. */
    abandon(): { steps: number; isEmpty: boolean } {
      writer.flush()
      writer.close()
      const { steps, streamedChars } = writer.summary()
      return { steps, isEmpty: steps === 0 && streamedChars === 0 && calls.count() === 0 }
    },
  }
}
