/** The state of a running turn's subagents, so that a page that connects later can show their timelines. */
import { type Clock, toSeconds } from '../base/clock.ts'
import type { AgentEvent, SubagentRef } from '../agent/types.ts'
import type { LiveSubagent, SubagentStep } from '../schema/subagent.ts'
import { shortArgs, toPendingRetry } from './to-stream-event.ts'

const MAX_STEPS = 60
const MAX_OUTPUT_CHARS = 2_000
const MAX_TEXT_CHARS = 4_000

export const createLiveSubagents = (clock: Pick<Clock, 'now'>) => {
  const all = new Map<string, LiveSubagent>()

  const of = ({ parent, index }: SubagentRef): LiveSubagent => {
    const key = `${parent}\n${index}`
    const known = all.get(key)
    if (known) return known
    const created: LiveSubagent = {
      parent_tid: parent,
      task_index: index,
      goal: '',
      status: 'running',
      started_at: toSeconds(clock.now()),
      steps: [],
      text: '',
      reasoning: '',
    }
    all.set(key, created)
    return created
  }

  const stepOf = (agent: LiveSubagent, tid: string): SubagentStep | undefined =>
    agent.steps.findLast(step => step.tid === tid)

  return {
    apply(event: AgentEvent): void {
      if (!('owner' in event) || !event.owner) return
      const agent = of(event.owner)
      // Anything that follows ends the wait.
      agent.retry = event.type === 'retry' ? toPendingRetry(event, clock.now()) : undefined
      switch (event.type) {
        case 'subagent':
          agent.goal = event.goal
          agent.status = event.status
          break
        case 'token':
          agent.text = (agent.text + event.text).slice(-MAX_TEXT_CHARS)
          break
        case 'reasoning':
          agent.reasoning = (agent.reasoning + event.text).slice(-MAX_TEXT_CHARS)
          break
        case 'retry':
          agent.text = ''
          agent.reasoning = ''
          break
        case 'tool':
          // The text so far belongs to the step that this call ends.
          agent.text = ''
          agent.reasoning = ''
          agent.steps.push({
            tid: event.callId,
            name: event.name,
            preview: event.preview,
            args: shortArgs(event.args),
            started_at: toSeconds(clock.now()),
            output: '',
            duration: null,
            is_error: false,
          })
          if (agent.steps.length > MAX_STEPS) agent.steps.shift()
          break
        case 'tool_output': {
          const step = stepOf(agent, event.callId)
          if (step) step.output = (step.output + event.text).slice(-MAX_OUTPUT_CHARS)
          break
        }
        case 'tool_complete': {
          const step = stepOf(agent, event.callId)
          if (!step) break
          step.duration = Math.round(event.durationMs) / 1_000
          step.is_error = event.isError
          break
        }
      }
    },
    all: (): LiveSubagent[] => [...all.values()],
    clear: (): void => all.clear(),
    /** Drops the subagents of a finished call: its result contains what they did. */
    forget(callId: string): void {
      for (const [key, { parent_tid: parent }] of all) {
        if (parent === callId || parent.startsWith(`${callId}.`)) all.delete(key)
      }
    },
    /** What the subagents of a call did so far, for a call that gets no result because the turn was stopped. */
    resultsOf: (callId: string) =>
      [...all.values()]
        .filter(agent => agent.parent_tid === callId)
        .map(agent => ({
          task_index: agent.task_index,
          goal: agent.goal,
          status: agent.status === 'running' ? 'interrupted' : agent.status,
          summary: agent.text,
          tool_trace: agent.steps.map(step => traced(step)),
        })),
  }
}

const traced = ({ name, preview, duration, is_error }: SubagentStep) => ({
  tool: name,
  preview: preview ?? '',
  status: duration === null ? 'unfinished' : is_error ? 'error' : 'ok',
  duration_seconds: duration ?? 0,
})
