/** Starting, stopping, queueing and repeating turns of one chat. */
import { editOf, withEdit, withoutEdit } from '../messages/editing.ts'
import type { ApiCall } from '../../api.ts'
import { t } from '../../strings/t.ts'
import { splitComments, withComments } from '../../../lib/base/comment-text.ts'
import { withFiles } from '../../../lib/base/draft-message.ts'
import type { Composer } from './composer.ts'
import { messageText, withoutFiles } from '../messages/message-text.ts'
import type { Queue } from '../queue/queue.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Toasts } from '../shell/toast.ts'
import type { Transcript } from '../messages/transcript.ts'
import type { NewMessage, Outbox } from '../messages/outbox.ts'
import type { SessionChoices } from './session-choices.ts'

export type TurnActionsOptions = {
  api: ApiCall
  toasts: Toasts
  /** The client's id of the chat. */
  key: string
  sessions: Sessions
  chat: Transcript
  draft: Composer
  queue: Queue
  choices: SessionChoices
  outbox: Outbox
  attempt: (action: () => Promise<unknown>) => Promise<void>
}

/** Of a message that was written in the composer. */
type Names = { id: string; draft?: string }

export class TurnActions {
  readonly #options: TurnActionsOptions

  constructor(options: TurnActionsOptions) {
    this.#options = options
  }

  /**
   * Starts a turn, or queues the message behind the one that runs. True when the server has it or it waits for the
   * connection; false when it was rejected, which is shown: the caller keeps the text.
   */
  startTurn(text: string, files: readonly string[], names?: Names): Promise<boolean> {
    return this.#send({ ...names, text, files })
  }

  /** Queues a message after the running turn, or steers the turn with it. False as above. */
  async enqueue(
    text: string,
    files: readonly string[],
    { steer = false, names }: { steer?: boolean; names?: Names } = {},
  ): Promise<boolean> {
    const { chat, queue, toasts } = this.#options
    // A session that is being created has no turn to steer yet.
    if (!steer || !chat.sessionId.peek()) return this.#send({ ...names, text, files, behind: true })
    try {
      await queue.steer(chat.sessionId.peek(), text, files, names)
      return true
    } catch (error) {
      // Guidance for a turn is not sent later: by then it may have ended.
      toasts.showError(error)
      return false
    }
  }

  /** Sends a text that was not written in the composer. */
  sendText(text: string): Promise<boolean> {
    return this.startTurn(text, [])
  }

  async stop(): Promise<void> {
    const { api, attempt } = this.#options
    const turn = this.#runningTurn()
    if (turn) await attempt(() => api('POST /api/chat/cancel', turn))
  }

  /** Ends the wait before a failed model call is repeated. Shows an error and rejects when the request failed. */
  async retryNow(): Promise<void> {
    const { api, chat, toasts } = this.#options
    const turn = this.#runningTurn()
    if (!turn) return
    try {
      // The position of the last event seen: a late press does not end a later wait.
      const { live } = chat.chat.value
      const pos = live?.pos ? { pos: live.pos } : {}
      const { retried } = await api('POST /api/chat/retry', { ...turn, ...pos })
      if (!retried) toasts.show(t('chat.retry.late'))
    } catch (error) {
      toasts.showError(error)
      throw error
    }
  }

  /** Replaces this message of the person and what followed it by a new text. Its editor stays open until that is accepted. */
  async edit(id: string, text: string, added: readonly string[] = []): Promise<boolean> {
    const { chat, draft } = this.#options
    const { editing } = chat
    const isOpen = (): boolean => editOf(editing.peek(), id) !== undefined
    const wasOpen = isOpen()
    const change = (isSending: boolean | null): void => {
      const edit = editOf(editing.value, id)
      if (!edit) return
      editing.value =
        isSending === null
          ? withoutEdit(editing.value, id)
          : withEdit(editing.value, { ...edit, isSending })
    }
    change(true)
    const isAccepted = await this.#resend(id, text, added)
    // A refused text stays where it was written, unless its editor was closed meanwhile.
    if (!isAccepted && wasOpen && !isOpen()) draft.restoreDraft({ text, files: [...added] })
    change(isAccepted ? null : false)
    chat.checkEditing()
    return isAccepted
  }

  /** Sends the message that led to this one again, or the latest one. */
  async retry(id?: string): Promise<void> {
    const prompt = this.#options.chat.messages.promptOf(id)
    if (prompt) await this.#resend(prompt.id, null)
  }

  /** Shows this version of a message, with what followed it. */
  async showVersion(message_id: string): Promise<void> {
    const { api, chat } = this.#options
    await api('POST /api/session/version', { session_id: chat.sessionId.peek(), message_id })
    await chat.reload()
  }

  /** Returns the sentence to show. */
  async undo(id: string): Promise<string | undefined> {
    const { api, chat } = this.#options
    if (chat.busy.value) return t('command.busy')
    const reply = await api('POST /api/session/undo', { session_id: id })
    if ('error' in reply) return reply.error
    await chat.reload()
    return t('command.undone', { preview: reply.removed_preview })
  }

  async #send(
    message: Pick<NewMessage, 'id' | 'draft' | 'text' | 'files' | 'replace' | 'behind'>,
  ): Promise<boolean> {
    const { key, chat, outbox, choices, toasts } = this.#options
    try {
      const receipt = await outbox.send({
        ...message,
        chat: key,
        session_id: chat.sessionId.peek() || null,
        choice: choices.choice.peek(),
      })
      // A turn of another page or device runs.
      if (receipt === 'queued' && !message.behind) void chat.reload()
      return true
    } catch (error) {
      toasts.showError(error)
      return false
    }
  }

  /** `text`: null for the same one. */
  async #resend(id: string, text: string | null, added: readonly string[] = []): Promise<boolean> {
    const { chat, toasts } = this.#options
    const prompt = chat.messages.promptOf(id)
    if (!prompt) return false
    if (chat.busy.value) {
      toasts.show(t('command.busy'))
      return false
    }
    const attached = prompt.attachments ?? []
    const files = [...attached, ...added]
    const before = attached.length > 0 ? withoutFiles(messageText(prompt)) : messageText(prompt)
    // An edited text replaces the text only: comments and files stay.
    const message = text === null ? before : withComments(text, splitComments(before).comments)
    return this.#send({ text: withFiles(message, files), files, replace: prompt.id })
  }

  #runningTurn(): { stream_id: string } | null {
    const { chat, sessions } = this.#options
    const { live, sessionId } = chat.chat.value
    const stream = live?.stream_id || sessions.row(sessionId)?.active_stream_id
    return stream ? { stream_id: stream } : null
  }
}
