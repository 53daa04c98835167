/** Reads answers aloud with the voices of the browser, one answer at a time. */
import { signal } from '@preact/signals'

/** The part of `speechSynthesis` that is used. */
export type Voices = Pick<SpeechSynthesis, 'speak' | 'cancel'>

export type SpeechOptions = {
  voices: Voices
  utterance: (text: string) => SpeechSynthesisUtterance
  /** Called when the browser cannot speak. */
  onFailure: () => void
}

export const createSpeech = ({ voices, utterance, onFailure }: SpeechOptions) => {
  /** Id of the message that is read. */
  const reading = signal<string | null>(null)
  let started = 0

  const stop = (): void => {
    started += 1
    reading.value = null
    voices.cancel()
  }

  return {
    reading,
    stop,
    read(id: string, parts: readonly string[]): void {
      stop()
      const own = started
      const next = (at: number): void => {
        // Stopped, or another answer is read: `cancel` also ends the utterance of this one.
        if (own !== started) return
        const text = parts[at]
        if (text === undefined) {
          reading.value = null
          return
        }
        const spoken = utterance(text)
        spoken.onend = () => next(at + 1)
        spoken.onerror = () => {
          if (own !== started) return
          stop()
          onFailure()
        }
        voices.speak(spoken)
      }
      reading.value = id
      next(0)
    },
  }
}

export type Speech = ReturnType<typeof createSpeech>
