/** Runs the tool calls of one message: checked, in order, stoppable, every call answered exactly once. */
import { messageOf } from '../errors.ts'
import type { ToolCall } from '../schema/message.ts'
import { coerceArguments, parseArguments } from './tool-calls.ts'
import { MAX_BATCH_CHARS, MAX_RESULT_CHARS, truncateResult } from './long-result.ts'
import { raceAbort } from './retry.ts'
import type { AgentRequest, Delegation, Emit, Tool, ToolContext, ToolResult } from './types.ts'

const MAX_TOGETHER = 8
/** How long a stopped tool may take to say how far it came. */
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
  now: () => number
  spawn?: (callId: string, delegation: Delegation) => NonNullable<ToolContext['spawn']>
}

/** A call with everything decided but its outcome. `refused` stands in for running it. */
type Prepared = {
  call: ToolCall
  args: Record<string, unknown>
  tool: Tool | null
  input: unknown
  preview: string | null
  refused: ToolResult | null
}

/** True when the call names a tool on offer and its arguments are a JSON object: the model is not lost. */
export const isValidCall = (call: ToolCall, tools: readonly Tool[]): boolean =>
  tools.some(tool => tool.name === call.function.name) &&
  parseArguments(call.function.arguments) !== null

/**
 * Answers every call, in source order: `answered` is called once for each as soon as all before it are known.
 * Neighbouring `read` calls run together, and calls of one tool that says so; everything else alone. Throws only what `emit` or `answered` throws.
 */
export const runTools = async (
  calls: readonly ToolCall[],
  bench: ToolRun,
  answered: (call: ToolCall, result: ToolResult) => void,
): Promise<void> => {
  const { tools, offload: spill } = bench.request
  const prepared = calls.map(call => prepare(call, tools))
  let room = MAX_BATCH_CHARS
  for (const group of groups(prepared)) {
    const results = await Promise.all(
      group.map(entry => (bench.signal.aborted ? STOPPED : runOne(entry, bench))),
    )
    group.forEach((entry, at) => {
      const { call } = entry
      const putAside = (text: string) => spill?.(call.id, text) ?? null
      const most = Math.min(MAX_RESULT_CHARS, room)
      const result = truncateResult(results[at] ?? STOPPED, most, putAside)
      room -= result.content.length
      answered(call, result)
    })
  }
}

const groups = (prepared: readonly Prepared[]): Prepared[][] => {
  const all: Prepared[][] = []
  for (const entry of prepared) {
    const last = all.at(-1)
    const first = last?.[0]
    const reads = (one: Prepared | undefined) => one?.tool?.kind === 'read' && !one.refused
    const joins =
      (reads(entry) && reads(first)) ||
      (entry.tool?.parallel && entry.tool === first?.tool && !entry.refused && !first.refused)
    if (last && joins && last.length < MAX_TOGETHER) last.push(entry)
    else all.push([entry])
  }
  return all
}

const refuse = (error: string): ToolResult => ({
  content: JSON.stringify({ error }),
  isError: true,
})

const prepare = (call: ToolCall, tools: readonly Tool[]): Prepared => {
  const { name, arguments: text } = call.function
  const args = parseArguments(text)
  const tool = tools.find(candidate => candidate.name === name) ?? null
  const entry = { call, tool, args: args ?? {}, input: undefined, preview: null }
  if (!tool) {
    const names = tools.map(candidate => candidate.name).join(', ')
    return { ...entry, refused: refuse(`There is no tool "${name}". Available tools: ${names}`) }
  }
  if (!args)
    return { ...entry, refused: refuse('The arguments are not a valid JSON object. Call again.') }
  const fitted = coerceArguments(tool.input, args)
  if (!fitted.ok) return { ...entry, refused: refuse(`Invalid arguments: ${fitted.error}`) }
  return { ...entry, input: fitted.input, preview: tool.preview(fitted.input), refused: null }
}

const runOne = async (entry: Prepared, bench: ToolRun): Promise<ToolResult> => {
  const { emit, now } = bench
  const { call, args } = entry
  const head = { callId: call.id, name: call.function.name, args }
  const startedAt = now()
  emit({ type: 'tool', ...head, preview: entry.preview })
  const result = await answerTo(entry, bench)
  emit({
    type: 'tool_complete',
    ...head,
    preview: result.preview ?? entry.preview,
    durationMs: Math.max(0, now() - startedAt),
    isError: result.isError ?? false,
  })
  return result
}

/** Nothing a tool says reaches the model, the transcript or a script unmasked, but what the person answered to a question. */
const answerTo = async (entry: Prepared, bench: ToolRun): Promise<ToolResult> => {
  const result = entry.refused ?? (await attempt(entry, bench))
  const { secrets } = bench.request
  return secrets === undefined || entry.tool?.kind === 'ask'
    ? result
    : { ...result, content: secrets.mask(result.content) }
}

/** A tool throws freely; here it becomes a result. One that does not stop when told is left behind. */
const attempt = async (entry: Prepared, bench: ToolRun): Promise<ToolResult> => {
  const { request, signal } = bench
  const { tool, call } = entry
  if (!tool) return STOPPED
  const unusable = tool.kind === 'execute' && request.secrets?.commandError(call.function.arguments)
  if (unusable) return refuse(unusable)
  const forbidden = request.guards?.tool(tool.name) ?? null
  if (forbidden !== null) return refuse(forbidden)
  let running = true
  const ctx: ToolContext = {
    callId: call.id,
    workspace: request.workspace,
    env: request.env,
    forbidden: request.forbidden,
    controlPaths: request.controlPaths,
    ownAddresses: request.ownAddresses,
    guards: request.guards,
    signal,
    // What a tool left behind still prints belongs to nobody.
    output: text => {
      if (running && text !== '') bench.emit({ type: 'tool_output', callId: call.id, text })
    },
    // Nobody is asked for a turn that is over.
    approve: async ask => {
      signal.throwIfAborted()
      return raceAbort(request.approve(ask, call.id), signal)
    },
    clarify: async (question, choices) => {
      signal.throwIfAborted()
      return raceAbort(request.clarify(question, choices, call.id), signal)
    },
    secrets: request.secrets,
    readable: request.readable,
    offload: text => request.offload?.(call.id, text) ?? null,
    beforeChange: async what => {
      await request.beforeChange?.(what)
      // Recording may take a while: who was stopped meanwhile changes nothing any more.
      signal.throwIfAborted()
    },
    processes: request.processes,
    spawn: spawnerFor(bench, call.id),
    call: (name, args) => callWithin(name, args, call.id, bench),
    toolNames: request.tools.map(({ name }) => name),
    memo: bench.memo,
    now: bench.now,
  }
  try {
    const work = Promise.resolve().then(() => tool.run(ctx, entry.input))
    return await withGrace(work, signal)
  } catch (error) {
    return signal.aborted ? STOPPED : refuse(messageOf(error))
  } finally {
    running = false
  }
}

/** Undefined where no subagent may be started: delegation is off, or its depth is used up. */
const spawnerFor = ({ request, spawn }: ToolRun, callId: string): ToolContext['spawn'] => {
  const { delegation } = request
  if (!delegation || !spawn || delegation.depth >= delegation.maxDepth) return undefined
  return spawn(callId, delegation)
}

/**
 * A call that a tool makes while it runs, in its name: checked, asked about and recorded like every other, but without a
 * message and a card of its own. Of a long answer the caller gets more than a model would.
 */
const callWithin = async (
  name: string,
  args: Record<string, unknown>,
  callId: string,
  bench: ToolRun,
): Promise<ToolResult> => {
  if (bench.signal.aborted) return STOPPED
  const call: ToolCall = {
    id: callId,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }
  const entry = prepare(call, bench.request.tools)
  return answerTo(entry, bench)
}

/** Like the work itself, but after an abort only for a moment longer. */
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
