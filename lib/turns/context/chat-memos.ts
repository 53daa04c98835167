/** What tools remember of each chat between its turns, as long as the service runs. */
import type { Message } from '../../schema/message.ts'
import type { Turn } from '../turn.ts'

/** The chats that were not used for longest are forgotten. */
const MAX_CHATS = 200

type Memo = Map<string, unknown>

export const createChatMemos = () => {
  const chats = new Map<string, { turn: string; memo: Memo }>()
  /** `messages` of the chat: where that of the last turn was taken back, the model does not know what happened then. */
  return (
    { sessionId, userMessageId }: Pick<Turn, 'sessionId' | 'userMessageId'>,
    messages: readonly Pick<Message, 'id'>[],
  ): Memo => {
    const known = chats.get(sessionId)
    const memo = known && messages.some(({ id }) => id === known.turn) ? known.memo : new Map()
    chats.delete(sessionId)
    chats.set(sessionId, { turn: userMessageId, memo })
    const [oldest] = chats.keys()
    if (chats.size > MAX_CHATS && oldest !== undefined) chats.delete(oldest)
    return memo
  }
}
