/** The agent's to-do list in the latest turn of a chat. */
import type { Message } from '../../../lib/schema/message.ts'
import { type Todo, toTodo } from '../tool-calls/todo.ts'
import { parseFields } from '../tool-calls/outcome.ts'

/** Of the last call of the to-do tool, also that of an external agent; empty when the turn has none. */
export const todosOfTurn = (messages: readonly Message[]): Todo[] => {
  for (const { role, name, content } of messages.toReversed()) {
    if (role === 'user') return []
    if (role !== 'tool' || name !== 'todo' || typeof content !== 'string') continue
    const todos = parseFields(content)?.todos
    if (Array.isArray(todos)) return todos.flatMap(toTodo)
  }
  return []
}
