/** Reads answers aloud, one at a time, part after part. */
import { signal } from '@preact/signals'
import type { Speaker } from './speakers.ts'

export type SpeechOptions = {
  /** Null: nothing can speak here. */
  speaker: () => Promise<Speaker | null>
  /** Called when it could not be read. */
  onFailure: (error: unknown) => void
}

export const createSpeech = ({ speaker, onFailure }: SpeechOptions) => {
  /** Id of the message that is read. */
  const reading = signal<string | null>(null)
  let stopped = Promise.withResolvers<void>()
  let cancel = () => {}

  const stop = (): void => {
    reading.value = null
    stopped.resolve()
    cancel()
  }

  return {
    reading,
    stop,
    /** Resolves at the end, also when it is stopped or another answer is read. */
    async read(id: string, parts: readonly string[]): Promise<void> {
      stop()
      const own = Promise.withResolvers<void>()
      stopped = own
      reading.value = id
      const isOver = () => stopped !== own || reading.value !== id
      try {
        const found = await speaker()
        if (!found) throw new Error('Nothing can speak here.')
        if (isOver()) return
        cancel = found.cancel
        for (const [at, part] of parts.entries()) {
          const next = parts[at + 1]
          const said = found.speak(part)
          if (next !== undefined) found.prepare?.(next)
          // Some browsers report no end of what was canceled.
          await Promise.race([said, own.promise])
          if (isOver()) return
        }
        reading.value = null
      } catch (error) {
        if (isOver()) return
        stop()
        onFailure(error)
      }
    },
  }
}
