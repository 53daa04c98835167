/** The spine of the transcript: which rows have a node on its line, and in which state. */
import { hasFailed } from '../tool-calls/outcome.ts'
import { textOf } from './content.ts'
import type { Row, Step, ToolStep } from './rows.ts'

export type NodeKind = 'request' | 'work' | 'step' | 'result' | 'end'
/** `failed` is a step (amber), `broken` the turn (red). What waits for a person, and what none allowed (`refused`), is amber as well. */
export type NodeState = 'ended' | 'running' | 'waiting' | 'failed' | 'refused' | 'broken'
export type SpineNode = { kind: NodeKind; state: NodeState }

const isTool = (step: Step): step is ToolStep => step.kind === 'tool'

export const stepFailed = ({ finished, result }: ToolStep): boolean =>
  result === null ? finished?.isError === true : hasFailed(textOf(result), result)

/** A person denied it, or no one allowed it in time. */
export const isRefused = ({ result }: ToolStep): boolean =>
  result?._refused_by === 'user' || result?._refused_by === 'timeout'

const stateOf = (step: Step): NodeState => {
  if (!isTool(step)) return step.live ? 'running' : 'ended'
  if (step.state === 'running') return 'running'
  if (stepFailed(step)) return 'failed'
  return isRefused(step) ? 'refused' : 'ended'
}

/** Null for rows without a node: footers, and pieces of an answer after its first one. `isWaiting`: a question is open. */
export const nodeOf = (row: Row, isWaiting: boolean): SpineNode | null => {
  const running = isWaiting ? 'waiting' : 'running'
  switch (row.kind) {
    case 'user':
      return { kind: 'request', state: 'ended' }
    case 'activity': {
      const states = row.steps.map(stateOf)
      const worst = (['failed', 'refused'] as const).find(state => states.includes(state))
      return { kind: 'work', state: row.live ? running : (worst ?? 'ended') }
    }
    case 'decision':
      return { kind: 'step', state: row.decision.reason === 'timeout' ? 'refused' : 'ended' }
    case 'step': {
      const state = stateOf(row.step)
      return { kind: 'step', state: state === 'running' ? running : state }
    }
    case 'text':
      if (!row.key.endsWith(':0')) return null
      return { kind: 'result', state: row.live ? running : 'ended' }
    case 'error':
      return { kind: 'end', state: 'broken' }
    case 'limit':
      return { kind: 'end', state: row.last ? 'waiting' : 'ended' }
    case 'cancelled':
      return { kind: 'end', state: 'ended' }
    case 'foot':
    case 'compaction':
      return null
  }
}

/** The message of a row key such as `m12`, `m12:a0/call` or `m14:0`. */
export const messageIdOf = (key: string): string => /^[^:]*/.exec(key)![0]
