/** Answers to approvals and questions of the open chat. The first answer wins; a later one gets a toast with that answer. */
import type { Signal } from '@preact/signals'
import type { Question, Unanswered } from '../../../lib/schema/question.ts'
import type { ApiCall } from '../../api.ts'
import { t } from '../../strings/t.ts'
import { answerWords } from '../approvals/answer-words.ts'
import type { Toasts } from '../shell/toast.ts'
import type { Chat } from './chat-reducer.ts'

export type AnswersOptions = { api: ApiCall; chat: Signal<Chat>; toasts: Toasts }

export type Answers = {
  answerApproval: (
    id: string,
    choice: string,
    given?: { scope: 'session' | 'workspace' | 'profile'; rule?: string },
  ) => Promise<void>
  answerClarify: (id: string, text: string) => Promise<void>
}

export const createAnswers = ({ api, chat, toasts }: AnswersOptions): Answers => {
  const notifyIfAnswered = (
    kind: Question['kind'],
    { accepted, answer, reason }: { accepted: boolean; answer: string | null; reason?: Unanswered },
  ): void => {
    if (accepted || answer === null) return
    const words = answerWords({ kind, answer, reason })
    toasts.show(reason ? words : t('chat.answered', { answer: words }))
  }

  return {
    async answerApproval(id, choice, given) {
      const { sessionId, questions } = chat.value
      const question = questions.find(one => one.kind === 'approval' && one.approval_id === id)
      const reply = await api('POST /api/approval/respond', {
        session_id: question?.session_id ?? sessionId,
        choice,
        approval_id: id,
        ...given,
      })
      notifyIfAnswered('approval', reply)
    },
    async answerClarify(id, text) {
      const { sessionId, questions } = chat.value
      const question = questions.find(one => one.kind === 'clarify' && one.clarify_id === id)
      const reply = await api('POST /api/clarify/respond', {
        session_id: question?.session_id ?? sessionId,
        response: text,
        clarify_id: id,
      })
      notifyIfAnswered('clarify', reply)
    },
  }
}
