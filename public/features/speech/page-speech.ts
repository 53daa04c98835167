/** Reading aloud on this page: by the server where a speech service is configured, else by the voices of the browser. */
import { effect, signal } from '@preact/signals'
import { lazyState } from '../../parts/lazy-state.ts'
import type { App } from '../../app.ts'
import { toSpeech } from './speakable.ts'
import { browserSpeaker, serverSpeaker, type Speaker } from './speakers.ts'
import { createSpeech } from './speech.ts'
import { t } from './strings.ts'

const speakerFor = async ({ platform }: App): Promise<Speaker | null> => {
  const { available } = await platform.api('GET /api/tts/capability')
  if (available)
    return serverSpeaker({
      fetchAudio: (text, signal) =>
        platform.fetchBlob(
          'api/tts',
          {},
          {
            signal,
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ text }),
          },
        ),
      player: new Audio(),
      urls: URL,
    })
  return 'speechSynthesis' in window
    ? browserSpeaker(window.speechSynthesis, text => new SpeechSynthesisUtterance(text))
    : null
}

export const speechOf = lazyState(
  app => {
    let speaker: Promise<Speaker | null> | null = null
    const ready = (): Promise<Speaker | null> => {
      speaker ??= speakerFor(app).catch((error: unknown) => {
        speaker = null
        throw error
      })
      return speaker
    }
    const speech = createSpeech({
      speaker: ready,
      onFailure: () => app.toasts.show(t('speech.failed'), { kind: 'error' }),
    })
    // The browser keeps speaking after the page is left.
    window.addEventListener('pagehide', speech.stop)
    let place = ''
    effect(() => {
      const { view } = app.route.current.value
      const now = `${view} ${app.isShown.value}`
      if (place !== '' && place !== now) speech.stop()
      place = now
    })
    return { ...speech, ready, isHandsFree: signal(false) }
  },
  { isShared: true },
)

/** What is said of an answer. */
export const partsOf = (markdown: string): string[] =>
  toSpeech(markdown, { code: t('speech.code'), link: t('speech.link') })
