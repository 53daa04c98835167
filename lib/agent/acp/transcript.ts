/** Converts an agent's updates to messages and events: calls before their results, text under its message's id. */
import { setImmediate as soon } from 'node:timers'
import type { AgentRequest, Emit, RunMessage } from '../types.ts'
import { createEdits, type ReadFile } from './edits.ts'
import { createImages } from './images.ts'
import {
  blockText,
  type Call,
  describe,
  isFinished,
  isSettled,
  mergeCall,
  planCall,
  outputIn,
  type TerminalOutput,
  resultOf,
} from './tool-calls.ts'
import type { Block, CallUpdate, PlanEntry } from './updates.ts'

/** Limits of one turn; beyond them it is stopped. */
const MAX_TEXT_CHARS = 4 * 1024 * 1024
const MAX_CALLS = 5_000

export type TerminalView = (ids: string[]) => TerminalOutput | null

export type TranscriptOptions = {
  request: Pick<AgentRequest, 'nextMessageId' | 'workspace' | 'history' | 'saveImage' | 'secrets'>
  emit: Emit
  now: () => number
  served: { provider: string; model: string }
  /** Output of our terminals for a call. */
  terminals: TerminalView
  /** Called with the terminals of a call, whose output belongs to its card. */
  onTerminals: (callId: string, terminalIds: string[]) => void
  /** Reads a file for a diff. */
  readFile: ReadFile
  /** Called when the turn exceeds its limits. */
  onFlood: () => void
}

type Open = {
  call: Call
  id: string
  name: string
  startedAt: number
  isShown: boolean
  isDenied: boolean
}

export type Transcript = ReturnType<typeof createTranscript>

export const createTranscript = (options: TranscriptOptions) => {
  const { request, emit, now, served } = options
  const { workspace } = request
  const images = createImages(request.saveImage)
  const edits = createEdits(workspace, options.readFile)
  const usedIds = new Set(
    request.history.flatMap(message => (message.tool_calls ?? []).map(call => call.id)),
  )
  const open = new Map<string, Open>()
  /** The agent's ids of finished calls; later updates are ignored. */
  const done = new Set<string>()
  /** Text not yet emitted; chunks that arrive together become one event. */
  let pending = { text: '', reasoning: '' }
  let timer: NodeJS.Immediate | undefined
  let messageId: string | null = null
  let text = ''
  let reasoning = ''
  let last = ''
  let streamedChars = 0
  let calls = 0
  let steps = 0
  let plan = ''
  let isClosed = false

  const flush = (): void => {
    clearImmediate(timer)
    timer = undefined
    const { text: words, reasoning: thought } = pending
    pending = { text: '', reasoning: '' }
    if (isClosed || messageId === null) return
    if (thought !== '') emit({ type: 'reasoning', messageId, text: thought })
    if (words !== '') emit({ type: 'token', messageId, text: words })
  }

  const add = (to: 'text' | 'reasoning', words: string): void => {
    if (words === '' || isClosed) return
    streamedChars += words.length
    if (streamedChars > MAX_TEXT_CHARS) {
      options.onFlood()
      return
    }
    // A thought after text starts the next message, to keep the order.
    if (to === 'reasoning' && text !== '') record([])
    messageId ??= request.nextMessageId()
    if (to === 'text') text += words
    else reasoning += words
    if (to === 'reasoning' && pending.text !== '') flush()
    pending[to] += words
    timer ??= soon(flush)
  }

  /** Masks secrets in tool arguments and results, which come from files and not from the user. */
  const mask = (text: string): string => request.secrets?.mask(text) ?? text
  const masked = <T extends Omit<RunMessage, 'id'>>(rest: T): T => ({
    ...rest,
    ...(rest.role === 'tool' &&
      typeof rest.content === 'string' && { content: mask(rest.content) }),
    ...(rest.tool_calls && {
      tool_calls: rest.tool_calls.map(call => ({
        ...call,
        function: { ...call.function, arguments: mask(call.function.arguments) },
      })),
    }),
  })

  const message = (rest: Omit<RunMessage, 'id'>, id = request.nextMessageId()): void =>
    emit({ type: 'message', message: { id, ...masked(rest) } })

  /** Emits the assistant message so far, with its tool call. */
  const record = (made: RunMessage['tool_calls'] = []): void => {
    flush()
    if (messageId === null && made.length === 0) return
    const id = messageId ?? request.nextMessageId()
    const whole = { role: 'assistant' as const, content: text, ...served }
    steps++
    if (text.trim() !== '') last = text
    const thought = reasoning === '' ? {} : { reasoning }
    messageId = null
    text = ''
    reasoning = ''
    message({ ...whole, ...thought, ...(made.length > 0 && { tool_calls: made }) }, id)
  }

  const idFor = (wanted: string): string => {
    let id = wanted || 'call'
    for (let at = 2; usedIds.has(id); at++) id = `${wanted}_${at}`
    usedIds.add(id)
    return id
  }

  const show = (entry: Open): void => {
    if (entry.isShown) return
    entry.isShown = true
    const { name, args, preview } = describe(entry.call, workspace)
    entry.name = name
    record([
      { id: entry.id, type: 'function', function: { name, arguments: JSON.stringify(args) } },
    ])
    emit({ type: 'tool', callId: entry.id, name, preview, args })
  }

  const finish = (entry: Open): void => {
    // The text being streamed already has an id; the result needs the next one.
    if (entry.isShown) record()
    show(entry)
    open.delete(entry.call.id)
    done.add(entry.call.id)
    const ids = terminalsOf(entry.call)
    const diff = edits.done(entry.call)
    const { content, isError } =
      entry.isDenied && entry.call.status === 'failed'
        ? DENIED
        : resultOf(entry.call, diff, ids.length > 0 ? options.terminals(ids) : null)
    const { args, preview } = describe(entry.call, workspace)
    emit({
      type: 'tool_complete',
      callId: entry.id,
      name: entry.name,
      preview,
      args,
      durationMs: Math.max(0, now() - entry.startedAt),
      isError,
    })
    message({ role: 'tool', tool_call_id: entry.id, name: entry.name, content })
    add('text', images.belowCall(entry.call.content))
  }

  return {
    text(block: Block): void {
      if (!isClosed) add('text', images.inAnswer(block) ?? blockText(block))
    },
    thought: (block: Block) => add('reasoning', blockText(block)),

    call(given: CallUpdate): void {
      if (isClosed || done.has(given.toolCallId)) return
      const update = images.inCall(given)
      const known = open.get(update.toolCallId)
      if (!known && ++calls > MAX_CALLS) {
        options.onFlood()
        return
      }
      const before = known?.call
      const call = mergeCall(before, update)
      const entry = known ?? {
        call,
        id: idFor(call.id),
        name: '',
        startedAt: now(),
        isShown: false,
        isDenied: false,
      }
      entry.call = call
      open.set(call.id, entry)
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
      const entry = known ?? {
        call,
        id: idFor(call.id),
        name: '',
        startedAt: now(),
        isShown: false,
        isDenied: false,
      }
      entry.call = call
      open.set(call.id, entry)
      edits.recordBefore(call)
      show(entry)
      return { call, id: entry.id, diff: edits.planned(call) }
    },

    /** The user denied the call, or it is blocked. */
    markDenied(agentCallId: string): void {
      const entry = open.get(agentCallId)
      if (entry) entry.isDenied = true
    },

    plan(entries: readonly PlanEntry[]): void {
      const written = JSON.stringify(entries)
      if (isClosed || entries.length === 0 || written === plan) return
      plan = written
      const { args, preview, content } = planCall(entries)
      const id = idFor('plan')
      const head = { callId: id, name: 'todo', preview, args }
      record([
        { id, type: 'function', function: { name: 'todo', arguments: JSON.stringify(args) } },
      ])
      emit({ type: 'tool', ...head })
      emit({ type: 'tool_complete', ...head, durationMs: 0, isError: false })
      message({ role: 'tool', tool_call_id: id, name: 'todo', content })
    },

    /** Ends the turn: open calls fail with the reason `how`. Returns the last text. */
    end(how: string): { text: string; steps: number; isEmpty: boolean } {
      for (const entry of [...open.values()]) {
        entry.call = { ...entry.call, status: 'failed', rawOutput: how, content: [] }
        finish(entry)
      }
      record()
      isClosed = true
      return { text: last, steps, isEmpty: steps === 0 }
    },
    /** Ends without recording the open message and calls; the runner records those of an interrupted turn. */
    abandon(): { steps: number; isEmpty: boolean } {
      flush()
      isClosed = true
      return { steps, isEmpty: steps === 0 && streamedChars === 0 && calls === 0 }
    },
  }
}

const DENIED = {
  content: JSON.stringify({ status: 'blocked', error: 'The user denied this.' }),
  isError: true,
}

const terminalsOf = (call: Call): string[] =>
  call.content.flatMap(part => (part.type === 'terminal' ? [part.terminalId] : []))

const outputOf = (call: Call): string =>
  call.kind === 'execute'
    ? call.content
        .flatMap(part => (part.type === 'content' ? [blockText(part.content)] : []))
        .join('\n')
    : ''
