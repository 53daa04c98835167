/** Dictation button, shown where dictation is available. */
import { useEffect, useMemo } from 'preact/hooks'
import { IconButton } from '../../parts/button.tsx'
import { Dictation } from './dictation.ts'
import { t } from './dictate-strings.ts'
import { voiceOf } from './voice.ts'
import { useApp } from '../shell/context.ts'

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
    return dictation.leave
  }, [])
  const state = dictation.state.value
  if (!dictation.available.value) return null
  const label =
    state === 'idle' ? 'dictate.start' : state === 'busy' ? 'dictate.busy' : 'dictate.stop'
  return (
    <IconButton
      class={state === 'listening' ? 'dictating' : ''}
      icon={state === 'busy' ? 'spinner' : 'mic'}
      label={t(label)}
      aria-pressed={state === 'listening'}
      disabled={state === 'busy'}
      onClick={() => void dictation.toggle()}
    />
  )
}
