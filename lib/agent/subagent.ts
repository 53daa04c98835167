/** Subagents: the engine on a delegated task, with its own conversation; its events are passed to the parent run. */
import { oneLine, shorten } from '../base/shorten.ts'
import { reasonFields } from './reasons.ts'
import type { Run } from './run.ts'
import { messageOf } from '../errors.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import { spentSince } from './usage-meter.ts'
import { workingRules } from './prompt.ts'
import { toolInfo } from '../base/tools.ts'
import { toolsOf } from './toolsets.ts'
import type {
  Agent,
  AgentEvent,
  AgentRequest,
  Delegation,
  SubagentKind,
  SubagentRef,
  Outcome,
  SubagentResult,
  SubagentStatus,
  SubagentTask,
  Tool,
  TraceEntry,
} from './types.ts'
import type { HookActivity } from '../schema/hook.ts'

/** Subagents of one run that work at the same time. */
const MAX_PARALLEL = 3

/** What hooks see as the kind of a subagent. */
const SUBAGENT_NAME = 'general-purpose'

export const DELEGATE_TOOL = 'delegate_task'

/** The subagents of one run. Tasks beyond `MAX_PARALLEL` wait. */
export class Subagents {
  readonly #parent: Run
  readonly #agent: Agent
  readonly #waiting: (() => void)[] = []
  #free = MAX_PARALLEL

  constructor(parent: Run, agent: Agent) {
    this.#parent = parent
    this.#agent = agent
  }

  /** Runs a task of the call. Never rejects. */
  async spawn(callId: string, delegation: Delegation, task: SubagentTask): Promise<SubagentResult> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    const from = { parent: callId, index: task.index }
    try {
      return await runSubagent(this.#parent, this.#agent, delegation, from, task)
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }
}

const runSubagent = async (
  parent: Run,
  agent: Agent,
  delegation: Delegation,
  from: SubagentRef,
  task: SubagentTask,
): Promise<SubagentResult> => {
  const { emit, clock } = parent
  const startedAt = clock.monotonic()
  const trace = new Trace()
  const prefix = `${from.parent}.${from.index}.`
  const emitStatus = (status: SubagentStatus) =>
    emit({ type: 'subagent', owner: from, goal: shownGoal(task), status })
  const onEvent = (event: AgentEvent): void => {
    trace.apply(event)
    const passed = toParentEvent(event, from, prefix)
    if (passed) emit(passed)
  }
  emitStatus('running')
  const outcome = await failedAsOutcome(parent, () =>
    agent(toRequest(parent, delegation, prefix, task), onEvent),
  )
  const reason = reasonOf(outcome, stepsOf(delegation, task))
  emitStatus(statusOf(outcome))
  const durationMs = clock.monotonic() - startedAt
  return { outcome, reason, durationMs, trace: trace.entries, hooks: trace.hooks }
}

const shownGoal = ({ agent, goal }: SubagentTask): string => (agent ? `${agent} · ${goal}` : goal)

/** Throws when the task names a subagent that does not exist. */
const kindOf = ({ kinds }: Delegation, { agent }: SubagentTask): SubagentKind | null => {
  if (!agent) return null
  const all = kinds?.() ?? []
  const kind = all.find(({ name }) => name === agent)
  if (kind) return kind
  const names = all.map(({ name }) => name).join(', ')
  throw new Error(
    `There is no subagent "${agent}". ${names === '' ? 'Leave agent out.' : `There are: ${names}.`}`,
  )
}

const stepsOf = ({ maxSteps }: Delegation, task: SubagentTask): number =>
  Math.min(task.maxSteps ?? maxSteps, maxSteps)

/** An error before the run starts becomes a failed outcome, so that sibling tasks continue. */
const failedAsOutcome = async (parent: Run, run: () => Promise<Outcome>): Promise<Outcome> => {
  try {
    return await run()
  } catch (error) {
    const { provider, model } = parent.endpoint
    const failure = { type: 'error' as const, message: messageOf(error) }
    return { status: 'failed', text: '', steps: 0, usage: emptyUsage, provider, model, failure }
  }
}

const statusOf = ({ status }: Outcome): SubagentStatus =>
  status === 'finished' ? 'completed' : status === 'stopped' ? 'interrupted' : 'failed'

const reasonOf = ({ status, steps }: Outcome, maxSteps: number): SubagentResult['reason'] => {
  if (status === 'failed') return 'error'
  if (status === 'stopped') return 'interrupted'
  return steps > maxSteps ? 'max_iterations' : 'completed'
}

/** The parent's request with a new conversation, fewer tools, and ids prefixed by the task. */
const toRequest = (
  { request, endpoint, meter, signal }: Run,
  delegation: Delegation,
  prefix: string,
  task: SubagentTask,
): AgentRequest => {
  const { takeSteeringMessages: _, chatMemo: __, instructions, hooks, ...inherited } = request
  const { answerForm: ___, mustCall: ____, calls: _____, ...shared } = inherited
  const depth = delegation.depth + 1
  const kind = kindOf(delegation, task)
  const allowed = toolsFor(request.tools, { ...delegation, depth }, task.toolsets)
  const tools = kind?.tools ? namedTools(allowed, kind.tools) : allowed
  const system = systemOf(task, { ...request, tools }, kind)
  let counted: Usage = emptyUsage
  let messages = 0
  return {
    ...shared,
    endpoint: (kind?.endpoint ?? delegation.endpoint)?.() ?? endpoint,
    system,
    history: [{ role: 'user', content: task.goal }],
    tools,
    async reduce() {
      const few = tools.filter(({ name }) => toolInfo(name)?.inSmallWindow)
      return { system: systemOf(task, { ...request, tools: few }, kind), tools: few }
    },
    maxSteps: stepsOf(delegation, task),
    signal,
    nextMessageId: () => `${prefix}m${++messages}`,
    // The approval belongs to the session, so it names the subagent's task.
    approve({ waitingCall: _, ...ask }, callId) {
      const { description, reasons = [{ text: description }] } = ask
      const who = { subagent: shorten(oneLine(task.goal), MAX_GOAL_CHARS) }
      return request.approve({ ...ask, ...reasonFields(...reasons, who) }, prefix + callId)
    },
    clarify: async () => null,
    offload: (callId, text) => request.offload?.(prefix + callId, text) ?? null,
    onUsage(total) {
      meter.addUsage(spentSince(counted, total))
      counted = total
    },
    delegation: { ...delegation, depth },
    ...(hooks && {
      hooks: hooks.ofSubagent({
        id: prefix.slice(0, -1),
        name: kind?.name ?? SUBAGENT_NAME,
        goal: task.goal,
      }),
    }),
    // Its system prompt contains none of them.
    ...(instructions && { instructions: { ...instructions, inPrompt: [] } }),
  }
}

const toolsFor = (
  tools: readonly Tool[],
  { depth, maxDepth }: Delegation,
  toolsets: readonly string[],
): readonly Tool[] => {
  const allowed = tools.filter(
    ({ name, kind, isClient }) =>
      kind !== 'ask' &&
      !isClient &&
      toolInfo(name)?.inSubagents !== false &&
      (name !== DELEGATE_TOOL || depth < maxDepth),
  )
  if (toolsets.length === 0) return allowed
  const toolNames = new Set(
    toolsets.flatMap(name => {
      const names = toolsOf(name)
      if (!names) throw new Error(`There is no toolset "${name}".`)
      return names
    }),
  )
  return namedTools(allowed, [...toolNames])
}

/** Those that are asked for are described: the tools that find others need not be asked for. */
const namedTools = (tools: readonly Tool[], names: readonly string[]): Tool[] =>
  tools.flatMap(({ deferred: _, ...tool }) => (names.includes(tool.name) ? [tool] : []))

const MAX_GOAL_CHARS = 120
const systemOf = (
  { context }: SubagentTask,
  { workspace, tools }: AgentRequest,
  kind: SubagentKind | null,
): string =>
  [
    'You are a subagent: another agent has given you one task. Only that agent reads your messages, and no one can answer questions; where something is unclear, make a sensible decision and say what you decided.',
    `Work in ${workspace} unless the task says otherwise.`,
    workingRules(
      tools.map(({ name }) => name),
      { persists: true, isWatched: false },
    ),
    'When you are done, answer with a summary and nothing else: what you did, what you found, which files you created or changed, and what went wrong or remains open. The summary is all that is kept of your work.',
    ...(kind && kind.prompt !== '' ? [`Your instructions:\n${kind.prompt}`] : []),
    ...(context.trim() === '' ? [] : [`What you should know:\n${context.trim()}`]),
  ].join('\n\n')

const OWN_WARNINGS: ReadonlySet<string> = new Set([
  'step_limit',
  'content_filter',
  'cut',
  'repeated_calls',
])

/** A subagent's event as the parent emits it, with prefixed ids. Null: not passed on. */
const toParentEvent = (event: AgentEvent, from: SubagentRef, prefix: string): AgentEvent | null => {
  const inner = 'owner' in event ? event.owner : undefined
  const owner = inner ? { ...inner, parent: prefix + inner.parent } : from
  switch (event.type) {
    case 'token':
    case 'reasoning':
    case 'subagent':
    case 'retry':
      return { ...event, owner }
    case 'tool':
    case 'tool_output':
    case 'tool_complete':
      return { ...event, callId: prefix + event.callId, owner }
    case 'warning':
      // The subagent's result says so; here they would be about the parent's answer.
      return OWN_WARNINGS.has(event.kind) ? null : event
    default:
      // Messages and compactions stay inside the subagent.
      return null
  }
}

const MAX_ENTRIES = 60
const PREVIEW_CHARS = 120

class Trace {
  readonly entries: TraceEntry[] = []
  /** What hooks did about the calls. */
  readonly hooks: HookActivity[] = []
  readonly #byCall = new Map<string, TraceEntry>()
  #count = 0

  apply(event: AgentEvent): void {
    if (event.type === 'tool') this.#begin(event)
    if (event.type !== 'tool_complete') return
    // The calls of nested subagents leave theirs to the delegating call.
    if (!event.owner)
      this.hooks.push(...(event.hooks ?? []).slice(0, MAX_ENTRIES - this.hooks.length))
    const entry = this.#byCall.get(event.callId)
    if (!entry) return
    entry.status = event.isError ? 'error' : 'ok'
    entry.duration_seconds = Math.round(event.durationMs / 100) / 10
  }

  #begin({ callId, name, preview, owner: ref }: Extract<AgentEvent, { type: 'tool' }>): void {
    if (++this.#count > MAX_ENTRIES) return
    const entry: TraceEntry = {
      tool: name,
      preview: (preview ?? '').replace(/\s+/g, ' ').slice(0, PREVIEW_CHARS),
      status: 'unfinished',
      duration_seconds: 0,
      ...(ref && { task_index: ref.index }),
    }
    this.#byCall.set(callId, entry)
    const owner = ref && this.#byCall.get(ref.parent)
    if (owner) {
      owner.trace ??= []
      owner.trace.push(entry)
    } else this.entries.push(entry)
  }
}
