/** Sends the updates of one session in order, and merges those that wait while the client reads slowly. */
import type { SessionUpdate } from '@agentclientprotocol/sdk'

type Chunk = Extract<
  SessionUpdate,
  { sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk' }
>

const isChunk = (update: SessionUpdate): update is Chunk =>
  update.sessionUpdate === 'agent_message_chunk' || update.sessionUpdate === 'agent_thought_chunk'

/** Live output only: a later update replaces it completely. */
const isOutput = (update: SessionUpdate): boolean =>
  update.sessionUpdate === 'tool_call_update' && update.status == null && update.content != null

/** One update with the effect of both; null when there is none. */
const merge = (first: SessionUpdate, second: SessionUpdate): SessionUpdate | null => {
  if (isChunk(first) && isChunk(second)) {
    const isSame =
      first.sessionUpdate === second.sessionUpdate && first.messageId === second.messageId
    if (!isSame || first.content.type !== 'text' || second.content.type !== 'text') return null
    return { ...first, content: { type: 'text', text: first.content.text + second.content.text } }
  }
  const isReplaced =
    isOutput(first) &&
    isOutput(second) &&
    'toolCallId' in first &&
    'toolCallId' in second &&
    first.toolCallId === second.toolCallId
  return isReplaced ? second : null
}

export type Outbox = {
  push: (update: SessionUpdate) => void
  /** Resolves when everything so far is sent: requests and responses must not overtake updates. */
  sent: () => Promise<void>
}

/** `send` resolves when the client can take more; it rejects when the client is gone, and later updates are dropped. */
export const createOutbox = (send: (update: SessionUpdate) => Promise<void>): Outbox => {
  const waiting: SessionUpdate[] = []
  let sending: Promise<void> | null = null
  let isGone = false

  const sendAll = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !isGone; next = waiting.shift())
      await send(next).catch(() => {
        isGone = true
        waiting.length = 0
      })
    sending = null
  }

  return {
    push(update) {
      if (isGone) return
      const last = waiting.at(-1)
      const merged = last ? merge(last, update) : null
      if (merged) waiting[waiting.length - 1] = merged
      else waiting.push(update)
      sending ??= sendAll()
    },
    async sent() {
      while (sending) await sending
    },
  }
}
