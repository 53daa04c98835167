/** Pending approvals and questions of all sessions. */
import { computed, signal } from '@preact/signals'
import type { Frame } from '../../../lib/schema/event.ts'
import type { Question } from '../../../lib/schema/question.ts'
import type { Platform } from '../../platform.ts'

const idOf = (question: Question): string =>
  question.kind === 'approval' ? question.approval_id : question.clarify_id

export const createInbox = (
  { api }: Pick<Platform, 'api'>,
  onAsked: (question: Question) => void,
) => {
  const open = signal<ReadonlyMap<string, Question>>(new Map())

  return {
    open,
    count: computed(() => open.value.size),
    receive(frame: Frame): void {
      if (frame.type === 'asked') {
        const known = open.value.has(idOf(frame.data))
        open.value = new Map(open.value).set(idOf(frame.data), frame.data)
        if (!known) onAsked(frame.data)
      } else if (frame.type === 'settled') {
        const rest = new Map(open.value)
        rest.delete(frame.data.id)
        open.value = rest
      }
    },
    /** Loads the pending questions; returns the event cursor of the reply. */
    async load(): Promise<string> {
      const { questions, cursor } = await api('GET /api/inbox')
      open.value = new Map(questions.map(question => [idOf(question), question]))
      return cursor
    },
  }
}

export type Inbox = ReturnType<typeof createInbox>
