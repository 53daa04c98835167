/** The to-do list of the running turn above the composer: one line, which opens to all entries. */
import { useComputed } from '@preact/signals'
import { visibleText } from '../../../lib/base/visible.ts'
import { useChat } from '../../contexts.ts'
import { Icon } from '../../parts/icon.tsx'
import { Plan } from '../tool-calls/tool-body.tsx'
import { t } from './strings.ts'
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

/** Not announced by screen readers when it changes: the answer says what was done. */
export const LivePlan = () => {
  const { transcript: chat } = useChat()
  const messages = useComputed(() => chat.chat.value.messages)
  const isRunning = useComputed(() => chat.chat.value.live !== null)
  const todos = useComputed(() => todosOfTurn(messages.value)).value
  if (!isRunning.value || todos.length === 0) return null
  const count = todos.filter(({ status }) => status === 'completed').length
  const now =
    todos.find(({ status }) => status === 'in_progress') ??
    todos.find(({ status }) => status === 'pending')
  return (
    <details class="live-plan">
      <summary>
        <Icon name="checklist" size={14} />
        <span class="live-plan-count" aria-hidden="true">
          {t('plan.count', { done: count, total: todos.length })}
        </span>
        <span class="tx-sr">{t('plan.count.full', { done: count, total: todos.length })}</span>
        <span class="live-plan-now" dir="auto">
          {now ? visibleText(now.content) : t('plan.complete')}
        </span>
        <Icon name="chevron-up" size={14} />
      </summary>
      <div class="live-plan-list">
        <Plan todos={todos} />
      </div>
    </details>
  )
}
