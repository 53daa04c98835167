/** Starts hands-free mode; while it runs, a bar above the composer says what happens and stops it. */
import { usePart } from '../../parts/use-part.ts'
import { effect } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { App } from '../../app.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { loadLazyCss } from '../../parts/lazy-css.ts'
import { voiceOf } from '../composer/voice.ts'
import { useApp } from '../shell/context.ts'
import { createHandsFree, type HandsFreeState } from './hands-free.ts'
import { createSilenceDetection, listenWith } from './listen.ts'
import { partsOf, speechOf } from './page-speech.ts'
import { t } from './strings.ts'
import { type Answer, onTurnEnd } from './turn-answers.ts'

const ICONS: Readonly<Record<Exclude<HandsFreeState, 'off'>, IconName>> = {
  listening: 'mic',
  sending: 'spinner',
  working: 'spinner',
  reading: 'volume',
}

/** Null where the page cannot listen. */
const handsFreeOf = (app: App) => {
  const { composer, platform, toasts } = app
  const listen = listenWith(voiceOf(window), {
    detectSilence: createSilenceDetection(platform.clock),
    async transcribe(recording, signal) {
      const form = new FormData()
      form.append('file', recording, `voice-input.${/ogg/.test(recording.type) ? 'ogg' : 'webm'}`)
      return (await platform.api('POST /api/transcribe', form, { signal })).transcript
    },
  })
  if (!listen) return null
  const speech = speechOf(app)
  return createHandsFree({
    listen,
    async send(text, sent, signal) {
      const answered = Promise.withResolvers<Answer | null>()
      const end = onTurnEnd(app.chat.chat, answered.resolve)
      const stop = () => answered.resolve(null)
      signal.addEventListener('abort', stop)
      try {
        composer.edit([composer.text.value.trimEnd(), text].filter(Boolean).join(' '))
        await app.submit()
        // What could not be sent is back in the composer.
        if (!composer.empty.value) return false
        sent()
        return await answered.promise
      } finally {
        end()
        signal.removeEventListener('abort', stop)
      }
    },
    read: ({ id, markdown }) => speech.read(id, partsOf(markdown)),
    stopReading: speech.stop,
    onEnd(reason, error) {
      if (reason === 'failed') toasts.showError(error)
      else if (reason !== 'unsent') toasts.show(t(`hands.${reason}`))
    },
  })
}

export type HandsFreeButtonProps = {
  /** On a narrow screen, the button is shown only while the person dictates. */
  isShown: boolean
  /** Called before it starts. */
  onStart: () => void
}

export function HandsFreeButton({ isShown, onStart }: HandsFreeButtonProps) {
  const app = useApp()
  const handsFree = useMemo(() => handsFreeOf(app), [app])
  useEffect(() => {
    if (!handsFree) return
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || handsFree.state.peek() === 'off')
        return
      event.preventDefault()
      event.stopPropagation()
      handsFree.stop()
    }
    const { isHandsFree } = speechOf(app)
    const mark = effect(() => {
      isHandsFree.value = handsFree.state.value !== 'off'
    })
    addEventListener('keydown', onKey, true)
    addEventListener('pagehide', handsFree.stop)
    return () => {
      mark()
      removeEventListener('keydown', onKey, true)
      removeEventListener('pagehide', handsFree.stop)
      handsFree.stop()
    }
  }, [handsFree])
  const isAsking = usePart(app.chat.chat, ({ questions }) => questions.length > 0)
  if (!handsFree) return null
  const state = handsFree.state.value
  const isAsked = state === 'working' && isAsking
  return (
    <>
      {isShown && (
        <IconButton
          icon="volume"
          label={t(state === 'off' ? 'hands.start' : 'hands.stop')}
          aria-pressed={state !== 'off'}
          onClick={() => {
            if (state !== 'off') return handsFree.stop()
            onStart()
            void loadLazyCss()
            return void handsFree.start()
          }}
        />
      )}
      {state !== 'off' && (
        <div class="hands-free">
          <Icon name={isAsked ? 'question' : ICONS[state]} />
          <p role="status">{t(isAsked ? 'hands.asked' : `hands.${state}`)}</p>
          <Button icon="stop" onClick={handsFree.stop}>
            {t('hands.end')}
            <span class="ask-key" aria-hidden="true">
              esc
            </span>
          </Button>
        </div>
      )}
    </>
  )
}
