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

export type ChatMessages = {
  loadBefore: (limit?: number) => Promise<void>
  /** Loads earlier messages up to this one; false when the chat has no such message. */
  loadUntil: (id: string) => Promise<boolean>
  loadMessage: (id: string) => Promise<Message>
  /** Number of messages before this one in the whole chat. */
  countBefore: (id: string) => number
  /** The user message that led to this one, or the latest one. */
  promptOf: (id?: string) => Message | undefined
}

export const createChatMessages = (options: ChatMessagesOptions): ChatMessages => {
  const { api, chat } = options
  const indexOf = (id: string): number => chat.value.messages.findIndex(one => one.id === id)

  const loadBefore = async (limit = PAGE_SIZE): Promise<void> => {
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

  return {
    loadBefore,
    async loadUntil(id) {
      options.view.value = whole
      const { sessionId } = chat.value
      while (indexOf(id) < 0 && chat.value.before > 0) {
        const { before } = chat.value
        await loadBefore(MAX_PAGE_SIZE)
        // Another chat was opened, or the page brought nothing new.
        if (chat.value.sessionId !== sessionId || chat.value.before === before) return false
      }
      return indexOf(id) >= 0
    },
    loadMessage: async id =>
      (await api('GET /api/session/message', { session_id: chat.value.sessionId, id })).message,
    countBefore: id => chat.value.before + Math.max(0, indexOf(id)),
    promptOf(id) {
      const { messages } = chat.value
      const at = id === undefined ? messages.length - 1 : indexOf(id)
      return messages.slice(0, at + 1).findLast(({ role }) => role === 'user')
    },
  }
}
