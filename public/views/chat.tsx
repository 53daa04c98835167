/** The conversation: header, transcript or what stands in its place, composer. */
import { useEffect, useMemo } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { t } from '../strings/t.ts'
import { Composer } from './composer.tsx'
import { useApp } from './context.ts'
import { Header } from './header.tsx'
import { Transcript, type TranscriptActions } from './transcript.tsx'

const Welcome = () => {
  const app = useApp()
  const path =
    app.chat.details.value?.workspace || app.choice.value.workspace || app.workspaces.last.value
  return (
    <div class="welcome">
      <h2>{t('chat.empty.title')}</h2>
      <p class="welcome-place">{path ? t('chat.empty.text', { workspace: path }) : '\u00a0'}</p>
      {app.models.isDemo.value && <DemoIntroduction />}
    </div>
  )
}

const SAMPLES = ['demo.list', 'demo.write', 'demo.run', 'demo.ask', 'demo.markdown'] as const

/** How to get a real model; while nobody has said so yet, also that the demo will do. Never in the way of either. */
const Invitation = () => {
  const { onboarding, attempt } = useApp()
  useEffect(() => void onboarding.look(), [])
  const isAsking = onboarding.needed.value === true
  return (
    <div class="welcome-actions">
      <Button
        kind={isAsking ? 'primary' : 'plain'}
        onClick={() => {
          onboarding.open.value = true
        }}
      >
        {t('welcome.connect')}
      </Button>
      {isAsking && (
        <Button onClick={() => void attempt(() => onboarding.skip())}>{t('welcome.skip')}</Button>
      )}
    </div>
  )
}

/** The demo is a script and says so; a person sees at once what it can do, and how to get a real model. */
const DemoIntroduction = () => {
  const app = useApp()
  return (
    <div class="demo">
      <p>{t('demo.text')}</p>
      <ul class="demo-samples" aria-label={t('demo.samples')}>
        {SAMPLES.map(key => (
          <li key={key}>
            <Button kind="quiet" onClick={() => void app.say(t(key))}>
              {t(key)}
            </Button>
          </li>
        ))}
      </ul>
      <Invitation />
    </div>
  )
}

const Failed = ({ missing }: { missing: boolean }) => {
  const app = useApp()
  return (
    <div class="welcome" role="alert">
      <h2>{t(missing ? 'chat.missing.title' : 'chat.failed.title')}</h2>
      {missing && <p>{t('chat.missing.text')}</p>}
      {missing ? (
        <Button icon="plus" onClick={() => app.newChat()}>
          {t('chat.new')}
        </Button>
      ) : (
        <Button icon="refresh" onClick={() => void app.chat.again()}>
          {t('list.retry')}
        </Button>
      )}
    </div>
  )
}

const Loading = () => (
  <div class="welcome welcome-late" role="status">
    <p>{t('chat.loading')}</p>
  </div>
)

const useActions = (): TranscriptActions => {
  const app = useApp()
  return useMemo(
    () => ({
      loadBefore: () => app.attempt(() => app.chat.loadBefore()),
      loadMessage: id => app.chat.loadMessage(id),
      edit: (id, text) => void app.edit(id, text),
      retry: id => void app.retry(id),
      branch: id => void app.branch(app.chat.chat.value.sessionId, id),
      copy: text => void app.copy(text),
      answerApproval: (id, choice) => void app.attempt(() => app.chat.answerApproval(id, choice)),
      answerClarify: (id, text) => void app.attempt(() => app.chat.answerClarify(id, text)),
      openFile: (path, line) => app.panel.openFile(path, line),
      switchModel: () => {
        app.layout.picker.value = 'model'
      },
      addKey: () => app.route.go({ view: 'settings', section: 'models' }),
    }),
    [app],
  )
}

const Body = () => {
  const app = useApp()
  const actions = useActions()
  const settings = app.settings.current.value
  const state = app.chat.state.value
  const { messages, live, error } = app.chat.chat.value
  const blank = state === 'ready' && messages.length === 0 && !live && !error
  if (state === 'none' || blank) return <Welcome />
  if (state === 'loading') return <Loading />
  if (state !== 'ready') return <Failed missing={state === 'missing'} />
  return (
    <Transcript
      key={app.chat.chat.value.sessionId}
      chat={app.chat.chat}
      showThinking={settings.show_thinking}
      showUsage={settings.show_token_usage}
      botName={settings.bot_name}
      actions={actions}
    />
  )
}

export const ChatView = () => {
  const app = useApp()
  const state = app.chat.state.value
  return (
    <>
      <Header />
      <div class="chat-body">
        <h2 class="sr-only">{t('chat.region')}</h2>
        <Body />
      </div>
      {state !== 'missing' && <Composer />}
    </>
  )
}
