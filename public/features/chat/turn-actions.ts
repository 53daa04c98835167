/** Starting, stopping, queueing and repeating turns of the open chat. */
import { type ApiCall, ApiError } from '../../api.ts'
import { t } from '../../strings/t.ts'
import { splitComments, withComments } from '../../../lib/base/comment-text.ts'
import { withFiles, withoutFiles } from '../composer/composer.ts'
import type { Queue } from '../queue/queue.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { RouteState } from '../shell/route.ts'
import type { Toasts } from '../shell/toast.ts'
import { type OpenChat, textOf } from './open-chat.ts'
import type { SessionChoices } from './session-choices.ts'

export type TurnActionsOptions = {
  api: ApiCall
  toasts: Toasts
  route: RouteState
  sessions: Sessions
  chat: OpenChat
  queue: Queue
  choices: Pick<SessionChoices, 'ensureSession' | 'importIfHostSession'>
  attempt: (action: () => Promise<unknown>) => Promise<void>
}

export type TurnActions = {
  /** Starts a turn of the open chat. False when it could not start: the caller keeps the text. */
  startTurn: (text: string, files: readonly string[]) => Promise<boolean>
  /** Queues a message after the running turn, or steers the turn with it. False when the server rejected it. */
  enqueue: (id: string, text: string, files: readonly string[], steer?: boolean) => Promise<boolean>
  /** Sends a text that was not written in the composer. */
  sendText: (text: string) => Promise<boolean>
  stop: () => Promise<undefined>
  /** Ends the wait before a failed model call is repeated. Shows an error and rejects when the request failed. */
  retryNow: () => Promise<void>
  edit: (id: string, text: string) => Promise<void>
  retry: (id?: string) => Promise<undefined>
  /** Returns the sentence to show. */
  undo: (id: string) => Promise<string | undefined>
}

export const createTurnActions = (options: TurnActionsOptions): TurnActions => {
  const { api, toasts, route, sessions, chat, queue, choices, attempt } = options

  const enqueue: TurnActions['enqueue'] = async (id, text, files, steer = false) => {
    try {
      await queue[steer ? 'steer' : 'add'](id, text, files)
      return true
    } catch (error) {
      toasts.showError(error)
      return false
    }
  }

  const startTurn: TurnActions['startTurn'] = async (text, files) => {
    const removePending = chat.addPending(text, files)
    let id = route.sessionId.value
    try {
      id = await choices.ensureSession()
      await choices.importIfHostSession(id)
      const reply = await api('POST /api/chat/start', {
        session_id: id,
        message: text,
        ...(files.length > 0 ? { attachments: [...files] } : {}),
      })
      if (reply.effective_model) chat.patch({ model: reply.effective_model })
      return true
    } catch (error) {
      removePending()
      if (!id || !(error instanceof ApiError) || error.status !== 409) {
        toasts.showError(error)
        return false
      }
      // Another tab or device started a turn first: queue the message after it.
      const queued = await enqueue(id, text, files)
      void chat.reload()
      return queued
    }
  }

  /** Deletes this message and everything after it, then sends its text, or `text`, again. */
  const resend = async (id: string, text: string | null): Promise<void> => {
    const prompt = chat.promptOf(id)
    if (!prompt) return
    if (chat.busy.value) {
      toasts.show(t('command.busy'))
      return
    }
    await attempt(async () => {
      const keep = chat.countBefore(prompt.id)
      await choices.importIfHostSession(chat.chat.value.sessionId)
      await chat.truncate(keep)
      const files = prompt.attachments ?? []
      const before = files.length > 0 ? withoutFiles(textOf(prompt)) : textOf(prompt)
      // An edited text replaces the text only: comments and files stay.
      const message = text === null ? before : withComments(text, splitComments(before).comments)
      await startTurn(withFiles(message, files), files)
    })
  }

  return {
    startTurn,
    enqueue,
    sendText: text => startTurn(text, []),
    async stop() {
      const { live, sessionId } = chat.chat.value
      const stream = live?.stream_id || sessions.row(sessionId)?.active_stream_id
      if (stream) await attempt(() => api('POST /api/chat/cancel', { stream_id: stream }))
      return undefined
    },
    async retryNow() {
      const { live, sessionId } = chat.chat.value
      const stream = live?.stream_id || sessions.row(sessionId)?.active_stream_id
      if (!stream) return
      try {
        // The position of the last event seen: a late press does not end a later wait.
        const pos = live?.pos ? { pos: live.pos } : {}
        const { retried } = await api('POST /api/chat/retry', { stream_id: stream, ...pos })
        if (!retried) toasts.show(t('chat.retry.late'))
      } catch (error) {
        toasts.showError(error)
        throw error
      }
    },
    edit: (id, text) => resend(id, text),
    async retry(id) {
      const prompt = chat.promptOf(id)
      if (prompt) await resend(prompt.id, null)
      return undefined
    },
    async undo(id) {
      if (chat.busy.value) return t('command.busy')
      const reply = await api('POST /api/session/undo', { session_id: id })
      if ('error' in reply) return reply.error
      await chat.reload()
      return t('command.undone', { preview: reply.removed_preview })
    },
  }
}
