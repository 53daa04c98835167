/** Composition root of the page: creates the state of every feature once and connects them. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Frame } from '../lib/schema/event.ts'
import { createEventRouting, type EventRouting } from './event-routing.ts'
import { Chats } from './features/chat/chats.ts'
import { Outbox } from './features/chat/outbox.ts'
import { Pane, type PaneOptions, type PaneShared } from './pane.ts'
import type { ComposerFeature, ComposerShared } from './features/composer/composer-state.ts'
import { createSlashCommands } from './features/composer/lazy-slash-commands.ts'
import { createPersonalities } from './features/composer/personalities.ts'
import { createReasoning } from './features/composer/reasoning.ts'
import { createSkillCommands } from './features/composer/skill-commands.ts'
import { createModels } from './features/models/models.ts'
import { createOnboarding } from './features/models/onboarding.ts'
import { createProfileActions } from './features/profiles/actions.ts'
import { createProfiles } from './features/profiles/profiles.ts'
import { createSessionsState, type SessionsBase } from './features/sessions/sessions-state.ts'
import { createSettings, type Look } from './features/settings/settings.ts'
import { pathOf } from './features/shell/route.ts'
import {
  createShell,
  type Shell,
  type ShellBase,
  type ShellOptions,
} from './features/shell/shell-state.ts'
import { checkForUpdatesOnce } from './features/updates/update-check.ts'
import { createPanelFrame, targetOf } from './features/workspace/panel.ts'
import { createWorkspaces, type Workspaces } from './features/workspace/workspaces.ts'
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

/** All features in one object. Of two chats side by side, each has its own. A view reads one feature: `useShell()`, `useSessions()`, … */
export type App = Shell &
  SessionsFeature &
  ChatFeature &
  ComposerFeature &
  ModelsFeature &
  SettingsFeature &
  ProfilesFeature &
  WorkspaceFeature

/** The page: what its chats share, and the panes that show them. */
export type PageApp = ShellBase &
  SessionsBase &
  ModelsFeature &
  SettingsFeature &
  ProfilesFeature &
  ComposerShared & {
    workspaces: Workspaces
    tabs: TabLeader
    chats: Chats
    /** One, or two side by side. */
    panes: ReadonlySignal<readonly Pane[]>
    first: Pane
    /** The other side, once one was opened. */
    second: ReadonlySignal<Pane | null>
    /** The chat that shortcuts, the sidebar, the palette and the panel act on. */
    active: ReadonlySignal<App>
    addPane: (options: PaneOptions) => Pane
    /** Loads what the page shows, then connects to the event stream. A part that fails shows a toast; the others work. */
    start: () => Promise<void>
    /** Fetches the session list and the inbox again. */
    reloadLists: () => void
  }

export const createApp = (options: AppOptions): PageApp => {
  const { platform, href } = options
  const panes = signal<readonly Pane[]>([])
  const outbox = new Outbox({
    api: platform.api,
    storage: platform.drafts,
    clock: platform.clock,
    newId: randomId,
    place: () => ({
      profile: profiles.active.value,
      project: sidebar.projects.chosen.value ?? '',
    }),
    exclusively: platform.exclusively,
    onCreated: (key, row) => chats.created(key, row),
    isFollowed: id => panes.peek().some(({ shown }) => shown.peek().sessionId.peek() === id),
    async beforeSend(id) {
      // Importing gives its messages other ids.
      if (await sidebar.sessions.importHostSession(id)) await chats.find(id)?.transcript.reload()
    },
  })
  const base = createShell(options, outbox, () => events.reloadList())
  const { toasts, route } = base
  const settings = createSettings(platform, toasts, options.look)
  const profiles = createProfiles(platform)
  const sidebar = createSessionsState({
    shell: base,
    settings,
    profiles,
    reloadList: () => events.reloadList(),
    async reloadOpenChat() {
      for (const { shown } of panes.peek()) {
        const { sessionId, transcript } = shown.peek()
        const open = sidebar.sessions.row(sessionId.peek())
        if (open?.is_cli_session && !open.is_streaming) await transcript.reload()
      }
    },
  })
  const events = createEventRouting({
    shell: base,
    sidebar,
    panes,
    chats: () => chats,
    profiles: () => profileActions,
  })
  const tabs = options.tabs({
    subscriptions: events.subscriptions,
    onFrame: events.cursors.receive,
    onState(state) {
      base.connection.set(state)
      if (state.kind !== 'live') return
      toasts.dismissText(t('error.server'))
      events.catchUp()
    },
  })
  const profileActions = createProfileActions({
    platform: { base: platform.base, navigate: options.navigate, tab: platform.tab },
    toasts,
    profiles,
    saveDrafts: async () => void (await Promise.all(chats.all().map(one => one.composer.save()))),
  })
  const models = { models: createModels(platform), onboarding: createOnboarding(platform) }
  const composing: ComposerShared = {
    personalities: createPersonalities(platform),
    reasoning: createReasoning(platform),
    skillCommands: createSkillCommands(platform),
    slashCommands: createSlashCommands(toasts),
  }
  const shared: PaneShared = {
    ...{ shell: base, tabs, sidebar, outbox, models, composing, cursors: events.cursors },
    settings: {
      settings,
      simulateUpdates: new URL(href).searchParams.get('test_updates') === '1',
    },
    profiles: { ...profileActions, profiles },
    workspaces: createWorkspaces(platform),
    newId: randomId,
  }
  const chats = new Chats(shared, panes)
  const addPane = (chosen: PaneOptions): Pane => {
    const pane = new Pane(shared, chats, chosen)
    panes.value = [...panes.peek(), pane]
    return pane
  }
  const first = addPane({
    route,
    layout: base.layout,
    panel: createPanelFrame(platform, href),
    memory: 'new-chat',
  })
  first.shown.peek().panel.target.value = targetOf(href)
  const second = computed(() => panes.value[1] ?? null)
  const page: PageApp = {
    ...{ ...base, ...sidebar, ...models, ...shared.settings, ...shared.profiles, ...composing },
    ...{ workspaces: shared.workspaces, tabs, chats, panes, first, second, addPane },
    active: computed(() => ((route.besideActive.value && second.value) || first).app.value),
    start: () => start(page, events),
    reloadLists() {
      void events.load('list')
      void events.load('inbox')
    },
  }
  return page
}

/** What is not shown at first is requested after this time, even while that has not arrived. */
const ALONE_MS = 2_000

const start = async (app: PageApp, { load, cursors }: EventRouting): Promise<void> => {
  const report = (error: unknown) => app.toasts.showError(error)
  for (const source of ['gateway', 'notices'] as const) cursors.subscribe(source)
  const { profiles, configProblems, projects, models, reasoning, workspaces, layout } = app
  // A browser sends six requests at a time: what the page shows first is requested first.
  const opened = app.first.show(app.route.sessionId.value)
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
  app.first.shown.peek().markRead()
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
  void app.slashCommands.load().catch(report)
  void Promise.all([app.hostSessions.probe(), isOwner.value && checkForUpdates(app)]).catch(report)
}

const loadFirstPage = async (): Promise<void> => {
  try {
    await Promise.all([import('./features/home/lazy-home.ts'), loadLazyCss()])
  } catch {
    // It is shown in its place.
  }
}

const waitFor = (ms: number, { clock }: ShellBase['platform']): Promise<void> =>
  new Promise(resolve => void clock.timer(ms, resolve))

/** The callback of a frame runs before it is painted, that of the next one after it. */
const painted = ({ nextFrame }: ShellBase['platform']): Promise<void> =>
  new Promise(resolve => nextFrame(() => nextFrame(resolve)))

const checkForUpdates = ({ platform, settings, simulateUpdates, route, toasts }: PageApp) =>
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
