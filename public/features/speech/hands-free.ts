/** Hands-free mode: listen, send, wait for the answer, read it, and listen again, until it is stopped. */
import { signal } from '@preact/signals'
import { type Listen, MicrophoneBlocked } from './listen.ts'
import type { Answer } from './turn-answers.ts'

export type HandsFreeState = 'off' | 'listening' | 'sending' | 'working' | 'reading'
/** Why it ended by itself. */
export type HandsFreeEnd = 'blocked' | 'silence' | 'unsent' | 'failed'

/** It ends after this many times without a word. */
const MAX_SILENCES = 3

export type HandsFreeOptions = {
  listen: Listen
  /** Sends a message and resolves with the answer; null: there is none. False when it was not sent. `sent` is called before the wait. */
  send: (text: string, sent: () => void, signal: AbortSignal) => Promise<Answer | null | false>
  read: (answer: Answer) => Promise<void>
  stopReading: () => void
  onEnd: (reason: HandsFreeEnd, error?: unknown) => void
}

export const createHandsFree = ({ listen, send, read, stopReading, onEnd }: HandsFreeOptions) => {
  const state = signal<HandsFreeState>('off')
  let running: AbortController | null = null

  const stop = (): void => {
    running?.abort()
    running = null
    state.value = 'off'
    stopReading()
  }

  const loop = async ({ signal: over }: AbortController): Promise<HandsFreeEnd | null> => {
    const show = (next: HandsFreeState) => {
      if (!over.aborted) state.value = next
    }
    for (let silences = 0; ; ) {
      show('listening')
      const text = (await listen(over)).trim()
      if (over.aborted) return null
      if (text === '') {
        if (++silences === MAX_SILENCES) return 'silence'
        continue
      }
      silences = 0
      show('sending')
      const answer = await send(text, () => show('working'), over)
      if (over.aborted) return null
      if (answer === false) return 'unsent'
      if (!answer) continue
      show('reading')
      await read(answer)
      if (over.aborted) return null
    }
  }

  return {
    state,
    stop,
    async start(): Promise<void> {
      stop()
      const own = new AbortController()
      running = own
      let reason: HandsFreeEnd | null
      let cause: unknown
      try {
        reason = await loop(own)
      } catch (error) {
        cause = error
        reason = error instanceof MicrophoneBlocked ? 'blocked' : 'failed'
      }
      if (running !== own) return
      stop()
      if (reason) onEnd(reason, cause)
    },
  }
}
