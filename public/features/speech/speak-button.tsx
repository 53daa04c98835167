/** Button of an answer that reads it aloud; absent where nothing can. */
import { useEffect, useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { useApp } from '../shell/context.ts'
import { partsOf, speechOf } from './page-speech.ts'
import { t } from './strings.ts'

export type SpeakButtonProps = {
  /** Id of the message. */
  id: string
  markdown: () => string
}

export const SpeakButton = ({ id, markdown }: SpeakButtonProps) => {
  const speech = speechOf(useApp())
  const [canSpeak, setCanSpeak] = useState('speechSynthesis' in window)
  useEffect(() => {
    if (canSpeak) return
    speech.ready().then(
      speaker => setCanSpeak(speaker !== null),
      // Offline: the next answer asks again.
      () => undefined,
    )
  }, [])
  if (!canSpeak) return null
  const isReading = speech.reading.value === id
  const label = t(isReading ? 'speech.stop' : 'speech.read')
  return (
    <button
      type="button"
      class="tx-tool"
      title={label}
      aria-label={label}
      aria-pressed={isReading}
      onClick={() => (isReading ? speech.stop() : void speech.read(id, partsOf(markdown())))}
    >
      <Icon name={isReading ? 'stop' : 'volume'} />
    </button>
  )
}
