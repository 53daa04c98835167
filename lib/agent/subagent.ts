/** Subagents: the same loop on one task, with a conversation of its own; what it does is told to whoever delegated. */
import { messageOf } from '../errors.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import type { UsageMeter } from './usage-meter.ts'
import { toolsOf } from './toolsets.ts'
import { createTrace } from './subagent-trace.ts'
import type {
  Agent,
  AgentEvent,
  AgentRequest,
  Delegation,
  Emit,
  ModelEndpoint,
  SubagentRef,
  Outcome,
  SubagentResult,
  SubagentStatus,
  SubagentTask,
  Tool,
} from './types.ts'

/** How many of one run work at the same time. */
const MAX_TOGETHER = 3

/** What nobody may do in another's name: ask the person, write the memory, send messages, write programs. */
const NEVER = new Set(['clarify', 'memory', 'send_message', 'execute_code'])

/** What a subagent needs of the run that starts it. */
export type ParentRun = {
  request: AgentRequest
  emit: Emit
  meter: UsageMeter
  signal: AbortSignal
  endpoint: ModelEndpoint
  now: () => number
}

export const DELEGATE_TOOL = 'delegate_task'

/** Starts one after the other where more than three want to run. `callId` is the call that delegates. */
export const createSpawn = (parent: ParentRun, agent: Agent) => {
  let free = MAX_TOGETHER
  const waiting: (() => void)[] = []
  const enter = async (): Promise<void> => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
  }
  const leave = (): void => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
  return (callId: string, delegation: Delegation) =>
    async (task: SubagentTask): Promise<SubagentResult> => {
      await enter()
      try {
        return await work(parent, agent, delegation, { parent: callId, index: task.index }, task)
      } finally {
        leave()
      }
    }
}

const work = async (
  parent: ParentRun,
  agent: Agent,
  delegation: Delegation,
  from: SubagentRef,
  task: SubagentTask,
): Promise<SubagentResult> => {
  const { emit, now } = parent
  const begun = now()
  const trace = createTrace()
  const prefix = `${from.parent}.${from.index}.`
  const tell = (status: SubagentStatus) =>
    emit({ type: 'subagent', owner: from, goal: task.goal, status })
  const hear = (event: AgentEvent): void => {
    trace.apply(event)
    const passed = asNested(event, from, prefix)
    if (passed) emit(passed)
  }
  tell('running')
  const outcome = await settled(parent, () =>
    agent(toRequest(parent, delegation, prefix, task), hear),
  )
  const reason = reasonOf(outcome, stepsOf(delegation, task))
  tell(statusOf(outcome))
  return { outcome, reason, durationMs: Math.max(0, now() - begun), trace: trace.entries() }
}

const stepsOf = ({ maxSteps }: Delegation, task: SubagentTask): number =>
  Math.min(task.maxSteps ?? maxSteps, maxSteps)

/** The loop never rejects; what is wrong before it begins is an outcome of this one, and no sibling's. */
const settled = async (parent: ParentRun, run: () => Promise<Outcome>): Promise<Outcome> => {
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

/** Everything but what makes it another conversation is the caller's: place, environment, who may say yes. */
const toRequest = (
  { request, endpoint, meter, signal }: ParentRun,
  delegation: Delegation,
  prefix: string,
  task: SubagentTask,
): AgentRequest => {
  const { takeSteeringMessages: _, ...shared } = request
  const depth = delegation.depth + 1
  let counted: Usage = emptyUsage
  let messages = 0
  return {
    ...shared,
    endpoint: delegation.endpoint?.() ?? endpoint,
    system: systemOf(task, request.workspace),
    history: [{ role: 'user', content: task.goal }],
    tools: toolsFor(request.tools, { ...delegation, depth }, task.toolsets),
    maxSteps: stepsOf(delegation, task),
    signal,
    nextMessageId: () => `${prefix}m${++messages}`,
    // Whoever asks, the question is the session's.
    approve: (ask, callId) =>
      request.approve(
        {
          ...ask,
          description: `${ask.description} (a subagent asks, its task: ${briefly(task.goal)})`,
        },
        prefix + callId,
      ),
    clarify: async () => null,
    offload: (callId, text) => request.offload?.(prefix + callId, text) ?? null,
    onUsage(total) {
      const more = {
        input_tokens: total.input_tokens - counted.input_tokens,
        output_tokens: total.output_tokens - counted.output_tokens,
        estimated_cost: total.estimated_cost - counted.estimated_cost,
      }
      counted = total
      meter.addUsage(more)
    },
    delegation: { ...delegation, depth },
  }
}

const toolsFor = (
  tools: readonly Tool[],
  { depth, maxDepth }: Delegation,
  toolsets: readonly string[],
): readonly Tool[] => {
  const may = tools.filter(
    ({ name, kind }) =>
      kind !== 'ask' && !NEVER.has(name) && (name !== DELEGATE_TOOL || depth < maxDepth),
  )
  if (toolsets.length === 0) return may
  const wanted = new Set(
    toolsets.flatMap(name => {
      const names = toolsOf(name)
      if (!names) throw new Error(`There is no toolset "${name}".`)
      return names
    }),
  )
  return may.filter(({ name }) => wanted.has(name))
}

const BRIEF_CHARS = 120
const briefly = (goal: string): string => {
  const line = goal.trim().replace(/\s+/g, ' ')
  return line.length > BRIEF_CHARS ? `${line.slice(0, BRIEF_CHARS)}…` : line
}

const systemOf = ({ context }: SubagentTask, workspace: string): string =>
  [
    'You are a subagent: another agent has given you one task. Nobody but that agent reads what you say, and nobody can answer questions; where something is unclear, decide sensibly and say how you decided.',
    `Work in ${workspace} unless the task says otherwise.`,
    'When you are done, answer with a summary and nothing else: what you did, what you found, which files you created or changed, and what went wrong or remains open. The summary is all that is kept of your work.',
    ...(context.trim() === '' ? [] : [`What you should know:\n${context.trim()}`]),
  ].join('\n\n')

/** An event of the subagent as the caller passes it on; ids are made unlike those of anybody else. Null: not passed on. */
const asNested = (event: AgentEvent, from: SubagentRef, prefix: string): AgentEvent | null => {
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
      // That its steps are used up stands in its result.
      return event.kind === 'step_limit' ? null : event
    default:
      // Its messages, and what concerns them, are nobody's but its own.
      return null
  }
}
