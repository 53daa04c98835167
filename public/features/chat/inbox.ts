/** Pending approvals and questions of all sessions. */
import { computed, signal } from '@preact/signals'
import type { Frame } from '../../../lib/schema/event.ts'
import type { Question } from '../../../lib/schema/question.ts'
import type { Platform } from '../../platform.ts'

const idOf = (question: Question): string =>
  question.kind === 'approval' ? question.approval_id : question.clarify_id

export const createInbox = (
  { api }: Pick<Platform, 'api'>,
  /** Returns what ends with the question. */
  onAsked: (question: Question) => () => void,
) => {
  const open = signal<ReadonlyMap<string, Question>>(new Map())
  const ends = new Map<string, () => void>()

  const set = (questions: ReadonlyMap<string, Question>): void => {
    open.value = questions
    for (const [id, end] of ends) {
      if (questions.has(id)) continue
      ends.delete(id)
      end()
    }
  }

  return {
    open,
    count: computed(() => open.value.size),
    receive(frame: Frame): void {
      if (frame.type === 'asked') {
        const id = idOf(frame.data)
        const known = open.value.has(id)
        set(new Map(open.value).set(id, frame.data))
        if (!known) ends.set(id, onAsked(frame.data))
      } else if (frame.type === 'settled') {
        const rest = new Map(open.value)
        rest.delete(frame.data.id)
        set(rest)
      }
    },
    /** Loads the pending questions; returns the event cursor of the reply. */
    async load(): Promise<string> {
      const { questions, cursor } = await api('GET /api/inbox')
      set(new Map(questions.map(question => [idOf(question), question])))
      return cursor
    },
  }
}

export type Inbox = ReturnType<typeof createInbox>
