/** Dictation: begun in the menu of the composer, and ended by a button that is there meanwhile. */
import { useEffect, useMemo } from 'preact/hooks'
import { IconButton } from '../../parts/button.tsx'
import { Dictation, type Recognition, type Voice } from './dictation.ts'
import { t } from './dictate-strings.ts'
import { useApp } from '../shell/context.ts'

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

const voiceOf = (browser: Window): Voice => {
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

export const DictateButton = () => {
  const app = useApp()
  const dictation = useMemo(
    () =>
      new Dictation({
        api: app.shell.api,
        voice: voiceOf(window),
        write(text) {
          const { draft: composer } = app.composer
          composer.edit([composer.text.value.trimEnd(), text].filter(Boolean).join(' '))
          app.pane.focusComposer()
        },
        notify: sentence => app.shell.toasts.show(sentence),
        fail: error => app.shell.toasts.showError(error),
      }),
    [],
  )
  useEffect(() => {
    void dictation.checkAvailability()
    app.composer.dictation.value = dictation
    return dictation.leave
  }, [])
  const state = dictation.state.value
  if (state === 'idle') return null
  return (
    <IconButton
      class={state === 'listening' ? 'dictating' : ''}
      icon={state === 'busy' ? 'spinner' : 'mic'}
      label={t(state === 'busy' ? 'dictate.busy' : 'dictate.stop')}
      aria-pressed={state === 'listening'}
      disabled={state === 'busy'}
      onClick={() => void dictation.toggle()}
    />
  )
}
