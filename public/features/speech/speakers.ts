/** What can read aloud: the voices of the browser, or audio of the server's speech service. */

export type Speaker = {
  /** Resolves when it has been said. Rejects when it cannot be said. */
  speak: (text: string) => Promise<void>
  /** Fetches what is said next while the text before is played. */
  prepare?: (text: string) => void
  cancel: () => void
}

/** The part of `speechSynthesis` that is used. */
export type Voices = Pick<SpeechSynthesis, 'speak' | 'cancel'>

export const browserSpeaker = (
  voices: Voices,
  utterance: (text: string) => SpeechSynthesisUtterance,
): Speaker => ({
  speak: text =>
    new Promise((resolve, reject) => {
      const spoken = utterance(text)
      spoken.onend = () => resolve()
      spoken.onerror = () => reject(new Error('The browser cannot speak.'))
      voices.speak(spoken)
    }),
  cancel: () => voices.cancel(),
})

/** The part of an audio element that is used. */
export type Player = Pick<HTMLAudioElement, 'src' | 'play' | 'pause' | 'onended' | 'onerror'>

export type ServerSpeakerOptions = {
  fetchAudio: (text: string, signal: AbortSignal) => Promise<Blob>
  player: Player
  urls: Pick<typeof URL, 'createObjectURL' | 'revokeObjectURL'>
}

/** One player for all texts: browsers that allow sound only after a touch allow it per element. */
export const serverSpeaker = ({ fetchAudio, player, urls }: ServerSpeakerOptions): Speaker => {
  let current = new AbortController()
  const prepared = new Map<string, Promise<Blob>>()

  const audioOf = (text: string): Promise<Blob> => {
    const known = prepared.get(text)
    if (known) return known
    const audio = fetchAudio(text, current.signal)
    // Reported when it is to be said.
    audio.catch(() => undefined)
    prepared.set(text, audio)
    return audio
  }

  return {
    prepare: text => void audioOf(text),
    async speak(text) {
      const { signal } = current
      const audio = await audioOf(text)
      prepared.delete(text)
      if (signal.aborted) return
      const url = urls.createObjectURL(audio)
      try {
        await new Promise<void>((resolve, reject) => {
          player.onended = () => resolve()
          player.onerror = () => reject(new Error('The audio cannot be played.'))
          player.src = url
          player.play().catch(reject)
        })
      } finally {
        urls.revokeObjectURL(url)
      }
    },
    cancel() {
      current.abort()
      current = new AbortController()
      prepared.clear()
      player.pause()
    },
  }
}
