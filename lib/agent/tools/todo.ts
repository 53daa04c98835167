/** Tool: the agent's task list. A run begins with the list that the conversation shows. */
import { z } from 'zod'
import type { LoopMessage, Tool, ToolContext } from '../types.ts'

const Status = z.enum(['pending', 'in_progress', 'completed', 'cancelled'])
const Item = z.object({ id: z.string().min(1), content: z.string(), status: Status })
type Item = z.infer<typeof Item>
/** Other agents have lists without ids. */
const GivenItem = Item.partial({ id: true }).extend({ status: Status.default('pending') })

const input = z.object({
  todos: z
    .array(GivenItem)
    .max(200)
    .optional()
    .describe('The whole list; with merge, only the entries that change.'),
  merge: z.boolean().default(false).describe('Update entries by id instead of replacing the list.'),
})

export const todo: Tool<typeof input> = {
  name: 'todo',
  summary:
    'Keep a to-do list for work with three or more steps. Have one entry in_progress at a time, and mark it completed as soon as it is done. Without arguments, returns the list.',
  input,
  kind: 'think',
  preview: ({ todos }) => (todos ? `${todos.length} steps` : 'read the list'),
  run(ctx, { todos: items, merge }) {
    const old = listIn(ctx)
    const todos = items && withIds(items, merge ? old : [])
    const list = todos ? (merge ? mergeInto(old, todos) : unique(todos)) : old
    ctx.memo.set('todo', list)
    const count = (status: Item['status']) => list.filter(item => item.status === status).length
    const summary = {
      total: list.length,
      pending: count('pending'),
      in_progress: count('in_progress'),
      completed: count('completed'),
      cancelled: count('cancelled'),
    }
    return {
      preview: `${summary.completed} of ${summary.total} done`,
      content: JSON.stringify({ todos: list, summary }),
    }
  },
}

const TodoResult = z.object({ todos: z.array(Item) })

const shownIn = ({ role, name, content }: LoopMessage): Item[] | null => {
  if (role !== 'tool' || name !== todo.name || typeof content !== 'string') return null
  try {
    return TodoResult.parse(JSON.parse(content)).todos
  } catch {
    // The sentence of a call that failed.
    return null
  }
}

/** What a run begins with: the newest list in the conversation, so that a change is not taken for the whole list. */
export const todoMemo = (history: readonly LoopMessage[]): [key: string, list: Item[]][] => {
  for (const message of history.toReversed()) {
    const list = shownIn(message)
    if (list) return [['todo', list]]
  }
  return []
}

const listIn = (ctx: ToolContext): Item[] => {
  const parsed = z.array(Item).safeParse(ctx.memo.get('todo'))
  return parsed.success ? parsed.data : []
}

/** An entry without an id has that of the entry with the same content, else the next free number. */
const withIds = (items: readonly z.infer<typeof GivenItem>[], old: readonly Item[]): Item[] => {
  const usedIds = new Set([...old, ...items].flatMap(({ id }) => id ?? []))
  return items.map(item => {
    const same = old.find(({ content }) => content === item.content)
    let id = item.id ?? same?.id
    for (let number = 1; id === undefined; number++)
      if (!usedIds.has(String(number))) id = String(number)
    usedIds.add(id)
    return { ...item, id }
  })
}

/** The later one of two entries with the same id wins. */
const unique = (items: Item[]): Item[] => [
  ...new Map(items.map(item => [item.id, item] as const)).values(),
]

const mergeInto = (old: Item[], changes: Item[]): Item[] => unique([...old, ...changes])
