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

/** `send` resolves when the client can take more; it rejects when the client is gone, and later updates are dropped. */
export class Outbox {
  readonly #send: (update: SessionUpdate) => Promise<void>
  readonly #waiting: SessionUpdate[] = []
  #sending: Promise<void> | null = null
  #isGone = false

  constructor(send: (update: SessionUpdate) => Promise<void>) {
    this.#send = send
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next && !this.#isGone; next = this.#waiting.shift())
      await this.#send(next).catch(() => {
        this.#isGone = true
        this.#waiting.length = 0
      })
    this.#sending = null
  }

  push(update: SessionUpdate): void {
    if (this.#isGone) return
    const last = this.#waiting.at(-1)
    const merged = last ? merge(last, update) : null
    if (merged) this.#waiting[this.#waiting.length - 1] = merged
    else this.#waiting.push(update)
    this.#sending ??= this.#sendAll()
  }

  /** Resolves when everything so far is sent: requests and responses must not overtake updates. */
  async whenSent(): Promise<void> {
    while (this.#sending) await this.#sending
  }
}
