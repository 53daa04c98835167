/** A to-do list of the agent, from the result or the arguments of a call. */
import { isObject } from '../../../lib/base/json.ts'

const STATES = ['pending', 'in_progress', 'completed', 'cancelled'] as const

export type Todo = { content: string; status: (typeof STATES)[number] }

export const toTodo = (value: unknown): Todo[] => {
  if (!isObject(value) || typeof value.content !== 'string') return []
  return [
    { content: value.content, status: STATES.find(state => state === value.status) ?? 'pending' },
  ]
}
