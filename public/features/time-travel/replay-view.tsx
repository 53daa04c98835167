/** Replay of a chat: the transcript as it grew, with play, speed and a slider in place of the composer. Executes nothing. */
import { signal, useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import type { Message } from '../../../lib/schema/message.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { App } from '../../app.ts'
import { useApp } from '../shell/context.ts'
import { describeToolCall, parseArgs } from '../tool-calls/describe-tool-call.ts'
import { Transcript, type TranscriptActions } from '../transcript/transcript.tsx'
import { nameOf } from '../workspace/file-kind.ts'
import { turnChangesOf } from '../workspace/turn-changes.ts'
import { callAt, createScreen, type Film } from './film.ts'
import { loadFilm } from './load-film.ts'
import { showPast } from './open-past.ts'
import { pastOfCall } from './points.ts'
import { createPlayer, type Player, SPEEDS } from './player.ts'
import { t } from './strings.ts'

type Replay = { session: string; from: string | null }

const ignore = () => undefined

/** Nothing that changes the chat or asks a model. */
const readOnly = (app: App, session: string): TranscriptActions => ({
  loadBefore: async () => undefined,
  loadMessage: id => app.chat.loadMessage(id),
  loadStored: async path =>
    (await app.platform.fetchBlob('api/media', { session_id: session, path })).text(),
  edit: async () => false,
  editing: signal(null),
  retry: ignore,
  retryNow: async () => undefined,
  stop: ignore,
  branch: ignore,
  copy: text => void app.copy(text),
  answer: ignore,
  openFile: (path, line) => app.panel.openFile(path, line),
  switchModel: ignore,
  addKey: ignore,
  compact: ignore,
})

export function ReplayView({ replay }: { replay: Replay }) {
  const app = useApp()
  const film = useSignal<Film | 'loading' | 'failed'>('loading')
  const load = () => {
    film.value = 'loading'
    loadFilm(app.platform, replay.session).then(
      found => {
        film.value = found
      },
      // Shown, with Retry.
      () => {
        film.value = 'failed'
      },
    )
  }
  useEffect(() => {
    load()
    // Another chat or view was opened.
    return () => {
      if (app.layout.replay.value?.session === replay.session) app.layout.replay.value = null
    }
  }, [])
  useEffect(() => {
    // The files of each step, where they are recorded. Without them, the edits say which file they changed.
    void turnChangesOf(app).follow('')
  }, [])
  const end = () => {
    app.layout.replay.value = null
  }
  if (typeof film.value !== 'string')
    return <Playing film={film.value} replay={replay} onEnd={end} />
  return (
    <div class="welcome" role="status">
      <p class={film.value === 'loading' ? 'welcome-late' : ''}>
        {t(film.value === 'loading' ? 'replay.loading' : 'replay.failed')}
      </p>
      <p>
        {film.value === 'failed' && (
          <Button icon="refresh" onClick={load}>
            {t('retry')}
          </Button>
        )}
        <Button onClick={end}>{t('replay.end')}</Button>
      </p>
    </div>
  )
}

const isStepped = () => matchMedia('(prefers-reduced-motion: reduce)').matches

/** Keys work wherever the focus is, except in fields, other panels and dialogs. */
const useKeys = (player: Player, onEnd: () => void) => {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      const target = event.target as HTMLElement
      const isOurs = target === document.body || target.closest('.replay') !== null
      if (!isOurs) return
      const forward = document.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
      const back = document.dir === 'rtl' ? 'ArrowRight' : 'ArrowLeft'
      if (event.key === 'Escape') onEnd()
      else if (event.key === forward) player.step(1)
      else if (event.key === back) player.step(-1)
      else if (event.key === ' ' && !target.closest('button, a, summary')) player.toggle()
      else return
      event.preventDefault()
      event.stopPropagation()
    }
    document.addEventListener('keydown', press, true)
    return () => document.removeEventListener('keydown', press, true)
  }, [player])
}

/** Advances the player with each frame while it plays. */
const useFrames = (player: Player) =>
  useSignalEffect(() => {
    if (!player.playing.value) return
    let last = performance.now()
    const run = (now: number) => {
      player.tick(now - last)
      last = now
      frame = requestAnimationFrame(run)
    }
    let frame = requestAnimationFrame(run)
    return () => cancelAnimationFrame(frame)
  })

function Playing({ film, replay, onEnd }: { film: Film; replay: Replay; onEnd: () => void }) {
  const app = useApp()
  const settings = app.settings.current.value
  const player = useMemo(() => {
    const from = film.messages.findIndex(({ id }) => id === replay.from)
    const made = createPlayer(film, { from: Math.max(0, from), isStepped: isStepped() })
    // It does not play by itself there, and before the first step the page is empty.
    if (isStepped()) made.step(1)
    else made.toggle()
    return made
  }, [film])
  const screen = useMemo(() => createScreen(film, app.platform.serverClock), [film])
  const chat = useSignal(screen(player.at.peek()))
  useSignalEffect(() => {
    chat.value = screen(player.at.value)
  })
  const actions = useMemo(() => readOnly(app, film.sessionId), [film])
  useKeys(player, onEnd)
  useFrames(player)
  const play = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const before = document.activeElement
    play.current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <section class="replay" aria-label={t('replay.label')}>
      <h2 class="sr-only">{t('replay.label')}</h2>
      <Transcript
        chat={chat}
        showThinking={settings.show_thinking}
        showUsage={false}
        botName={settings.bot_name}
        actions={actions}
        clock={app.platform.serverClock}
        unfolded
      />
      <div class="replay-bar">
        <ChangedFiles film={film} player={player} />
        <div class="replay-line">
          <IconButton
            icon={player.playing.value ? 'pause' : 'play'}
            label={t(player.playing.value ? 'replay.pause' : 'replay.play')}
            buttonRef={play}
            onClick={player.toggle}
          />
          <Slider player={player} film={film} />
          <fieldset class="past-views">
            <legend class="sr-only">{t('replay.speed')}</legend>
            {SPEEDS.map(speed => (
              <button
                key={speed}
                type="button"
                aria-pressed={player.speed.value === speed}
                onClick={() => {
                  player.speed.value = speed
                }}
              >
                {t('replay.times', { speed })}
              </button>
            ))}
          </fieldset>
          <Button onClick={onEnd}>{t('replay.end')}</Button>
        </div>
      </div>
    </section>
  )
}

function Slider({ player, film }: { player: Player; film: Film }) {
  const at = useComputed(() => Math.floor(player.at.value)).value
  const text = t('replay.at', { n: at, count: player.end })
  return (
    <>
      <input
        type="range"
        class="replay-slider"
        min={0}
        max={player.end}
        step={1}
        value={at}
        aria-label={t('replay.position')}
        aria-valuetext={text}
        onInput={event => {
          player.playing.value = false
          player.seek(Number(event.currentTarget.value))
        }}
      />
      <span class="replay-at">{t('replay.short', { n: at, count: film.messages.length })}</span>
    </>
  )
}

/** The path that an edit names. */
const editedBy = (messages: readonly Message[], callId: string): string[] => {
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? [])
  const call = calls.find(({ id }) => id === callId)?.function
  if (!call || !/^(?:write_file|patch)$/.test(call.name)) return []
  return describeToolCall(call.name, parseArgs(call.arguments)).path?.split('\n') ?? []
}

const MAX_SHOWN = 4

/** What the step changed, with the files as they were. The line keeps its height. */
function ChangedFiles({ film, player }: { film: Film; player: Player }) {
  const app = useApp()
  const call = useComputed(() => callAt(film, player.at.value)).value
  const records = turnChangesOf(app).list.value
  const step = useMemo(
    () =>
      records.flatMap(({ steps }) => steps ?? []).find(({ calls }) => calls.includes(call ?? '')),
    [records, call],
  )
  const paths = call === null ? [] : (step?.files ?? editedBy(film.messages, call))
  if (call === null || paths.length === 0)
    return <p class="replay-files">{call === null ? '\u00a0' : t('replay.nothing')}</p>
  const more =
    paths.length > MAX_SHOWN ? [t('replay.more', { count: paths.length - MAX_SHOWN })] : []
  const show = () => {
    player.playing.value = false
    showPast(app, pastOfCall(film.sessionId, film.messages, records, call))
  }
  return (
    <p class="replay-files">
      <button type="button" class="past-open" title={t('step.files')} onClick={show}>
        <Icon name="file" size={14} />
        <span>
          {t('replay.changed', {
            names: [...paths.slice(0, MAX_SHOWN).map(path => visibleName(nameOf(path))), ...more],
          })}
        </span>
      </button>
    </p>
  )
}
