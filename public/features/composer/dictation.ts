/** Dictation: speech recognition of the browser, or a recording transcribed by the server. */
import { type Signal, signal } from '@preact/signals'
import type { ApiCall } from '../../api.ts'
import { t } from './dictate-strings.ts'

export type DictationState = 'idle' | 'listening' | 'busy'

type RecognitionEvent = {
  resultIndex: number
  results: ArrayLike<{ isFinal: boolean; 0: { transcript: string } }>
}
export type Recognition = {
  lang: string
  continuous: boolean
  interimResults: boolean
  onresult: ((event: RecognitionEvent) => void) | null
  onerror: ((event: { error: string }) => void) | null
  onend: (() => void) | null
  start(): void
  stop(): void
}
type Recorder = Pick<MediaRecorder, 'start' | 'stop' | 'mimeType' | 'ondataavailable' | 'onstop'>

/** Speech input of the browser. */
export type Voice = {
  recognition: (() => Recognition) | null
  /** Opens the microphone; `release` closes it. */
  record: (() => Promise<{ recorder: Recorder; release: () => void }>) | null
  language: string
}

export type Dictation = {
  state: Signal<DictationState>
  /** Null until known. */
  available: Signal<boolean | null>
  checkAvailability(): Promise<void>
  toggle(): Promise<void>
  /** Its button is gone: nothing else would close the microphone. What was said is still written. */
  leave(): void
}

export const createDictation = (options: {
  api: ApiCall
  voice: Voice
  /** Inserts the text into the composer. */
  write: (text: string) => void
  notify: (sentence: string) => void
  fail: (error: unknown) => void
}): Dictation => {
  const { api, voice, write, notify, fail } = options
  const state = signal<DictationState>('idle')
  const available = signal<boolean | null>(voice.recognition ? true : null)
  let stop = () => {}
  let isLeft = false

  const done = (): void => {
    state.value = 'idle'
    stop = () => {}
  }

  const recognize = (create: () => Recognition): void => {
    const recognition = create()
    Object.assign(recognition, { lang: voice.language, continuous: true, interimResults: false })
    recognition.onresult = ({ resultIndex, results }) => {
      for (const result of Array.from(results).slice(resultIndex)) {
        if (result.isFinal) write(result[0].transcript.trim())
      }
    }
    recognition.onerror = ({ error }) => {
      if (error === 'not-allowed' || error === 'service-not-allowed') notify(t('dictate.denied'))
      else if (error === 'no-speech') notify(t('dictate.nothing'))
    }
    recognition.onend = done
    stop = () => recognition.stop()
    recognition.start()
    state.value = 'listening'
  }

  const send = async (recording: Blob): Promise<void> => {
    state.value = 'busy'
    try {
      const form = new FormData()
      const ending = recording.type.includes('ogg') ? 'ogg' : 'webm'
      form.append('file', recording, `voice-input.${ending}`)
      const { transcript } = await api('POST /api/transcribe', form)
      if (transcript) write(transcript)
      else notify(t('dictate.nothing'))
    } catch (error) {
      fail(error)
    }
    done()
  }

  const record = async (open: NonNullable<Voice['record']>): Promise<void> => {
    const { recorder, release } = await open()
    if (isLeft) return release()
    const parts: Blob[] = []
    recorder.ondataavailable = ({ data }) => parts.push(data)
    recorder.onstop = () => {
      release()
      void send(new Blob(parts, { type: recorder.mimeType }))
    }
    stop = () => recorder.stop()
    recorder.start()
    state.value = 'listening'
  }

  return {
    state,
    available,
    /** Asks the server whether it can transcribe recordings. */
    async checkAvailability(): Promise<void> {
      if (available.value !== null) return
      available.value = false
      if (!voice.record) return
      try {
        available.value = (await api('GET /api/transcribe/capability')).available
      } catch {
        // Without an answer the button stays hidden.
      }
    },
    leave(): void {
      isLeft = true
      if (state.value === 'listening') stop()
    },
    async toggle(): Promise<void> {
      if (state.value === 'listening') return stop()
      if (state.value === 'busy') return
      try {
        if (voice.recognition) recognize(voice.recognition)
        else if (voice.record) await record(voice.record)
      } catch {
        // Microphone access was denied.
        done()
        notify(t('dictate.denied'))
      }
    },
  }
}
