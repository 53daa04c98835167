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

export class Dictation {
  readonly #options: {
    api: ApiCall
    voice: Voice
    /** Inserts the text into the composer. */
    write: (text: string) => void
    notify: (sentence: string) => void
    fail: (error: unknown) => void
  }
  readonly state: Signal<DictationState> = signal<DictationState>('idle')
  /** Null until known. */
  readonly available: Signal<boolean | null>
  #stop = () => {}
  #isLeft = false

  constructor(options: {
    api: ApiCall
    voice: Voice
    /** Inserts the text into the composer. */
    write: (text: string) => void
    notify: (sentence: string) => void
    fail: (error: unknown) => void
  }) {
    const { voice } = options
    this.#options = options
    this.available = signal<boolean | null>(voice.recognition ? true : null)
  }

  readonly #done = (): void => {
    this.state.value = 'idle'
    this.#stop = () => {}
  }

  /** Its button is gone: nothing else would close the microphone. What was said is still written. */
  readonly leave = (): void => {
    this.#isLeft = true
    if (this.state.value === 'listening') this.#stop()
  }

  /** Asks the server whether it can transcribe recordings. */
  async checkAvailability(): Promise<void> {
    const { voice, api } = this.#options
    if (this.available.value !== null) return
    this.available.value = false
    if (!voice.record) return
    try {
      this.available.value = (await api('GET /api/transcribe/capability')).available
    } catch {
      // Without an answer the button stays hidden.
    }
  }

  async toggle(): Promise<void> {
    const { voice, notify } = this.#options
    if (this.state.value === 'listening') return this.#stop()
    if (this.state.value === 'busy') return
    try {
      if (voice.recognition) this.#recognize(voice.recognition)
      else if (voice.record) await this.#record(voice.record)
    } catch {
      // Microphone access was denied.
      this.#done()
      notify(t('dictate.denied'))
    }
  }

  #recognize(create: () => Recognition): void {
    const { voice, write, notify } = this.#options
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
    recognition.onend = this.#done
    this.#stop = () => recognition.stop()
    recognition.start()
    this.state.value = 'listening'
  }

  async #send(recording: Blob): Promise<void> {
    const { api, write, notify, fail } = this.#options
    this.state.value = 'busy'
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
    this.#done()
  }

  async #record(open: NonNullable<Voice['record']>): Promise<void> {
    const { recorder, release } = await open()
    if (this.#isLeft) return release()
    const parts: Blob[] = []
    recorder.ondataavailable = ({ data }) => parts.push(data)
    recorder.onstop = () => {
      release()
      void this.#send(new Blob(parts, { type: recorder.mimeType }))
    }
    this.#stop = () => recorder.stop()
    recorder.start()
    this.state.value = 'listening'
  }
}
