/** Speech input available in this browser. */
import type { Recognition, Voice } from './dictation.ts'

type Speaking = {
  SpeechRecognition?: new () => Recognition
  webkitSpeechRecognition?: new () => Recognition
}

const record: NonNullable<Voice['record']> = async () => {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
  return {
    recorder: new MediaRecorder(stream),
    // Turns off the microphone indicator.
    release: () => {
      for (const track of stream.getTracks()) track.stop()
    },
  }
}

export const voiceOf = (browser: Window): Voice => {
  const { SpeechRecognition, webkitSpeechRecognition } = browser as unknown as Speaking
  const Recognizer = SpeechRecognition ?? webkitSpeechRecognition
  // Browsers offer the microphone on secure pages only.
  const canRecord = typeof MediaRecorder === 'function' && Boolean(navigator.mediaDevices)
  return {
    recognition: Recognizer ? () => new Recognizer() : null,
    record: canRecord ? record : null,
    language: navigator.language,
  }
}
