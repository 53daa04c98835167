/** Runs the tool calls of one message: validated, in order, abortable, with exactly one result per call. */
import type { Clock } from '../base/clock.ts'
import type { ToolCall } from '../schema/message.ts'
import type { Usage } from '../schema/usage.ts'
import { checkCall, isAboutCall } from './permissions/check-call.ts'
import { coerceArguments } from './coerce-arguments.ts'
import { parseArguments, readArguments } from './tool-calls.ts'
import { describeTools } from './tool-schema.ts'
import { askForHook, type CallNotes, runHooked, withHookTexts } from './hooked-call.ts'
import type { BeforeCall, Hooks } from './hooks.ts'
import { errorResult, failedResult } from './error-result.ts'
import { resultLimits, truncateResult } from './long-result.ts'
import { type InstructionLookup, withInstructions } from './nested-instructions.ts'
import { underPlanMode } from './plan-mode.ts'
import { raceAbort } from './retry.ts'
import { widest } from './tools/place-command.ts'
import { noteCut } from './tools/seen-files.ts'
import type { Subagents } from './subagent.ts'
import type { AgentRequest, Emit, Tool, ToolContext, ToolResult } from './types.ts'

const MAX_PARALLEL = 8
/** Share of a result's limit that instructions may take beside it. */
const INSTRUCTION_SHARE = 0.5
/** How long an aborted tool may take to return a partial result. */
const GRACE_MS = 400

const STOPPED: ToolResult = {
  content: JSON.stringify({ error: 'Stopped by the user before it finished.' }),
  isError: true,
}

export type ToolRun = {
  request: AgentRequest
  emit: Emit
  /** Aborted with the turn. */
  signal: AbortSignal
  memo: Map<string, unknown>
  chatMemo?: Map<string, unknown>
  clock: Clock
  /** The model's window limits the length of results; absent: only the general limits apply. */
  contextWindow?: { tokens: () => number }
  /** Counts model calls of tools. */
  meter?: { addUsage: (usage: Usage) => void }
  /** As in `ToolContext`; absent where images cannot be stored. */
  keepImage?: ToolContext['keepImage']
  subagents?: Subagents
  /** The instructions for files a tool has read or written that the model does not know yet. */
  instructions?: InstructionLookup
}

/** A validated call. `rejection` is its result when it must not run. */
type Prepared = {
  call: ToolCall
  args: Record<string, unknown>
  tool: Tool | null
  input: unknown
  preview: string | null
  rejection: ToolResult | null
  /** Real paths of the files it has read or written so far. */
  files: string[]
  /** What hooks did and said. */
  notes: CallNotes
  /** Made by a running tool. */
  isNested?: boolean
}

/** True when the call names an available tool and its arguments are a JSON object. */
export const isValidCall = (call: ToolCall, tools: readonly Tool[]): boolean =>
  tools.some(tool => tool.name === call.function.name) &&
  parseArguments(call.function.arguments) !== null

/**
 * Runs all calls. `onResult` is called once per call, in source order. Adjacent `read` calls run in parallel, and so do
 * adjacent calls of one `parallel` tool. Throws only what `emit` or `onResult` throws.
 */
export const runTools = async (
  calls: readonly ToolCall[],
  run: ToolRun,
  onResult: (call: ToolCall, result: ToolResult) => void,
): Promise<void> => {
  const { tools, offload } = run.request
  const prepared = calls.map(call => prepare(call, tools))
  const limits = resultLimits(run.contextWindow?.tokens() ?? 0)
  let remainingChars = limits.batch
  for (const group of toParallelGroups(prepared)) {
    const results = await Promise.all(
      group.map(entry => (run.signal.aborted ? STOPPED : runCall(entry, run))),
    )
    group.forEach((entry, at) => {
      const { call } = entry
      const offloadResult = (text: string) => offload?.(call.id, text) ?? null
      const maxChars = Math.min(limits.one, remainingChars)
      const whole = results[at] ?? STOPPED
      const result = truncateResult(whole, maxChars, offloadResult)
      if (entry.tool?.kind === 'read' && result !== whole) noteCut(run, entry.files)
      const instructions = run.instructions?.for(entry.files, limits.one * INSTRUCTION_SHARE) ?? []
      const { texts, activity, ranIn } = entry.notes
      const content = withInstructions(withHookTexts(result.content, texts), instructions)
      remainingChars -= content.length
      onResult(call, {
        ...result,
        content,
        ...(activity.length > 0 && { hooks: activity }),
        ...(ranIn && { ranIn }),
      })
    })
  }
}

const toParallelGroups = (prepared: readonly Prepared[]): Prepared[][] => {
  const all: Prepared[][] = []
  for (const entry of prepared) {
    const last = all.at(-1)
    const first = last?.[0]
    const reads = (one: Prepared | undefined) => one?.tool?.kind === 'read' && !one.rejection
    const joins =
      (reads(entry) && reads(first)) ||
      (entry.tool?.parallel && entry.tool === first?.tool && !entry.rejection && !first.rejection)
    if (last && joins && last.length < MAX_PARALLEL) last.push(entry)
    else all.push([entry])
  }
  return all
}

const prepare = (call: ToolCall, tools: readonly Tool[]): Prepared => {
  const { name, arguments: text } = call.function
  const result = readArguments(text)
  const tool = tools.find(candidate => candidate.name === name) ?? null
  const entry = {
    call,
    tool,
    args: result.ok ? result.args : {},
    input: undefined,
    preview: null,
    files: [],
    notes: { texts: [], activity: [] },
  }
  if (!tool) {
    const names = describeTools(tools)
      .map(candidate => candidate.name)
      .join(', ')
    return {
      ...entry,
      rejection: errorResult(`There is no tool "${name}". Available tools: ${names}`),
    }
  }
  if (!result.ok)
    return {
      ...entry,
      rejection: errorResult(`The arguments are not valid JSON: ${result.reason}. Call again.`),
    }
  const coerced = coerceArguments(tool.input, result.args)
  if (!coerced.ok)
    return { ...entry, rejection: errorResult(`Invalid arguments: ${coerced.error}`) }
  const { args, input } = coerced
  return { ...entry, args, input, preview: tool.preview(input), rejection: null }
}

const runCall = async (entry: Prepared, run: ToolRun): Promise<ToolResult> => {
  const { emit, clock, request } = run
  const { call } = entry
  const head = { callId: call.id, name: call.function.name }
  const startedAt = clock.monotonic()
  request.calls?.started(call.id)
  emit({ type: 'tool', ...head, args: entry.args, preview: entry.preview })
  const result = await resultOf(entry, run)
  request.calls?.ended(call.id)
  emit({
    type: 'tool_complete',
    ...head,
    // A hook may have changed them.
    args: entry.args,
    preview: result.preview ?? entry.preview,
    durationMs: clock.monotonic() - startedAt,
    isError: result.isError ?? false,
    ...(entry.notes.activity.length > 0 && { hooks: entry.notes.activity }),
    ...(entry.notes.ranIn && { ranIn: entry.notes.ranIn }),
  })
  return result
}

/** Masks secrets in everything the model, the transcript or a script receives, except the user's answers to questions. */
const resultOf = async (entry: Prepared, run: ToolRun): Promise<ToolResult> => {
  const result = entry.rejection ?? (await invokeTool(entry, run))
  const { secrets } = run.request
  if (secrets === undefined || entry.tool?.kind === 'ask') return result
  const images = result.images?.map(image => ({ ...image, name: secrets.mask(image.name) }))
  return { ...result, content: secrets.mask(result.content), ...(images && { images }) }
}

/**
 * Errors of tools become results. A tool that ignores the abort signal is abandoned. `before` is what hooks said about the
 * call; absent: they run now, and the checks are repeated with the arguments they may have changed.
 */
const invokeTool = async (
  entry: Prepared,
  run: ToolRun,
  before?: BeforeCall,
): Promise<ToolResult> => {
  const { request, signal } = run
  const { tool, call } = entry
  if (!tool) return STOPPED
  const commandError =
    tool.kind === 'execute' && request.secrets?.commandError(call.function.arguments)
  if (commandError) return errorResult(commandError, 'checks')
  const denial = request.guards?.tool(tool.name) ?? null
  if (denial !== null) return errorResult(denial, 'rule')
  let running = true
  /** Set before it does anything that a second run of it would repeat. */
  let hasBegun = entry.isNested ?? false
  const begin = () => {
    hasBegun = true
  }
  const waitingCall = () => (hasBegun ? {} : { waitingCall: call.id })
  const ctx: ToolContext = {
    turn: request,
    callId: call.id,
    signal,
    // An abandoned tool may still print: drop it.
    output: text => {
      begin()
      if (running && text !== '') run.emit({ type: 'tool_output', callId: call.id, text })
    },
    // No questions once the turn is over.
    approve: async ask => {
      signal.throwIfAborted()
      const either = ask.signal ? AbortSignal.any([signal, ask.signal]) : signal
      const isAllowed = before?.decision === 'allow' && isAboutCall(tool, ask)
      const allowing = isAllowed ? { allowedBy: 'hook' as const } : {}
      const answer = request.approve(
        { ...allowing, ...ask, ...waitingCall(), signal: either },
        call.id,
      )
      return raceAbort(answer, signal)
    },
    clarify: async (question, choices, withdrawn) => {
      signal.throwIfAborted()
      const either = withdrawn ? AbortSignal.any([signal, withdrawn]) : signal
      const answer = request.clarify(question, choices, call.id, either, !hasBegun)
      return raceAbort(answer, signal)
    },
    maxResultChars: resultLimits(run.contextWindow?.tokens() ?? 0).one,
    offload: text => request.offload?.(call.id, text) ?? null,
    keepImage: run.keepImage,
    keepFile: (bytes, ending) => request.saveImage?.(call.id, bytes, ending) ?? null,
    beforeChange: async what => {
      begin()
      await request.beforeChange?.(what)
      // Recording takes time: do not change files if the turn was stopped during it.
      signal.throwIfAborted()
    },
    spawn: spawnerFor(run, entry, begin),
    call(name, args) {
      begin()
      return callFromTool(name, args, entry, run)
    },
    toolNames: request.tools.filter(({ isClient }) => !isClient).map(({ name }) => name),
    onCommand: ranIn => {
      begin()
      entry.notes.ranIn = widest(entry.notes.ranIn, ranIn)
    },
    onBegin: begin,
    onFile: path => void entry.files.push(path),
    memo: run.memo,
    chatMemo: run.chatMemo,
    addUsage: usage => run.meter?.addUsage(usage),
  }
  try {
    const checked = checkCall(request.rules, tool, entry.input, ctx)
    if (checked.denied !== null) return errorResult(checked.denied, 'rule')
    const planned = await underPlanMode(request.planMode, tool, entry.input, ctx)
    const ruled = checked.within(planned)
    if (request.hooks && !before) return await invokeHooked(entry, tool, run, request.hooks)
    if (!(await ruled.askFirst())) return errorResult('The user denied this call.', 'user')
    const denial =
      before &&
      (await askForHook(
        before,
        tool.name,
        entry.preview,
        ask => planned.approve(ask),
        request.workspace,
      ))
    if (denial) return denial
    const work = Promise.resolve().then(() =>
      tool.run({ ...planned, approve: ruled.approve }, entry.input),
    )
    return await withGrace(work, signal)
  } catch (error) {
    return signal.aborted ? STOPPED : failedResult(error)
  } finally {
    running = false
  }
}

/** The call with the hooks of the user around it. They see masked results. */
const invokeHooked = async (
  entry: Prepared,
  tool: Tool,
  run: ToolRun,
  hooks: Hooks,
): Promise<ToolResult> => {
  const { secrets, tools } = run.request
  try {
    return await runHooked(hooks, { callId: entry.call.id, tool, signal: run.signal }, entry, {
      change(args) {
        const { name } = entry.call.function
        const next = prepare(toCall(entry.call.id, name, args), tools)
        if (next.rejection) return next.rejection
        const { call, input, preview } = next
        Object.assign(entry, { call, args: next.args, input, preview })
        return null
      },
      run: before => invokeTool(entry, run, before),
      mask: text => secrets?.mask(text) ?? text,
      clock: run.clock,
    })
  } catch (error) {
    return run.signal.aborted ? STOPPED : failedResult(error)
  }
}

const toCall = (id: string, name: string, args: Record<string, unknown>): ToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
})

/**
 * Undefined when delegation is off or the maximum depth is reached. What hooks did in a subagent is noted at the call that
 * started it: the subagent has no messages of its own.
 */
const spawnerFor = (
  { request, subagents }: ToolRun,
  { call, notes }: Prepared,
  onSpawn: () => void,
): ToolContext['spawn'] => {
  const { delegation } = request
  if (!delegation || !subagents || delegation.depth >= delegation.maxDepth) return undefined
  return async task => {
    onSpawn()
    const result = await subagents.spawn(call.id, delegation, task)
    notes.activity.push(...result.hooks)
    return result
  }
}

/**
 * A tool call made by a running tool: validated and approved like any other, but without its own message and events.
 * The result is not truncated. A script cannot look at images, so it gets text only.
 */
const callFromTool = async (
  name: string,
  args: Record<string, unknown>,
  { call, notes }: Prepared,
  run: ToolRun,
): Promise<ToolResult> => {
  if (run.signal.aborted) return STOPPED
  // What hooks add is for the model, which reads the result of the calling tool only.
  const prepared = prepare(toCall(call.id, name, args), run.request.tools)
  const entry = { ...prepared, notes, isNested: true }
  return resultOf(entry, { ...run, keepImage: undefined })
}

/** Settles with `work`, or with a stopped result `GRACE_MS` after an abort. */
const withGrace = (work: Promise<ToolResult>, signal: AbortSignal): Promise<ToolResult> =>
  new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const stop = () => {
      timer = setTimeout(() => resolve(STOPPED), GRACE_MS)
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    })
  })
