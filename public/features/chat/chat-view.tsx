/** Chat view: header, transcript or placeholder, composer. */
import { usePart } from '../../parts/use-part.ts'
import { useMemo } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { t } from '../../strings/t.ts'
import { Composer } from '../composer/composer-view.tsx'
import { useApp } from '../shell/context.ts'
import { Header } from './header.tsx'
import { HeldKeys } from '../shell/held-keys.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { loadTranscript } from '../transcript/load-transcript.ts'
import type { TranscriptActions } from '../messages/transcript-context.ts'
import {
  useChat,
  useComposer,
  useModels,
  usePane,
  useSettings,
  useShell,
  useWorkspaces,
} from '../../contexts.ts'
import { Loading } from '../../parts/loading.tsx'
import { may } from '../../parts/may.ts'

const Mark = ({ size = 40 }: { size?: number }) => (
  <svg class="logo" viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
    <g fill="none" stroke="currentColor" stroke-linecap="round" stroke-width="1.8">
      <path d="M8 4v24" stroke-opacity="0.4" />
      <path d="M16 9h12M16 16h8M16 23h10" />
    </g>
    <circle class="logo-node" cx="8" cy="9" r="4" />
  </svg>
)

const Transcript = lazy(async () => (await loadTranscript()).Transcript, true, false)

const FindBar = lazy(async () => (await import('../find/find-bar.tsx')).FindBar, HeldKeys)

/** An empty chat: the heading above the composer, and below it what one can begin with. */
const Welcome = () => {
  const { transcript: chat, choices } = useChat()
  const workspaces = useWorkspaces()
  const path =
    chat.details.value?.workspace || choices.choice.value.workspace || workspaces.last.value
  const mayStart = may('POST /api/chat/start')
  const place = path && mayStart ? t('chat.empty.text', { workspace: path }) : ''
  return (
    <div class="welcome">
      <Mark />
      <h2>{t(mayStart ? 'chat.empty.title' : 'app.sidebar')}</h2>
      <p class="welcome-place" title={place}>
        {place || '\u00a0'}
      </p>
    </div>
  )
}

const Beginnings = () => {
  const { transcript: chat, choices } = useChat()
  const workspaces = useWorkspaces()
  const models = useModels()
  const path =
    chat.details.value?.workspace || choices.choice.value.workspace || workspaces.last.value
  const model = chat.details.value?.model || choices.choice.value.model
  const isDemo = models.isDemo.value && !models.isExternalAgent(model)
  return (
    <div class="chat-below">
      {isDemo && may('POST /api/chat/start') && <DemoIntroduction />}
      {path && <HomeView path={path} suggests={!isDemo} />}
    </div>
  )
}

const HomeView = lazy(async () => (await import('../home/lazy-home.ts')).HomeView, true)

const DemoIntroduction = lazy(
  async () => (await import('../home/lazy-home.ts')).DemoIntroduction,
  true,
)

/** What was written in a chat that is gone. */
const KeptText = () => {
  const { draft: composer } = useComposer()
  const { copy } = useShell()
  const { transcript: chat } = useChat()
  const text = [...chat.editing.value.map(edit => edit.text), composer.text.value]
    .filter(one => one.trim())
    .join('\n\n')
  if (!text) return null
  return (
    <>
      <p>{t('chat.missing.kept')}</p>
      <pre class="welcome-kept" dir="auto">
        {text}
      </pre>
      <Button icon="copy" onClick={() => void copy(text)}>
        {t('chat.missing.copy')}
      </Button>
    </>
  )
}

const Failed = ({ missing }: { missing: boolean }) => {
  const pane = usePane()
  const { transcript: chat } = useChat()
  return (
    <div class="welcome" role="alert">
      <h2>{t(missing ? 'chat.missing.title' : 'chat.failed.title')}</h2>
      {missing && <p>{t('chat.missing.text')}</p>}
      {missing && <KeptText />}
      {missing ? (
        <Button asks="POST /api/session/new" icon="plus" onClick={() => pane.newChat()}>
          {t('chat.new')}
        </Button>
      ) : (
        <Button icon="refresh" onClick={() => void chat.retryLoad()}>
          {t('list.retry')}
        </Button>
      )}
    </div>
  )
}

const useActions = (): TranscriptActions => {
  const app = useApp()
  return useMemo(
    () => ({
      loadBefore: () => app.shell.attempt(() => app.chat.transcript.messages.loadBefore()),
      loadMessage: id => app.chat.transcript.messages.loadMessage(id),
      loadStored: async path => {
        const { sessionId } = app.chat.transcript.chat.peek()
        return (
          await app.shell.platform.fetchBlob('api/media', { session_id: sessionId, path })
        ).text()
      },
      edit: (id, text, added) => app.chat.turns.edit(id, text, added),
      editing: app.chat.transcript.editing,
      retry(id) {
        // Loaded with the end line of an answer that changed files.
        void import('../transcript/turn-summary.tsx').then(late => late.noteKeptFiles(app, id))
        void app.chat.turns.retry(id)
      },
      showVersion: id => void app.shell.attempt(() => app.chat.turns.showVersion(id)),
      retryNow: () => app.chat.turns.retryNow(),
      stop: () => void app.chat.turns.stop(),
      send: text => void app.chat.turns.sendText(text),
      branch: id => void app.sessionActions.branch(app.chat.transcript.chat.peek().sessionId, id),
      copy: text => void app.shell.copy(text),
      // Loaded with the card.
      answer: (...args) =>
        void app.shell.attempt(async () =>
          (await import('../approvals/answer.ts')).answerWithToast(app.shell, ...args),
        ),
      place: app.shell.route.place,
      hrefOfPlace: row => app.shell.route.hrefOfPlace(row),
      jumpTo: row => app.shell.route.jumpTo(row),
      loadUntil: id => app.chat.transcript.messages.loadUntil(id),
      placeMissing: () => app.shell.toasts.show(t('tx.place.missing')),
      openFile: (path, line) => app.panel.openFile(path, line),
      switchModel: () => {
        app.shell.layout.picker.value = 'model'
      },
      addKey: () => app.shell.route.go({ view: 'settings', section: 'models' }),
      compact: () => void import('../compaction/actions.ts').then(verbs => verbs.compactNow(app)),
    }),
    [app],
  )
}

/** Nothing was said yet. */
const useIsEmpty = (): boolean => {
  const { transcript: chat } = useChat()
  const state = chat.state.value
  const isEmpty = usePart(
    chat.chat,
    ({ messages, live, error }) => messages.length === 0 && !live && !error,
  )
  return state === 'none' || (state === 'ready' && isEmpty)
}

const Body = ({ isEmpty }: { isEmpty: boolean }) => {
  const { platform } = useShell()
  const settingsState = useSettings()
  const { transcript: chat } = useChat()
  const actions = useActions()
  const settings = settingsState.current.value
  const state = chat.state.value
  if (isEmpty) return <Welcome />
  if (state === 'loading') return <Loading />
  if (state !== 'ready') return <Failed missing={state === 'missing'} />
  return (
    <Transcript
      key={chat.sessionId.value}
      chat={chat.chat}
      showThinking={settings.show_thinking}
      showSteps={settings.show_steps}
      showUsage={settings.show_token_usage}
      botName={settings.bot_name}
      actions={actions}
      clock={platform.serverClock}
    />
  )
}

export const ChatView = () => {
  const { transcript: chat } = useChat()
  const { layout } = useShell()
  const isViewer = !may('POST /api/chat/start')
  const state = chat.state.value
  const isEmpty = useIsEmpty()
  return (
    <>
      <Header />
      <div class={`chat-body${isEmpty ? ' chat-empty' : ''}`}>
        <h2 class="sr-only">{t('chat.region')}</h2>
        {layout.findOpen.value && <FindBar />}
        <Body isEmpty={isEmpty} />
      </div>
      {isViewer && chat.sessionId.value && <p class="chat-viewer">{t('chat.viewer')}</p>}
      {state !== 'missing' && !isViewer && <Composer />}
      {isEmpty && <Beginnings />}
    </>
  )
}
