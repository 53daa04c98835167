/** The whole page without its pictures: builds every state once, joins them, and holds the chatActions that need several. */
import { computed, signal } from '@preact/signals'
import { type ApiCall, urlOf } from './api.ts'
import type { Frame } from '../lib/schema/event.ts'
import type { Question } from '../lib/schema/question.ts'
import { createEventCursors } from './stream/event-cursors.ts'
import type { Source } from './stream/stream.ts'
import { createAttachments, MAX_ATTACHMENTS } from './features/composer/attachments.ts'
import type { SignInGate } from './features/sign-in/auth.ts'
import { createAuth } from './features/sign-in/auth.ts'
import { createCompletion } from './features/composer/completion.ts'
import { createComposer, withFiles, withoutFiles } from './features/composer/composer.ts'
import { createConnection } from './features/shell/connection.ts'
import { createFilters } from './features/sessions/filters.ts'
import { createHostSessions } from './features/sessions/host-sessions.ts'
import { createInbox } from './features/chat/inbox.ts'
import { createLayout } from './features/shell/layout.ts'
import { createModels } from './features/models/models.ts'
import { createOnboarding } from './features/models/onboarding.ts'
import { createOpenChat, type TurnEnd, textOf } from './features/chat/open-chat.ts'
import { createPanel } from './features/workspace/panel.ts'
import { createPersonalities } from './features/composer/personalities.ts'
import type { Platform } from './platform.ts'
import { createConfigProblems } from './features/shell/config-problems.ts'
import { createProfiles } from './features/profiles/profiles.ts'
import { createProjects } from './features/projects/projects.ts'
import { createQueue } from './features/queue/queue.ts'
import { createReasoning } from './features/composer/reasoning.ts'
import { createRoute, type HistoryLike, pathOf } from './features/shell/route.ts'
import { createSearch } from './features/sessions/search.ts'
import { createSessions, isHostSession, titleOf } from './features/sessions/sessions.ts'
import { createSettings } from './features/settings/settings.ts'
import { createSlashCommands } from './features/composer/lazy-slash-commands.ts'
import { createSkillCommands } from './features/composer/skill-commands.ts'
import { createToasts } from './features/shell/toast.ts'
import { checkForUpdatesOnce } from './features/updates/update-check.ts'
import { createUnread } from './features/sessions/unread.ts'
import { createWorkspaces } from './features/workspace/workspaces.ts'
import { createChatActions } from './features/chat/actions.ts'
import { createProfileActions } from './features/profiles/actions.ts'
import { createProjectActions } from './features/projects/actions.ts'
import { t } from './strings/t.ts'
import type { TabLeader } from './stream/tab-leader.ts'

export type AppOptions = {
  platform: Platform
  gate: SignInGate
  history: HistoryLike
  href: string
  theme: string
  mac: boolean
  /** Built late: the tabs need to know where this one stands. */
  tabs: (app: StreamListener) => TabLeader
  /** Leaves the page: sign-in, downloads. */
  navigate: (url: string, options?: { download?: boolean }) => void
  copy: (text: string) => Promise<void>
}

/** What the shared connection asks of, and tells, this tab. */
export type StreamListener = {
  subscriptions: () => { wanted: ReadonlyMap<string, string>; list: string }
  onFrame: (frame: Frame) => void
  onState: (state: Parameters<ReturnType<typeof createConnection>['set']>[0]) => void
}

export type App = ReturnType<typeof createApp>
export type Download = 'md' | 'json' | 'html'

export const createApp = (options: AppOptions) => {
  const { platform, gate, navigate, copy } = options
  const { api, base, nowMs } = platform
  const toasts = createToasts(platform)
  const route = createRoute(base, options.href, options.history)
  const settings = createSettings(platform, toasts, options.theme)
  const profiles = createProfiles(platform)
  const configProblems = createConfigProblems(api as ApiCall)
  const sessions = createSessions(
    platform,
    toasts,
    profiles.active,
    row => projects.matches(row) && filters.matches(row),
    () => filters.everyProfile.value,
    () => filters.withScheduled(),
  )
  const filters = createFilters(
    platform,
    sessions.rows,
    profiles.active,
    () => void snapshot('list'),
  )
  const projects = createProjects(platform, sessions.profileRows)
  const unread = createUnread(platform)
  const models = createModels(platform)
  const onboarding = createOnboarding(platform)
  const workspaces = createWorkspaces(platform)
  const personalities = createPersonalities(platform)
  const reasoning = createReasoning(platform)
  const skillCommands = createSkillCommands(platform)
  const layout = createLayout(platform, options.mac)
  const panel = createPanel(platform, options.href)
  const queue = createQueue(platform)
  const composer = createComposer(platform, id => !isHostSession(sessions.row(id)))
  const search = createSearch(
    platform,
    () => sessions.profileRows.value,
    () => (filters.everyProfile.value ? '' : profiles.active.value),
  )
  const connection = createConnection(platform, () => sessions.load())
  const hostSessions = createHostSessions({
    platform,
    settings,
    connection,
    toasts,
    profile: profiles.active,
    async reload() {
      await sessions.load()
      // What is open may have gone on at the terminal as well.
      const open = sessions.row(chat.chat.value.sessionId)
      if (open?.is_cli_session && !open.is_streaming) await chat.reload()
    },
  })
  const auth = createAuth(gate, api, path => navigate(urlOf(base, path)))
  /** Read out politely by a screen reader. */
  const announcement = signal('')

  const titleOfSession = (id: string): string => titleOf(sessions.row(id) ?? { title: '' })

  const onQuestion = (question: Question): void => {
    const title = titleOfSession(question.session_id)
    announcement.value = t('chat.waiting', { title })
    if (question.session_id === route.sessionId.value) return
    toasts.show(t('chat.waiting', { title }), {
      action: {
        label: t('row.open'),
        run: () => route.openSession(question.session_id),
      },
    })
  }
  const inbox = createInbox(platform, onQuestion)

  const simulateUpdates = new URL(options.href).searchParams.get('test_updates') === '1'
  const checkForUpdates = () =>
    checkForUpdatesOnce({
      platform,
      enabled: settings.current.value.check_for_updates,
      simulate: simulateUpdates,
      notify() {
        const { current } = route
        // Whoever looks at them needs not be told of them.
        if (pathOf(current.value) === 'settings/updates') return
        const run = () => route.go({ view: 'settings', section: 'updates' })
        toasts.show(t('updates.available'), { action: { label: t('updates.show'), run } })
      },
    })

  const cursors = createEventCursors({
    deliver(frame) {
      if (frame.source.startsWith('session:')) chat.receive(frame)
      else if (frame.source === 'list') receiveRow(frame)
      else if (frame.source === 'inbox') inbox.receive(frame)
      else receiveNotice(frame)
    },
    refetch(source, hold) {
      if (source.startsWith('session:')) void chat.reload(hold)
      else void snapshot(source, hold)
    },
  })

  /** Fetches a source of the whole page; its frames wait until then. Without an answer they go on from now. */
  const snapshot = async (source: Source, hold = cursors.beginSnapshot(source)): Promise<void> => {
    let cursor: string | undefined
    try {
      if (source === 'list') cursor = await sessions.load()
      else if (source === 'inbox') cursor = await inbox.load()
      else if (source === 'gateway') await hostSessions.probe()
      // What the others say does not outlive its moment: there is nothing to fetch.
    } catch (error) {
      toasts.showError(error)
    }
    cursors.completeSnapshot(hold, cursor)
  }

  const chat = createOpenChat({
    platform,
    cursors,
    toasts,
    onSession: sessions.keep,
    onMissing: sessions.drop,
    onSubscriptionsChange: () => tabs.updateSubscriptions(),
    onTurnEnd: end => onTurnEnd(end),
  })

  const onTurnEnd = ({ sessionId, how }: TurnEnd): void => {
    announcement.value = t('chat.finished', { title: titleOfSession(sessionId) })
    if (how === 'cancel') void chat.reload()
    markRead()
  }

  /** What is on the screen has been seen. */
  const markRead = (): void => {
    const row = sessions.row(chat.chat.value.sessionId)
    if (row && chat.state.value === 'ready') unread.markRead(row)
  }

  const receiveRow = (frame: Frame): void => {
    sessions.receive(frame)
    if (frame.type === 'gone' && frame.data.session_id === route.sessionId.value)
      chatActions.newChat()
    if (frame.type !== 'row') return
    const { row } = frame.data
    if (row.session_id === chat.chat.value.sessionId) markRead()
  }

  const receiveNotice = (frame: Frame): void => {
    if (frame.type === 'notice') {
      // The notice may be about the profile of this page.
      void profileActions.reloadIfProfileChanged()
      void configProblems.load().catch(() => undefined)
      const { message, level, session_id: id } = frame.data
      const run = () => route.openSession(id ?? null)
      toasts.show(message, {
        kind: level === 'info' ? 'info' : 'error',
        action: id ? { label: t('row.open'), run } : null,
      })
    }
    hostSessions.receive(frame)
  }

  const tabs = options.tabs({
    subscriptions: () => ({
      list: cursors.cursor('list'),
      wanted: new Map(
        cursors.sessions().flatMap(id => {
          const at = cursors.cursor(`session:${id}`)
          return at ? [[id, at] as const] : []
        }),
      ),
    }),
    onFrame: cursors.receive,
    onState: connection.set,
  })

  const chatActions = createChatActions({
    platform: { api, base, navigate, copy },
    toasts,
    route,
    sessions,
    chat,
    composer,
    queue,
    models,
    workspaces,
    personalities,
    layout,
    projects,
  })
  const profileActions = createProfileActions({
    platform: { base, navigate, tab: platform.tab },
    toasts,
    profiles,
    composer,
  })
  const projectActions = createProjectActions({ toasts, sessions, projects, layout })

  const attachments = createAttachments({
    platform,
    composer,
    ensureSession: chatActions.ensureSession,
  })

  /** Called when the address names another conversation. */
  const openSession = async (id: string | null): Promise<void> => {
    composer.open(id ?? '')
    completion.close()
    await chat.open(id)
    const details = chat.details.value
    if (id && details?.session_id === id) composer.applyServerDraft(id, details.composer_draft)
    markRead()
  }

  const slashCommands = createSlashCommands(toasts)
  const completion = createCompletion({
    platform,
    commands: () => [
      ...slashCommands.suggestions(),
      ...skillCommands.list.value,
      ...skillCommands.more.value,
    ],
    entries: async directory => workspaces.entries(await chatActions.ensureSession(), directory),
  })

  const state = {
    api: api as ApiCall,
    platform,
    navigate,
    base,
    nowMs,
    toasts,
    route,
    settings,
    profiles,
    configProblems,
    projects,
    filters,
    sessions,
    unread,
    models,
    onboarding,
    workspaces,
    personalities,
    reasoning,
    skillCommands,
    layout,
    queue,
    composer,
    attachments,
    panel,
    completion,
    search,
    connection,
    auth,
    inbox,
    hostSessions,
    simulateUpdates,
    chat,
    tabs,
    announcement,
    openSession,
    title: computed(() => {
      const name = route.sessionId.value ? titleOfSession(route.sessionId.value) : t('chat.new')
      const waiting = sessions.waiting.value
      return `${waiting > 0 ? `(${waiting}) ` : ''}${name} · ${settings.current.value.bot_name}`
    }),

    /** Sends what is written: a command runs, a message starts a turn, waits for the running one or steers it. */
    async submit(steer = false): Promise<void> {
      if (composer.empty.value) return
      completion.close()
      // What is on its way belongs to this message; what failed is for the person to decide.
      if (!(await attachments.uploadsDone())) {
        toasts.show(t('attach.blocked'), { kind: 'error' })
        return
      }
      if (composer.empty.value) return
      if (composer.files.value.length > MAX_ATTACHMENTS) {
        toasts.show(t('attach.limit', { max: `${MAX_ATTACHMENTS}` }), { kind: 'error' })
        return
      }
      const draft = composer.takeDraft()
      try {
        if (draft.files.length === 0 && (await slashCommands.run(app, draft.text))) return
      } catch (error) {
        // The commands could not be loaded: nothing was done with the words.
        toasts.showError(error)
        composer.restoreDraft(draft)
        return
      }
      const text = withFiles(draft.text.trim(), draft.files)
      const id = route.sessionId.value
      const taken =
        id && chat.busy.value
          ? chatActions.put(id, text, draft.files, steer)
          : chatActions.startTurn(text, draft.files)
      if (!(await taken)) composer.restoreDraft(draft)
    },
    prompts: (): string[] =>
      chat.chat.value.messages
        .filter(({ role }) => role === 'user')
        .map(message => withoutFiles(textOf(message))),
    async showThinking(shown: boolean): Promise<void> {
      await settings.save('show_thinking', shown)
      await reasoning.setShown(shown)
    },

    /** Fetches everything the page shows, then listens. Parts that fail say so and leave the others working. */
    async start(): Promise<void> {
      const report = (error: unknown) => toasts.showError(error)
      for (const source of ['gateway', 'notices'] as const) cursors.subscribe(source)
      const list = snapshot('list')
      void snapshot('inbox')
      const opened = openSession(route.sessionId.value)
      void settings
        .load()
        .then(() => Promise.all([hostSessions.probe(), checkForUpdates()]))
        .catch(report)
      profileActions.showPendingToast()
      for (const part of [profiles, configProblems, projects, models, reasoning, workspaces])
        void part.load().catch(report)
      void personalities.load().catch(report)
      void skillCommands.load().catch(report)
      void slashCommands.load().catch(report)
      await list
      await opened
      markRead()
      tabs.start()
    },
  }
  const app = { ...state, ...chatActions, ...profileActions, ...projectActions }
  return app
}
