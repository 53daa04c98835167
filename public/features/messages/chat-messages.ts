/** Access to single messages of the open chat: earlier pages, full texts, positions, truncation. */
import { PAGE_SIZE } from './page-size.ts'
import type { Signal } from '@preact/signals'
import type { Message } from '../../../lib/schema/message.ts'
import type { ApiCall } from '../../api.ts'
import { type TranscriptState, withEarlier } from './chat-reducer.ts'

/** The server's maximum. */
const MAX_PAGE_SIZE = 500

export type ChatMessagesOptions = {
  api: ApiCall
  chat: Signal<TranscriptState>
  view: Signal<View>
}

/** What is shown of a chat; `/clear` hides what is there. */
export type View = (chat: TranscriptState) => TranscriptState
export const whole: View = chat => chat

export class ChatMessages {
  readonly #options: ChatMessagesOptions

  constructor(options: ChatMessagesOptions) {
    this.#options = options
  }

  readonly loadBefore = async (limit: number = PAGE_SIZE): Promise<void> => {
    const { chat, api } = this.#options
    const { sessionId, messages, before } = chat.value
    const first = messages[0]
    if (!first || before === 0) return
    const input = { session_id: sessionId, limit, before: first.id }
    const { session } = await api('GET /api/session', input)
    // The chat may have been switched or reloaded during the request.
    if (chat.value.sessionId !== sessionId || chat.value.messages[0]?.id !== first.id) return
    chat.value = withEarlier(chat.value, {
      messages: session.messages,
      before: session._messages_offset,
      turnUsage: session.turn_usage ?? [],
    })
  }

  /** Loads earlier messages up to this one; false when the chat has no such message. */
  readonly loadUntil = async (id: string): Promise<boolean> => {
    const { chat } = this.#options
    this.#options.view.value = whole
    const { sessionId } = chat.value
    while (this.#indexOf(id) < 0 && chat.value.before > 0) {
      const { before } = chat.value
      await this.loadBefore(MAX_PAGE_SIZE)
      // Another chat was opened, or the page brought nothing new.
      if (chat.value.sessionId !== sessionId || chat.value.before === before) return false
    }
    return this.#indexOf(id) >= 0
  }

  readonly loadMessage = async (id: string): Promise<Message> => {
    const { api, chat } = this.#options
    return (await api('GET /api/session/message', { session_id: chat.value.sessionId, id })).message
  }

  /** Number of messages before this one in the whole chat. */
  readonly countBefore = (id: string): number =>
    this.#options.chat.value.before + Math.max(0, this.#indexOf(id))

  /** The user message that led to this one, or the latest one. */
  readonly promptOf = (id?: string): Message | undefined => {
    const { messages } = this.#options.chat.value
    const at = id === undefined ? messages.length - 1 : this.#indexOf(id)
    return messages.slice(0, at + 1).findLast(({ role }) => role === 'user')
  }

  #indexOf(id: string): number {
    return this.#options.chat.value.messages.findIndex(one => one.id === id)
  }
}
