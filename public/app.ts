/** Composition root of the page: creates the state of every feature once and connects them. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Frame } from '../lib/schema/event.ts'
import { createEventRouting, type EventRouting } from './event-routing.ts'
import { createPane, type PaneOptions, type PaneShared } from './pane.ts'
import type { ComposerFeature } from './features/composer/composer-state.ts'
import { createSlashCommands } from './features/composer/lazy-slash-commands.ts'
import { createPersonalities } from './features/composer/personalities.ts'
import { createReasoning } from './features/composer/reasoning.ts'
import { createSkillCommands } from './features/composer/skill-commands.ts'
import { createModels } from './features/models/models.ts'
import { createOnboarding } from './features/models/onboarding.ts'
import { createInFlight } from './features/offline/in-flight.ts'
import { createSending, type Sending } from './features/offline/sending.ts'
import { createProfileActions } from './features/profiles/actions.ts'
import { createProfiles } from './features/profiles/profiles.ts'
import { createSessionsState } from './features/sessions/sessions-state.ts'
import { createSettings, type Look } from './features/settings/settings.ts'
import { pathOf } from './features/shell/route.ts'
import { createShell, type Shell, type ShellOptions } from './features/shell/shell-state.ts'
import { checkForUpdatesOnce } from './features/updates/update-check.ts'
import { createPanel } from './features/workspace/panel.ts'
import { createWorkspaces } from './features/workspace/workspaces.ts'
import { randomId } from './parts/random-id.ts'
import type { StreamState } from './stream/stream.ts'
import type { Subscriptions, TabLeader } from './stream/tab-leader.ts'
import { loadTranscript } from './features/transcript/load-transcript.ts'
import { markFirstContent } from './parts/first-content.ts'
import { loadLazyCss } from './parts/lazy-css.ts'
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

/** All features in one object, for code that acts across the page: slash commands, shortcuts, the palette. Of two chats side by side, each has its own. */
export type App = Shell &
  SessionsFeature &
  ChatFeature &
  ComposerFeature &
  ModelsFeature &
  SettingsFeature &
  ProfilesFeature &
  WorkspaceFeature & { features: Features }

/** The page: its first chat, and what a second one beside it is made of. */
export type PageApp = App & {
  /** The chats on the page: one, or two side by side. */
  panes: readonly App[]
  /** The chat that shortcuts, the sidebar, the palette and the panel act on. */
  active: ReadonlySignal<App>
  /** The chat on the other side, once one was opened. */
  second: Signal<App | null>
  createPane: (options: PaneOptions) => App
  /** Loads what the page shows, then connects to the event stream. A part that fails shows a toast; the others work. */
  start: () => Promise<void>
  sending: Sending
  /** Fetches the session list and the inbox again. */
  reloadLists: () => void
}

export const createApp = (options: AppOptions): PageApp => {
  const { platform, href } = options
  const base = createShell(options, () => events.reloadList())
  const { toasts, route } = base
  const settings = createSettings(platform, toasts, options.look)
  const profiles = createProfiles(platform)
  const panes: App[] = []
  const sidebar = createSessionsState({
    shell: base,
    settings,
    profiles,
    reloadList: () => events.reloadList(),
    async reloadOpenChat() {
      for (const { chat } of panes) {
        const open = sidebar.sessions.row(chat.chat.value.sessionId)
        if (open?.is_cli_session && !open.is_streaming) await chat.reload()
      }
    },
  })
  const events = createEventRouting({
    shell: base,
    sidebar,
    panes,
    profiles: () => profileActions,
  })
  const tabs = options.tabs({
    subscriptions: events.subscriptions,
    onFrame: events.cursors.receive,
    onState(state) {
      base.connection.set(state)
      if (state.kind === 'live') toasts.dismissText(t('error.server'))
    },
  })
  const profileActions = createProfileActions({
    platform: { base: platform.base, navigate: options.navigate, tab: platform.tab },
    toasts,
    profiles,
    composer: { save: async () => void (await Promise.all(panes.map(p => p.composer.save()))) },
  })
  const sending = createSending({
    account: platform.account,
    inFlight: createInFlight(platform.drafts),
    clock: platform.clock,
    newId: randomId,
    place: () => ({
      profile: profiles.active.value,
      project: sidebar.projects.chosen.value ?? '',
    }),
    exclusively: platform.exclusively,
  })
  const shared: PaneShared = {
    ...{ shell: base, tabs, sidebar, panes, sending, cursors: events.cursors },
    models: { models: createModels(platform), onboarding: createOnboarding(platform) },
    settings: {
      settings,
      simulateUpdates: new URL(href).searchParams.get('test_updates') === '1',
    },
    profiles: { ...profileActions, profiles },
    workspaces: createWorkspaces(platform),
    composing: {
      personalities: createPersonalities(platform),
      reasoning: createReasoning(platform),
      skillCommands: createSkillCommands(platform),
      slashCommands: createSlashCommands(toasts),
    },
  }
  const first = createPane(shared, {
    route,
    layout: base.layout,
    panel: createPanel(platform, href),
  })
  const second = signal<App | null>(null)
  return {
    ...first,
    panes,
    second,
    sending,
    active: computed(() => (route.besideActive.value && second.value) || first),
    createPane: chosen => createPane(shared, chosen),
    start: () => start(first, events),
    reloadLists() {
      void events.load('list')
      void events.load('inbox')
    },
  }
}

/** What is not shown at first is requested after this time, even while that has not arrived. */
const ALONE_MS = 2_000

const start = async (app: App, { load, cursors }: EventRouting): Promise<void> => {
  const report = (error: unknown) => app.toasts.showError(error)
  for (const source of ['gateway', 'notices'] as const) cursors.subscribe(source)
  const { profiles, configProblems, projects, models, reasoning, workspaces, layout } = app
  // A browser sends six requests at a time: what the page shows first is requested first.
  const opened = app.openSession(app.route.sessionId.value)
  const settings = app.settings.load().catch(report)
  // On a phone an open chat is all that is visible, and the connection may be slow. One that stalls holds nothing else up.
  if (app.route.sessionId.value && layout.narrow.value) {
    // A failure is shown in place of the chat.
    const shown = Promise.all([opened, loadTranscript().catch(() => undefined)])
    const painting = shown.then(() => painted(app.platform))
    await Promise.race([painting, waitFor(ALONE_MS, app.platform)])
  }
  const list = load('list')
  void load('inbox')
  app.showPendingToast()
  const hasList = !layout.narrow.value && layout.sidebar.value
  const inSidebar = hasList ? [projects] : []
  const shown = [models, workspaces, ...inSidebar].map(part => part.load().catch(report))
  await list
  await opened
  app.markRead()
  app.tabs.start()
  await Promise.all(shown)
  // The first page is drawn when these are there; nothing else competes with it.
  if (pathOf(app.route.current.value) === '')
    await Promise.race([loadFirstPage(), waitFor(ALONE_MS, app.platform)])
  await painted(app.platform)
  markFirstContent()
  const { personalities, skillCommands } = app
  await settings
  const { isOwner } = app.settings
  const ofOwner = isOwner.value ? [configProblems] : []
  const others = [profiles, ...ofOwner, reasoning, personalities, skillCommands]
  for (const part of hasList ? others : [...others, projects]) void part.load().catch(report)
  void app.loadCommands().catch(report)
  void Promise.all([app.hostSessions.probe(), isOwner.value && checkForUpdates(app)]).catch(report)
}

const loadFirstPage = async (): Promise<void> => {
  try {
    await Promise.all([import('./features/home/lazy-home.ts'), loadLazyCss()])
  } catch {
    // It is shown in its place.
  }
}

const waitFor = (ms: number, { clock }: App['platform']): Promise<void> =>
  new Promise(resolve => void clock.timer(ms, resolve))

/** The callback of a frame runs before it is painted, that of the next one after it. */
const painted = ({ nextFrame }: App['platform']): Promise<void> =>
  new Promise(resolve => nextFrame(() => nextFrame(resolve)))

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
