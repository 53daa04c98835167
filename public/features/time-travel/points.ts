/** Points in time at which the files of a turn are recorded, and the one that belongs to a tool call. Pure. */
import type { Message } from '../../../lib/schema/message.ts'
import type { TurnChange } from '../workspace/turn-changes.ts'

/** `before`, `after`, or the id of a tool call that a recorded step names. */
export type Point = string

/** The point that the workspace panel shows. `change` null: nothing was recorded. */
export type Past = {
  session: string
  change: TurnChange | null
  point: Point
  /** The step was asked for, but only the whole turn is recorded. */
  isWhole: boolean
}

/** In order of time. */
export const pointsOf = ({ steps = [] }: TurnChange): Point[] => [
  'before',
  ...steps.flatMap(({ calls }) => calls.slice(0, 1)),
  'after',
]

const turnOf = (messages: readonly Message[], callId: string) => {
  const at = messages.findIndex(({ tool_calls }) => tool_calls?.some(({ id }) => id === callId))
  const from = messages.findLastIndex(({ role }, index) => index < at && role === 'user')
  const next = messages.findIndex(({ role }, index) => index > at && role === 'user')
  const turn = at < 0 ? [] : messages.slice(Math.max(0, from), next < 0 ? undefined : next)
  const calls = turn.flatMap(({ tool_calls }) => (tool_calls ?? []).map(({ id }) => id))
  return { user: from < 0 ? null : messages[from]!.id, calls }
}

/** The record of the turn of a call, and the last recorded point that is not after the call. */
export const pastOfCall = (
  session: string,
  messages: readonly Message[],
  records: readonly TurnChange[],
  callId: string,
): Past => {
  const { user, calls } = turnOf(messages, callId)
  const change =
    records.find(
      each =>
        each.undo_of === null &&
        ((user !== null && each.message_id === user) ||
          each.steps?.some(step => step.calls.includes(callId))),
    ) ?? null
  if (!change?.steps) return { session, change, point: 'after', isWhole: change !== null }
  const callIndex = calls.indexOf(callId)
  const isReached = (call: string) => calls.indexOf(call) <= callIndex
  const index = change.steps.findLastIndex(step => step.calls.some(isReached))
  // Of a turn that was interrupted, the last steps may be missing.
  if (change.interrupted && index === change.steps.length - 1) {
    const last = change.steps[index]
    if (!last?.calls.includes(callId)) return { session, change, point: 'after', isWhole: true }
  }
  return { session, change, point: change.steps[index]?.calls[0] ?? 'before', isWhole: false }
}
