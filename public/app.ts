/** Composition root of the page: creates the state of every feature once and connects them. */
import { computed } from '@preact/signals'
import type { Frame } from '../lib/schema/event.ts'
import { createEventRouting } from './event-routing.ts'
import { createOpenChat, type OpenChat, type TurnEnd } from './features/chat/open-chat.ts'
import { createSessionChoices } from './features/chat/session-choices.ts'
import { createTurnActions } from './features/chat/turn-actions.ts'
import { type ComposerFeature, createComposerState } from './features/composer/composer-state.ts'
import { createComposer } from './features/composer/composer.ts'
import { createPersonalities } from './features/composer/personalities.ts'
import { createModels } from './features/models/models.ts'
import { createOnboarding } from './features/models/onboarding.ts'
import { createProfileActions } from './features/profiles/actions.ts'
import { createProfiles } from './features/profiles/profiles.ts'
import { createQueue } from './features/queue/queue.ts'
import { createSessionActions } from './features/sessions/actions.ts'
import { createSessionsState } from './features/sessions/sessions-state.ts'
import { isHostSession } from './features/sessions/host-session.ts'
import { createSettings, type Look } from './features/settings/settings.ts'
import { pathOf } from './features/shell/route.ts'
import { createShell, type Shell, type ShellOptions } from './features/shell/shell-state.ts'
import { checkForUpdatesOnce } from './features/updates/update-check.ts'
import { createPanel } from './features/workspace/panel.ts'
import { createWorkspaces } from './features/workspace/workspaces.ts'
import type { Source, StreamState } from './stream/stream.ts'
import type { Subscriptions, TabLeader } from './stream/tab-leader.ts'
import { t } from './strings/t.ts'
import type {
  ChatFeature,
  ModelsFeature,
  ProfilesFeature,
  SessionsFeature,
  SettingsFeature,
  WorkspaceFeature,
} from './contexts.ts'

/** What the connection shared by all tabs needs from this tab. */
export type StreamListener = {
  subscriptions: () => Subscriptions
  onFrame: (frame: Frame) => void
  onState: (state: StreamState) => void
}

export type AppOptions = ShellOptions & {
  look: Partial<Look>
  /** Connects this tab to the event stream. */
  tabs: (listener: StreamListener) => TabLeader
}

/** The state of each feature. A view reads one feature through its hook: `useShell()`, `useSessions()`, … */
export type Features = {
  shell: Shell
  sessions: SessionsFeature
  chat: ChatFeature
  composer: ComposerFeature
  models: ModelsFeature
  settings: SettingsFeature
  profiles: ProfilesFeature
  workspace: WorkspaceFeature
}

/** All features in one object, for code that acts across the page: slash commands, shortcuts, the palette. */
export type App = Shell &
  SessionsFeature &
  ChatFeature &
  ComposerFeature &
  ModelsFeature &
  SettingsFeature &
  ProfilesFeature &
  WorkspaceFeature & {
    features: Features
    /** Loads what the page shows, then connects to the event stream. A part that fails shows a toast; the others work. */
    start: () => Promise<void>
  }

export const createApp = (options: AppOptions): App => {
  const { platform, href } = options
  const { api } = platform
  const base = createShell(options, () => sidebar.sessions.load())
  const { toasts, route, layout, attempt } = base
  const settings = createSettings(platform, toasts, options.look)
  const profiles = createProfiles(platform)
  const sidebar = createSessionsState({
    shell: base,
    settings,
    profiles,
    reloadList: () => void events.load('list'),
    async reloadOpenChat() {
      const open = sidebar.sessions.row(chat.chat.value.sessionId)
      if (open?.is_cli_session && !open.is_streaming) await chat.reload()
    },
  })
  const { sessions, projects, titleOfSession } = sidebar

  const markRead = (): void => {
    const row = sessions.row(chat.chat.value.sessionId)
    if (row && chat.state.value === 'ready') sidebar.unread.markRead(row)
  }
  const events = createEventRouting({
    shell: base,
    sidebar,
    chat: () => chat,
    profiles: () => profileActions,
    newChat: () => choices.newChat(),
    markRead,
  })
  const chat: OpenChat = createOpenChat({
    platform,
    cursors: events.cursors,
    toasts,
    onSession: sessions.keep,
    onMissing: sessions.drop,
    onSubscriptionsChange: () => tabs.updateSubscriptions(),
    onTurnEnd({ sessionId, how }: TurnEnd) {
      base.announcement.value = t('chat.finished', { title: titleOfSession(sessionId) })
      if (how === 'cancel') void chat.reload()
      markRead()
    },
  })
  const tabs = options.tabs({
    subscriptions: events.subscriptions,
    onFrame: events.cursors.receive,
    onState(state) {
      base.connection.set(state)
      if (state.kind === 'live') toasts.dismissText(t('error.server'))
    },
  })

  const composer = createComposer(platform, id => !isHostSession(sessions.row(id)))
  const queue = createQueue(platform)
  const models = createModels(platform)
  const workspaces = createWorkspaces(platform)
  const personalities = createPersonalities(platform)
  const choices = createSessionChoices({
    ...{ api, route, layout, sessions, projects, chat, composer, models, workspaces },
    personalities,
  })
  const turns = createTurnActions({ api, toasts, route, sessions, chat, queue, choices, attempt })
  const profileActions = createProfileActions({
    platform: { base: platform.base, navigate: options.navigate, tab: platform.tab },
    toasts,
    profiles,
    composer,
  })
  const composing = createComposerState({
    ...{ platform, toasts, route, settings, composer, personalities, workspaces, chat },
    choices,
    turns,
    runCommand: (run, text) => run(app, text),
  })

  const openSession = async (id: string | null): Promise<void> => {
    composer.open(id ?? '')
    composing.completion.close()
    await chat.open(id)
    const details = chat.details.value
    if (id && details?.session_id === id) composer.applyServerDraft(id, details.composer_draft)
    markRead()
  }

  const features: Features = {
    shell: {
      ...base,
      tabs,
      title: computed(() => {
        const name = route.sessionId.value ? titleOfSession(route.sessionId.value) : t('chat.new')
        const waiting = sessions.waiting.value
        const mark = waiting > 0 ? `(${waiting}) ` : sidebar.anyFinished.value ? '• ' : ''
        return `${mark}${name} · ${settings.current.value.bot_name}`
      }),
    },
    sessions: {
      ...sidebar,
      ...createSessionActions({ shell: base, sessions, chat, newChat: choices.newChat }),
    },
    chat: { ...turns, ...choices, chat, queue, openSession },
    composer: composing,
    models: { models, onboarding: createOnboarding(platform) },
    settings: {
      settings,
      simulateUpdates: new URL(href).searchParams.get('test_updates') === '1',
    },
    profiles: { ...profileActions, profiles },
    workspace: { panel: createPanel(platform, href), workspaces },
  }
  const app: App = {
    ...features.shell,
    ...features.sessions,
    ...features.chat,
    ...features.composer,
    ...features.models,
    ...features.settings,
    ...features.profiles,
    ...features.workspace,
    features,
    start: () => start(app, { load: events.load, subscribe: events.cursors.subscribe, markRead }),
  }
  return app
}

type Start = {
  load: (source: Source) => Promise<void>
  subscribe: (source: Source) => void
  markRead: () => void
}

const start = async (app: App, { load, subscribe, markRead }: Start): Promise<void> => {
  const report = (error: unknown) => app.toasts.showError(error)
  for (const source of ['gateway', 'notices'] as const) subscribe(source)
  const list = load('list')
  void load('inbox')
  const opened = app.openSession(app.route.sessionId.value)
  void app.settings
    .load()
    .then(() => Promise.all([app.hostSessions.probe(), checkForUpdates(app)]))
    .catch(report)
  app.showPendingToast()
  const { profiles, configProblems, projects, models, reasoning, workspaces } = app
  for (const part of [profiles, configProblems, projects, models, reasoning, workspaces])
    void part.load().catch(report)
  void app.personalities.load().catch(report)
  void app.skillCommands.load().catch(report)
  void app.loadCommands().catch(report)
  await list
  await opened
  markRead()
  app.tabs.start()
}

const checkForUpdates = ({ platform, settings, simulateUpdates, route, toasts }: App) =>
  checkForUpdatesOnce({
    platform,
    enabled: settings.current.value.check_for_updates,
    simulate: simulateUpdates,
    notify() {
      // The page that lists updates needs no toast.
      if (pathOf(route.current.value) === 'settings/updates') return
      const run = () => route.go({ view: 'settings', section: 'updates' })
      toasts.show(t('updates.available'), { action: { label: t('updates.show'), run } })
    },
  })
