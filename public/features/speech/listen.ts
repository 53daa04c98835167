/** Listens for one utterance: by the speech recognition of the browser, or a recording that ends with silence. */
import { type Clock, every } from '../../../lib/base/clock.ts'
import type { Recognition, Voice } from '../composer/dictation.ts'

/** The microphone may not be used. */
export class MicrophoneBlocked extends Error {}

/** Resolves with what was said; empty when nothing was, or after an abort. */
export type Listen = (signal: AbortSignal) => Promise<string>

const recognize =
  (create: () => Recognition, lang: string): Listen =>
  signal =>
    new Promise((resolve, reject) => {
      const recognition = create()
      const said: string[] = []
      const stop = () => recognition.stop()
      Object.assign(recognition, { lang, continuous: false, interimResults: false })
      recognition.onresult = ({ resultIndex, results }) => {
        for (const result of Array.from(results).slice(resultIndex))
          if (result.isFinal) said.push(result[0].transcript.trim())
      }
      recognition.onerror = ({ error }) => {
        if (error === 'not-allowed' || error === 'service-not-allowed')
          reject(new MicrophoneBlocked())
        else if (error !== 'no-speech' && error !== 'aborted') reject(new Error(error))
      }
      recognition.onend = () => {
        signal.removeEventListener('abort', stop)
        resolve(said.join(' '))
      }
      signal.addEventListener('abort', stop)
      recognition.start()
    })

export type RecordOptions = {
  record: NonNullable<Voice['record']>
  transcribe: (recording: Blob, signal: AbortSignal) => Promise<string>
  /** Calls `quiet` once: with true after a pause that follows speech, with false when nothing was said. Returns what ends it. */
  detectSilence: (stream: MediaStream, quiet: (hasSpoken: boolean) => void) => () => void
}

const recordUtterance =
  ({ record, transcribe, detectSilence }: RecordOptions): Listen =>
  async signal => {
    const opened = await record().catch(() => {
      throw new MicrophoneBlocked()
    })
    const { recorder, release } = opened
    const parts: Blob[] = []
    const ended = Promise.withResolvers<boolean>()
    const abort = () => ended.resolve(false)
    signal.addEventListener('abort', abort)
    const endDetection = detectSilence(recorder.stream, ended.resolve)
    const stopped = Promise.withResolvers<void>()
    recorder.ondataavailable = ({ data }) => parts.push(data)
    recorder.onstop = () => stopped.resolve()
    recorder.start()
    if (signal.aborted) abort()
    const hasSpoken = await ended.promise
    endDetection()
    recorder.stop()
    await stopped.promise
    release()
    signal.removeEventListener('abort', abort)
    return hasSpoken ? transcribe(new Blob(parts, { type: recorder.mimeType }), signal) : ''
  }

/** Null where the page cannot listen. */
export const listenWith = (voice: Voice, options: Omit<RecordOptions, 'record'>): Listen | null => {
  if (voice.recognition) return recognize(voice.recognition, voice.language)
  return voice.record ? recordUtterance({ ...options, record: voice.record }) : null
}

const CHECK_MS = 100
/** Of the loudest possible sound; background noise is below. */
const SPEECH_LEVEL = 0.02
/** A pause after speech that ends it; without speech; and of all. */
const PAUSE_MS = 1_500
const NOTHING_MS = 8_000
const LONGEST_MS = 60_000

export const createSilenceDetection =
  (clock: Clock): RecordOptions['detectSilence'] =>
  (stream, quiet) => {
    const context = new AudioContext()
    const analyser = context.createAnalyser()
    context.createMediaStreamSource(stream).connect(analyser)
    const samples = new Float32Array(analyser.fftSize)
    const startedAt = clock.monotonic()
    let spokenAt: number | null = null
    const stop = every(clock, CHECK_MS, () => {
      analyser.getFloatTimeDomainData(samples)
      const level = Math.sqrt(samples.reduce((sum, each) => sum + each * each, 0) / samples.length)
      const now = clock.monotonic()
      if (level > SPEECH_LEVEL) spokenAt = now
      const isOver =
        now - startedAt > LONGEST_MS ||
        (spokenAt === null ? now - startedAt > NOTHING_MS : now - spokenAt > PAUSE_MS)
      if (isOver) quiet(spokenAt !== null)
    })
    return () => {
      stop()
      void context.close()
    }
  }
