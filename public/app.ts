/** Composition root of the page: creates the state of every feature once and connects them. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Frame } from '../lib/schema/event.ts'
import { EventRouting } from './event-routing.ts'
import type { Chat } from './features/chat/chat.ts'
import { Chats } from './features/chat/chats.ts'
import { Inbox } from './features/inbox/open-questions.ts'
import { Outbox } from './features/messages/outbox.ts'
import type { ComposerShared, ComposerState } from './features/composer/composer-state.ts'
import { SlashCommands } from './features/composer/lazy-slash-commands.ts'
import { Personalities } from './features/composer/personalities.ts'
import { ReasoningState } from './features/composer/reasoning.ts'
import { SkillCommands } from './features/skills/skill-commands.ts'
import { Models } from './features/models/models.ts'
import { Profiles } from './features/profiles/profiles.ts'
import { Projects } from './features/projects/projects.ts'
import { Filters } from './features/sessions/filters.ts'
import type { SessionActions } from './features/sessions/session-actions.ts'
import { Sessions } from './features/sessions/sessions.ts'
import { Sidebar } from './features/sessions/sidebar.ts'
import { SettingsState, type Look } from './features/settings/settings.ts'
import { pathOf } from './features/shell/route.ts'
import { Shell, type ShellOptions } from './features/shell/shell-state.ts'
import { loadTranscript } from './features/transcript/load-transcript.ts'
import { checkForUpdatesOnce } from './features/updates/update-check.ts'
import { type Panel, PanelFrame } from './features/panel/panel.ts'
import { targetOf } from './parts/target.ts'
import { Workspaces } from './features/workspace/workspaces.ts'
import { Pane, type PaneOfChat, type PaneOptions } from './pane.ts'
import { markFirstContent } from './parts/first-content.ts'
import { loadLazyCss } from './parts/lazy-css.ts'
import { randomId } from './parts/random-id.ts'
import type { Platform } from './platform.ts'
import type { EventCursors } from './stream/event-cursors.ts'
import type { StreamState } from './stream/stream.ts'
import type { Subscriptions, Tabs } from './stream/tab-leader.ts'
import { t } from './strings/t.ts'

/** What the connection shared by all tabs needs from this tab. */
export type StreamListener = {
  subscriptions: () => Subscriptions
  onFrame: (frame: Frame) => void
  onState: (state: StreamState) => void
}

export type AppOptions = ShellOptions & {
  look: Partial<Look>
  /** Connects this tab to the event stream. */
  tabs: (listener: StreamListener) => Tabs
}

/** What the views of one chat read: the features of the page, and those of the chat. */
export type App = {
  readonly shell: Shell
  readonly sessions: Sessions
  readonly sidebar: Sidebar
  readonly sessionActions: SessionActions
  readonly projects: Projects
  readonly inbox: Inbox
  readonly outbox: Outbox
  readonly chat: Chat
  readonly pane: PaneOfChat
  readonly composer: ComposerState
  readonly models: Models
  readonly settings: SettingsState
  readonly profiles: Profiles
  readonly workspaces: Workspaces
  readonly panel: Panel
  readonly tabs: Tabs
}

/** The page: what its chats share, and the panes that show them. */
export class Page {
  readonly shell: Shell
  readonly sessions: Sessions
  readonly sidebar: Sidebar
  readonly projects: Projects
  readonly inbox: Inbox
  /** Messages that were written and may not have arrived. */
  readonly outbox: Outbox
  readonly models: Models
  readonly settings: SettingsState
  readonly profiles: Profiles
  readonly composing: ComposerShared
  readonly workspaces: Workspaces
  readonly tabs: Tabs
  readonly cursors: EventCursors
  readonly chats: Chats
  readonly first: Pane
  /** The other side, once one was opened. */
  readonly second: ReadonlySignal<Pane | null>
  /** The chat that shortcuts, the sidebar, the palette and the panel act on. */
  readonly active: ReadonlySignal<App>
  readonly newId = randomId
  readonly #panes: Signal<readonly Pane[]> = signal([])
  readonly #events: EventRouting

  constructor(options: AppOptions) {
    const { platform, href, navigate } = options
    const simulateUpdates = new URL(href).searchParams.get('test_updates') === '1'
    const shell = new Shell(options, () => this.#events.reloadList())
    const { toasts, route } = shell
    const settings = new SettingsState(platform, toasts, options.look, simulateUpdates)
    const profiles = new Profiles({
      ...{ platform, toasts, navigate },
      saveDrafts: async () =>
        void (await Promise.all(this.chats.all().map(({ draft }) => draft.save()))),
    })
    const profile = profiles.active
    const sessions = new Sessions({
      ...{ platform, toasts, profile },
      matches: row => this.projects.matches(row) && filters.matches(row),
      everyProfile: () => filters.everyProfile.value,
      withScheduled: () => filters.withScheduled(),
    })
    const reload = () => this.#events.reloadList()
    const filters = new Filters(platform, sessions.rows, profile, () => {
      void shell.attempt(reload)
    })
    const sidebar = new Sidebar({
      ...{ shell, sessions, filters, settings, profiles, reload },
      reloadOpenChat: () => this.#reloadOpenChat(),
    })
    const inbox = new Inbox(platform, ({ session_id: id }) => this.#showQuestion(id))
    this.shell = shell
    this.settings = settings
    this.profiles = profiles
    this.sessions = sessions
    this.sidebar = sidebar
    this.inbox = inbox
    this.projects = new Projects(shell, sessions)
    this.outbox = this.#createOutbox(platform)
    this.models = new Models(platform)
    this.workspaces = new Workspaces(platform)
    this.composing = {
      personalities: new Personalities(platform),
      reasoning: new ReasoningState(platform),
      skillCommands: new SkillCommands(platform),
      slashCommands: new SlashCommands(),
    }
    this.#events = new EventRouting({
      ...{ shell, sessions, sidebar, inbox, profiles },
      panes: this.#panes,
      chats: () => this.chats,
    })
    this.cursors = this.#events.cursors
    this.tabs = options.tabs({
      subscriptions: this.#events.subscriptions,
      onFrame: this.cursors.receive,
      onState: state => this.#onStream(state),
    })
    this.chats = new Chats(this, this.#panes)
    const panel = new PanelFrame(platform, href)
    this.first = this.addPane({ route, layout: shell.layout, panel, memory: 'new-chat' })
    this.first.openChat.peek().panel.target.value = targetOf(href)
    this.second = computed(() => this.#panes.value[1] ?? null)
    this.active = computed(
      () => ((route.besideActive.value && this.second.value) || this.first).app.value,
    )
  }

  /** One, or two side by side. */
  get panes(): ReadonlySignal<readonly Pane[]> {
    return this.#panes
  }

  addPane(options: PaneOptions): Pane {
    const pane = new Pane(this, options)
    this.#panes.value = [...this.#panes.peek(), pane]
    return pane
  }

  /** Loads what the page shows, then connects to the event stream. A part that fails shows a toast; the others work. */
  start(): Promise<void> {
    return start(this, this.#events)
  }

  /** Leaving the page would discard changes of a file or a form. Drafts of messages are not among them. */
  hasUnsavedChanges(): boolean {
    const hasDirtyFile = this.chats
      .all()
      .some(({ panel }) => panel.contents.value?.openFile.dirty.value === true)
    return hasDirtyFile || this.shell.layout.unsaved.size > 0
  }

  /** Fetches the session list and the inbox again. */
  reloadLists(): void {
    void this.#events.load('list')
    void this.#events.load('inbox')
  }

  #createOutbox(platform: Platform): Outbox {
    return new Outbox({
      api: platform.api,
      storage: platform.drafts,
      clock: platform.clock,
      newId: randomId,
      place: () => ({
        profile: this.profiles.active.value,
        project: this.projects.projectId.value ?? '',
      }),
      exclusively: platform.exclusively,
      onCreated: (key, row) => this.chats.created(key, row),
      isFollowed: id =>
        this.#panes.peek().some(({ openChat }) => openChat.peek().sessionId.peek() === id),
      beforeSend: async id => {
        // Importing gives its messages other ids.
        if (await this.sessions.importHostSession(id))
          await this.chats.find(id)?.transcript.reload()
      },
    })
  }

  #onStream(state: StreamState): void {
    this.shell.connection.set(state)
    if (state.kind !== 'live') return
    this.shell.toasts.dismissText(t('error.server'))
    this.#events.catchUp()
  }

  /** The shown chats of the command line may have changed without an event. */
  async #reloadOpenChat(): Promise<void> {
    for (const { openChat } of this.#panes.peek()) {
      const { sessionId, transcript } = openChat.peek()
      const open = this.sessions.row(sessionId.peek())
      if (open?.is_cli_session && !open.is_streaming) await transcript.reload()
    }
  }

  /** Of a session that is not open. Returns what ends with the question. */
  #showQuestion(id: string): () => void {
    const { announce, toasts, route } = this.shell
    const message = t('chat.waiting', { title: this.sessions.titleOf(id) })
    announce(message)
    if (route.isOpen(id)) return () => undefined
    const run = () => route.openSession(id)
    const toast = toasts.show(message, { action: { label: t('row.open'), run } })
    return () => toasts.dismiss(toast)
  }
}

/** What is not shown at first is requested after this time, even while that has not arrived. */
const ALONE_MS = 2_000

const start = async (app: Page, { load, cursors }: EventRouting): Promise<void> => {
  const { shell, profiles, projects, models, composing, workspaces } = app
  const { configProblems, layout, platform, route } = shell
  const report = (error: unknown) => shell.toasts.showError(error)
  for (const source of ['gateway', 'notices'] as const) cursors.subscribe(source)
  // A browser sends six requests at a time: what the page shows first is requested first.
  const firstChat = app.first.show(route.sessionId.value)
  const settings = app.settings.load().catch(report)
  // On a phone an open chat is all that is visible, and the connection may be slow. One that stalls holds nothing else up.
  if (route.sessionId.value && layout.narrow.value) {
    // A failure is shown in place of the chat.
    const firstView = Promise.all([firstChat, loadTranscript().catch(() => undefined)])
    const painting = firstView.then(() => painted(platform))
    await Promise.race([painting, waitFor(ALONE_MS, platform)])
  }
  const list = load('list')
  void load('inbox')
  profiles.showPendingToast()
  const hasList = !layout.narrow.value && layout.sidebar.value
  const inSidebar = hasList ? [projects] : []
  const loads = [models, workspaces, ...inSidebar].map(part => part.load().catch(report))
  await list
  await firstChat
  app.first.openChat.peek().markRead()
  app.tabs.start()
  await Promise.all(loads)
  // The first page is drawn when these are there; nothing else competes with it.
  if (pathOf(route.current.value) === '')
    await Promise.race([loadFirstPage(), waitFor(ALONE_MS, platform)])
  await painted(platform)
  markFirstContent()
  const { personalities, reasoning, skillCommands, slashCommands } = composing
  await settings
  const { isOwner } = app.settings
  const ofOwner = isOwner.value ? [configProblems] : []
  const others = [profiles, ...ofOwner, reasoning, personalities, skillCommands]
  for (const part of hasList ? others : [...others, projects]) void part.load().catch(report)
  void slashCommands.load().catch(report)
  void Promise.all([app.sidebar.hostSessions.probe(), isOwner.value && checkForUpdates(app)]).catch(
    report,
  )
}

const loadFirstPage = async (): Promise<void> => {
  try {
    await Promise.all([import('./features/home/lazy-home.ts'), loadLazyCss()])
  } catch {
    // It is shown in its place.
  }
}

const waitFor = (ms: number, { clock }: Platform): Promise<void> =>
  new Promise(resolve => void clock.timer(ms, resolve))

/** The callback of a frame runs before it is painted, that of the next one after it. */
const painted = ({ nextFrame }: Platform): Promise<void> =>
  new Promise(resolve => nextFrame(() => nextFrame(resolve)))

const checkForUpdates = ({ shell: { platform, route, toasts }, settings }: Page) =>
  checkForUpdatesOnce({
    platform,
    enabled: settings.current.value.check_for_updates,
    simulate: settings.simulateUpdates,
    notify() {
      // The page that lists updates needs no toast.
      if (pathOf(route.current.value) === 'settings/system') return
      const run = () => route.go({ view: 'settings', section: 'system' })
      toasts.show(t('updates.available'), { action: { label: t('updates.show'), run } })
    },
  })
