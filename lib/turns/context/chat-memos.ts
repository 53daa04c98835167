/** What tools remember of each chat between its turns, as long as the service runs. */

/** The chats that were not used for longest are forgotten. */
const MAX_CHATS = 200

type Memo = Map<string, unknown>

export class ChatMemos {
  readonly #chats = new Map<string, { messageId: string; memo: Memo }>()

  /** `messages` of the chat: where that of the last turn was taken back, the model does not know what happened then. */
  of(sessionId: string, messageId: string, messages: readonly { id: string }[]): Memo {
    const chat = this.#chats.get(sessionId)
    const memo = chat && messages.some(({ id }) => id === chat.messageId) ? chat.memo : new Map()
    this.#chats.delete(sessionId)
    this.#chats.set(sessionId, { messageId, memo })
    const [oldest] = this.#chats.keys()
    if (this.#chats.size > MAX_CHATS && oldest !== undefined) this.#chats.delete(oldest)
    return memo
  }
}
