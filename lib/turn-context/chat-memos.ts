/** What tools remember of each chat between its turns, as long as the service runs. */

/** The chats that were not used for longest are forgotten. */
const MAX_CHATS = 500

export const createChatMemos = () => {
  const memos = new Map<string, Map<string, unknown>>()
  return (sessionId: string): Map<string, unknown> => {
    const memo = memos.get(sessionId) ?? new Map<string, unknown>()
    memos.delete(sessionId)
    memos.set(sessionId, memo)
    const [oldest] = memos.keys()
    if (memos.size > MAX_CHATS && oldest !== undefined) memos.delete(oldest)
    return memo
  }
}
