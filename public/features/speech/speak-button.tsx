/** Button of an answer that reads it aloud; absent where the browser has no voices. */
import { useEffect } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { lazyState } from '../../parts/lazy-state.ts'
import { useApp } from '../shell/context.ts'
import { toSpeech } from './speakable.ts'
import { createSpeech } from './speech.ts'
import { t } from './strings.ts'

const speechOf = lazyState(
  app => {
    const speech = createSpeech({
      voices: window.speechSynthesis,
      utterance: text => new SpeechSynthesisUtterance(text),
      onFailure: () => app.toasts.show(t('speech.failed'), { kind: 'error' }),
    })
    // The browser keeps speaking after the page is left.
    window.addEventListener('pagehide', speech.stop)
    return speech
  },
  { isShared: true },
)

const Speak = ({ id, markdown }: SpeakButtonProps) => {
  const speech = speechOf(useApp())
  const isReading = speech.reading.value === id
  useEffect(
    () => () => {
      if (speech.reading.peek() === id) speech.stop()
    },
    [id],
  )
  const label = t(isReading ? 'speech.stop' : 'speech.read')
  const words = { code: t('speech.code'), link: t('speech.link') }
  return (
    <button
      type="button"
      class="tx-tool"
      title={label}
      aria-label={label}
      aria-pressed={isReading}
      onClick={() => (isReading ? speech.stop() : speech.read(id, toSpeech(markdown(), words)))}
    >
      <Icon name={isReading ? 'stop' : 'volume'} />
    </button>
  )
}

export type SpeakButtonProps = {
  /** Id of the message. */
  id: string
  markdown: () => string
}

export const SpeakButton = (props: SpeakButtonProps) =>
  'speechSynthesis' in window ? <Speak {...props} /> : null
