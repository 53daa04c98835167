/** The state of a running turn's subagents, so that a page that connects later can show their timelines. */
import { type Clock, toSeconds } from '../base/clock.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { LiveSubagent, SubagentStep } from '../schema/subagent.ts'

const MAX_STEPS = 60
const MAX_OUTPUT_CHARS = 2_000
const MAX_TEXT_CHARS = 4_000
const NO_TEXT = { text: '', reasoning: '' }

type Delta = Extract<TurnEvent, { type: 'subagent' }>['data']
type Call = Extract<TurnEvent, { type: 'tool' | 'tool_complete' }>['data']
type Output = Extract<TurnEvent, { type: 'tool_output' }>['data']

/** Follows the events that name a `parent_tid`. */
export class LiveSubagents {
  readonly #clock: Clock
  readonly #all = new Map<string, LiveSubagent>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  stream({ goal, status, text = '', reasoning = '', again, retry, ...owner }: Delta): void {
    const agent = this.#of(owner)
    agent.retry = retry
    if (again !== undefined) Object.assign(agent, NO_TEXT)
    if (goal !== undefined) agent.goal = goal
    if (status !== undefined) agent.status = status
    agent.text = (agent.text + text).slice(-MAX_TEXT_CHARS)
    agent.reasoning = (agent.reasoning + reasoning).slice(-MAX_TEXT_CHARS)
  }

  call({ tid, name, tool = name, preview, args, ...owner }: Call): void {
    const agent = this.#of(owner)
    agent.retry = undefined
    // The text so far belongs to the step that this call ends.
    Object.assign(agent, NO_TEXT)
    const started_at = toSeconds(this.#clock.now())
    const begun = { output: '', duration: null, is_error: false }
    agent.steps.push({ tid, name: tool, preview, args, started_at, ...begun })
    if (agent.steps.length > MAX_STEPS) agent.steps.shift()
  }

  output({ tid, text }: Output): void {
    const step = this.#stepOf(tid)
    if (step) step.output = (step.output + text).slice(-MAX_OUTPUT_CHARS)
  }

  complete(tid: string, duration: number | null, isError: boolean): void {
    const step = this.#stepOf(tid)
    if (step) Object.assign(step, { duration: duration ?? 0, is_error: isError })
  }

  all(): LiveSubagent[] {
    return [...this.#all.values()]
  }

  clear(): void {
    this.#all.clear()
  }

  /** Drops the subagents of a finished call: its result contains what they did. */
  forget(callId: string): void {
    for (const [key, { parent_tid: parent }] of this.#all) {
      if (parent === callId || parent.startsWith(`${callId}.`)) this.#all.delete(key)
    }
  }

  /** What the subagents of a call did so far, for a call that gets no result because the turn was stopped. */
  resultsOf(callId: string) {
    return this.all()
      .filter(agent => agent.parent_tid === callId)
      .map(agent => ({
        task_index: agent.task_index,
        goal: agent.goal,
        status: agent.status === 'running' ? 'interrupted' : agent.status,
        summary: agent.text,
        tool_trace: agent.steps.map(traced),
      }))
  }

  #of({ parent_tid = '', task_index = 0 }: Partial<Delta>): LiveSubagent {
    const key = `${parent_tid}\n${task_index}`
    const earlier = this.#all.get(key)
    if (earlier) return earlier
    const started_at = toSeconds(this.#clock.now())
    const begun = { goal: '', status: 'running' as const, started_at, steps: [], ...NO_TEXT }
    const created: LiveSubagent = { parent_tid, task_index, ...begun }
    this.#all.set(key, created)
    return created
  }

  /** Ids of calls differ between the subagents of a turn. */
  #stepOf(tid: string): SubagentStep | undefined {
    for (const agent of this.#all.values()) {
      const step = agent.steps.findLast(each => each.tid === tid)
      // Anything that follows ends the wait.
      if (step) agent.retry = undefined
      if (step) return step
    }
    return undefined
  }
}

const traced = ({ name, preview, duration, is_error }: SubagentStep) => ({
  tool: name,
  preview: preview ?? '',
  status: duration === null ? 'unfinished' : is_error ? 'error' : 'ok',
  duration_seconds: duration ?? 0,
})
