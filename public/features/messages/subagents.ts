/** Pure reducer of the running turn's subagents. */
import type { TurnEvent } from '../../../lib/schema/event.ts'
import type { LiveSubagent, SubagentStep } from '../../../lib/schema/subagent.ts'

const MAX_STEPS = 60
const TAIL = 4_000

type NestedEvent = Extract<
  TurnEvent,
  { type: 'tool' | 'tool_output' | 'tool_complete' | 'subagent' }
>

const tail = (text: string, more: string) => (text + more).slice(-TAIL)

export const withSubagentEvent = (
  all: readonly LiveSubagent[] = [],
  event: NestedEvent,
  now: number,
): LiveSubagent[] => {
  const { data } = event
  // Output events have no task index; the call identifies the subagent.
  const isOf = (agent: LiveSubagent): boolean =>
    agent.parent_tid === data.parent_tid &&
    ('task_index' in data
      ? agent.task_index === data.task_index
      : agent.steps.some(step => step.tid === (data as { tid?: string }).tid))
  const isKnown = all.some(isOf)
  if (!isKnown && event.type !== 'subagent' && event.type !== 'tool') return [...all]
  const blank = {
    parent_tid: data.parent_tid ?? '',
    task_index: 'task_index' in data ? (data.task_index ?? 0) : 0,
    goal: '',
    status: 'running' as const,
    started_at: now,
    steps: [],
    text: '',
    reasoning: '',
  }
  const list: LiveSubagent[] = isKnown ? [...all] : [...all, blank]
  return list.map(agent => (isOf(agent) ? changed(agent, event, now) : agent))
}

const changed = (agent: LiveSubagent, event: NestedEvent, now: number): LiveSubagent => {
  if (event.type === 'subagent') {
    const { goal, status, text = '', reasoning = '', again, retry } = event.data
    const base = again === undefined ? agent : { text: '', reasoning: '' }
    return {
      ...agent,
      ...(goal === undefined ? {} : { goal }),
      ...(status === undefined ? {} : { status }),
      text: tail(base.text, text),
      reasoning: tail(base.reasoning, reasoning),
      // Anything that follows ends the wait.
      retry,
    }
  }
  const { steps } = agent
  const at = (change: (step: SubagentStep) => Partial<SubagentStep>) => ({
    ...agent,
    steps: steps.map(step => (step.tid === event.data.tid ? { ...step, ...change(step) } : step)),
  })
  if (event.type === 'tool_output') {
    return at(({ output }) => ({ output: tail(output, event.data.text) }))
  }
  if (event.type === 'tool_complete') {
    return at(() => ({ duration: event.data.duration ?? 0, is_error: event.data.is_error }))
  }
  const { tid, tool, name, preview, args } = event.data
  const step = { tid, name: tool ?? name, preview, args, started_at: now, output: '' }
  return {
    ...agent,
    text: '',
    reasoning: '',
    retry: undefined,
    steps: [...steps, { ...step, duration: null, is_error: false }].slice(-MAX_STEPS),
  }
}

/** Removes the subagents of a finished call; its result contains their steps. */
export const withoutSubagents = (
  all: readonly LiveSubagent[] = [],
  tid: string | undefined,
): LiveSubagent[] =>
  all.filter(({ parent_tid: parent }) => parent !== tid && !parent.startsWith(`${tid}.`))
