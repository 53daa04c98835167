/** The final text of each turn that ends in an open chat. */
import { effect, type ReadonlySignal, untracked } from '@preact/signals'
import type { TranscriptState } from '../chat/chat-reducer.ts'
import { textOf } from '../chat/open-chat.ts'

export type Answer = { id: string; markdown: string }

/** Null: the turn failed, was stopped, or ended without text. Returns a function that ends the calls. */
export const onTurnEnd = (
  chat: ReadonlySignal<TranscriptState>,
  ended: (answer: Answer | null) => void,
): (() => void) => {
  /** Of the running turn. */
  let session: string | null = null
  return effect(() => {
    const { live, sessionId, messages } = chat.value
    if (live) {
      session = sessionId
      return
    }
    const isEnd = session !== null && session === sessionId
    session = null
    if (!isEnd) return
    const last = messages.at(-1)
    const isAnswer = last?.role === 'assistant' && !last._error && !last._partial
    const markdown = isAnswer ? textOf(last).trim() : ''
    untracked(() => ended(last && markdown ? { id: last.id, markdown } : null))
  })
}
