/** The whole page without its pictures: builds every state once, joins them, and holds the verbs that need several. */
import { computed, signal } from '@preact/signals'
import { type ApiCall, urlOf } from './api.ts'
import type { Frame } from '../lib/schema/event.ts'
import type { Question } from '../lib/schema/question.ts'
import { createSources } from './stream/event-cursors.ts'
import type { Source } from './stream/stream.ts'
import { createAttachments, MAX_FILES } from './features/composer/attachments.ts'
import type { Gate } from './features/sign-in/auth.ts'
import { createAuth } from './features/sign-in/auth.ts'
import { createCompletion } from './features/composer/completion.ts'
import { createComposer, withFiles, withoutFiles } from './features/composer/composer.ts'
import { createConnection } from './features/shell/connection.ts'
import { createFilters } from './features/sessions/filters.ts'
import { createGateway } from './features/sessions/host-sessions.ts'
import { createInbox } from './features/chat/inbox.ts'
import { createLayout } from './features/shell/layout.ts'
import { createModels } from './features/models/models.ts'
import { createOnboarding } from './features/models/onboarding.ts'
import { createOpenChat, type Ended, textOf } from './features/chat/open-chat.ts'
import { createPanel } from './features/workspace/panel.ts'
import { createPersonalities } from './features/composer/personalities.ts'
import type { Platform } from './platform.ts'
import { createTrouble } from './features/shell/config-problems.ts'
import { createProfiles } from './features/profiles/profiles.ts'
import { createProjects } from './features/projects/projects.ts'
import { createQueue } from './features/queue/queue.ts'
import { createReasoning } from './features/composer/reasoning.ts'
import { createRoute, type HistoryLike, pathOf } from './features/shell/route.ts'
import { createSearch } from './features/sessions/search.ts'
import { createSessions, isForeign, titleOf } from './features/sessions/sessions.ts'
import { createSettings } from './features/settings/settings.ts'
import { createSlash } from './features/composer/lazy-slash-commands.ts'
import { createSkillCommands } from './features/composer/skill-commands.ts'
import { createToasts } from './features/shell/toast.ts'
import { checkForUpdatesOnce } from './features/updates/update-check.ts'
import { createViewed } from './features/sessions/unread.ts'
import { createWorkspaces } from './features/workspace/workspaces.ts'
import { createChatVerbs } from './features/chat/actions.ts'
import { createProfileActions } from './features/profiles/actions.ts'
import { createProjectVerbs } from './features/projects/actions.ts'
import { t } from './strings/t.ts'
import type { Tabs } from './stream/tab-leader.ts'

export type AppOptions = {
  platform: Platform
  gate: Gate
  history: HistoryLike
  href: string
  theme: string
  mac: boolean
  /** Built late: the tabs need to know where this one stands. */
  tabs: (app: Listening) => Tabs
  /** Leaves the page: sign-in, downloads. */
  leave: (url: string, options?: { download?: boolean }) => void
  copy: (text: string) => Promise<void>
}

/** What the shared connection asks of, and tells, this tab. */
export type Listening = {
  standing: () => { wanted: ReadonlyMap<string, string>; list: string }
  onFrame: (frame: Frame) => void
  onState: (state: Parameters<ReturnType<typeof createConnection>['set']>[0]) => void
}

export type App = ReturnType<typeof createApp>
export type Download = 'md' | 'json' | 'html'

export const createApp = (options: AppOptions) => {
  const { platform, gate, leave, copy } = options
  const { api, base, nowMs } = platform
  const toasts = createToasts(platform)
  const route = createRoute(base, options.href, options.history)
  const settings = createSettings(platform, toasts, options.theme)
  const profiles = createProfiles(platform)
  const trouble = createTrouble(api as ApiCall)
  const sessions = createSessions(
    platform,
    toasts,
    profiles.active,
    row => projects.keeps(row) && filters.keeps(row),
    () => filters.everyProfile.value,
    () => filters.withScheduled(),
  )
  const filters = createFilters(
    platform,
    sessions.rows,
    profiles.active,
    () => void snapshot('list'),
  )
  const projects = createProjects(platform, sessions.mine)
  const viewed = createViewed(platform)
  const models = createModels(platform)
  const onboarding = createOnboarding(platform)
  const workspaces = createWorkspaces(platform)
  const personalities = createPersonalities(platform)
  const reasoning = createReasoning(platform)
  const skillCommands = createSkillCommands(platform)
  const layout = createLayout(platform, options.mac)
  const panel = createPanel(platform, options.href)
  const queue = createQueue(platform)
  const composer = createComposer(platform, id => !isForeign(sessions.row(id)))
  const search = createSearch(
    platform,
    () => sessions.mine.value,
    () => (filters.everyProfile.value ? '' : profiles.active.value),
  )
  const connection = createConnection(platform, () => sessions.load())
  const gateway = createGateway({
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
  const auth = createAuth(gate, api, path => leave(urlOf(base, path)))
  /** Read out politely by a screen reader. */
  const announcement = signal('')

  const nameOf = (id: string): string => titleOf(sessions.row(id) ?? { title: '' })

  const onAsked = (question: Question): void => {
    const title = nameOf(question.session_id)
    announcement.value = t('chat.waiting', { title })
    if (question.session_id === route.sessionId.value) return
    toasts.show(t('chat.waiting', { title }), {
      action: {
        label: t('row.open'),
        run: () => route.openSession(question.session_id),
      },
    })
  }
  const inbox = createInbox(platform, onAsked)

  const simulateUpdates = new URL(options.href).searchParams.get('test_updates') === '1'
  const lookForUpdates = () =>
    checkForUpdatesOnce({
      platform,
      enabled: settings.current.value.check_for_updates,
      simulate: simulateUpdates,
      notify() {
        const { current } = route
        // Whoever looks at them needs not be told of them.
        if (pathOf(current.value) === 'settings/updates') return
        toasts.show(t('updates.there'), {
          action: {
            label: t('updates.show'),
            run: () => route.go({ view: 'settings', section: 'updates' }),
          },
        })
      },
    })

  const sources = createSources({
    deliver(frame) {
      if (frame.source.startsWith('session:')) chat.take(frame)
      else if (frame.source === 'list') takeRow(frame)
      else if (frame.source === 'inbox') inbox.take(frame)
      else takeNotice(frame)
    },
    refetch(source, hold) {
      if (source.startsWith('session:')) void chat.reload(hold)
      else void snapshot(source, hold)
    },
  })

  /** Fetches a source of the whole page; its frames wait until then. Without an answer they go on from now. */
  const snapshot = async (source: Source, hold = sources.hold(source)): Promise<void> => {
    let cursor: string | undefined
    try {
      if (source === 'list') cursor = await sessions.load()
      else if (source === 'inbox') cursor = await inbox.load()
      else if (source === 'gateway') await gateway.probe()
      // What the others say does not outlive its moment: there is nothing to fetch.
    } catch (error) {
      toasts.fail(error)
    }
    sources.resume(hold, cursor)
  }

  const chat = createOpenChat({
    platform,
    sources,
    toasts,
    onSession: sessions.keep,
    onMissing: sessions.drop,
    onWatch: () => tabs.changed(),
    onEnded: end => ended(end),
  })

  const ended = ({ sessionId, how }: Ended): void => {
    announcement.value = t('chat.finished', { title: nameOf(sessionId) })
    if (how === 'cancel') void chat.reload()
    see()
  }

  /** What is on the screen has been seen. */
  const see = (): void => {
    const row = sessions.row(chat.chat.value.sessionId)
    if (row && chat.state.value === 'ready') viewed.see(row)
  }

  const takeRow = (frame: Frame): void => {
    sessions.take(frame)
    if (frame.type === 'gone' && frame.data.session_id === route.sessionId.value) verbs.newChat()
    if (frame.type !== 'row') return
    const { row } = frame.data
    if (row.session_id === chat.chat.value.sessionId) see()
  }

  const takeNotice = (frame: Frame): void => {
    // It may be about the profile this page is in.
    if (frame.type === 'notice') void profileVerbs.reloadIfProfileChanged()
    if (frame.type === 'notice') void trouble.load().catch(() => undefined)
    if (frame.type === 'notice') {
      const { message, level, session_id: id } = frame.data
      const run = () => route.openSession(id ?? null)
      toasts.show(message, {
        kind: level === 'info' ? 'info' : 'error',
        ...(id ? { action: { label: t('row.open'), run } } : {}),
      })
    }
    gateway.take(frame)
  }

  const tabs = options.tabs({
    standing: () => ({
      list: sources.cursor('list'),
      wanted: new Map(
        sources.sessions().flatMap(id => {
          const at = sources.cursor(`session:${id}`)
          return at ? [[id, at] as const] : []
        }),
      ),
    }),
    onFrame: sources.take,
    onState: connection.set,
  })

  const verbs = createChatVerbs({
    platform: { api, base, leave, copy },
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
  const profileVerbs = createProfileActions({
    platform: { base, leave, tab: platform.tab },
    toasts,
    profiles,
    composer,
  })
  const projectVerbs = createProjectVerbs({ toasts, sessions, projects, layout })

  const attachments = createAttachments({ platform, composer, ensureSession: verbs.ensureSession })

  /** Called when the address names another conversation. */
  const openSession = async (id: string | null): Promise<void> => {
    composer.open(id ?? '')
    completion.close()
    await chat.open(id)
    const details = chat.details.value
    if (id && details?.session_id === id) composer.offer(id, details.composer_draft)
    see()
  }

  const slash = createSlash(toasts)
  const completion = createCompletion({
    platform,
    commands: () => [...slash.offers(), ...skillCommands.list.value, ...skillCommands.more.value],
    entries: async directory => workspaces.entries(await verbs.ensureSession(), directory),
  })

  const state = {
    api: api as ApiCall,
    platform,
    leave,
    base,
    nowMs,
    toasts,
    route,
    settings,
    profiles,
    trouble,
    projects,
    filters,
    sessions,
    viewed,
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
    gateway,
    simulateUpdates,
    chat,
    tabs,
    announcement,
    openSession,
    title: computed(() => {
      const id = route.sessionId.value
      const name = id ? nameOf(id) : t('chat.new')
      const waiting = sessions.waiting.value
      return `${waiting > 0 ? `(${waiting}) ` : ''}${name} · ${settings.current.value.bot_name}`
    }),

    /** Sends what is written: a command runs, a message starts a turn, waits for the running one or steers it. */
    async submit(steer = false): Promise<void> {
      if (composer.empty.value) return
      completion.close()
      // What is on its way belongs to this message; what failed is for the person to decide.
      if (!(await attachments.settled())) {
        toasts.show(t('attach.blocked'), { kind: 'error' })
        return
      }
      if (composer.empty.value) return
      if (composer.files.value.length > MAX_FILES) {
        toasts.show(t('attach.limit', { max: `${MAX_FILES}` }), { kind: 'error' })
        return
      }
      const draft = composer.take()
      try {
        if (draft.files.length === 0 && (await slash.run(app, draft.text))) return
      } catch (error) {
        // The commands could not be loaded: nothing was done with the words.
        toasts.fail(error)
        composer.giveBack(draft)
        return
      }
      const text = withFiles(draft.text.trim(), draft.files)
      const id = route.sessionId.value
      const taken =
        id && chat.busy.value
          ? verbs.put(id, text, draft.files, steer)
          : verbs.start(text, draft.files)
      if (!(await taken)) composer.giveBack(draft)
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
    async begin(): Promise<void> {
      const tell = (error: unknown) => toasts.fail(error)
      for (const source of ['gateway', 'notices'] as const) sources.follow(source)
      const list = snapshot('list')
      void snapshot('inbox')
      const opened = openSession(route.sessionId.value)
      void settings
        .load()
        .then(() => Promise.all([gateway.probe(), lookForUpdates()]))
        .catch(tell)
      profileVerbs.showPendingToast()
      for (const part of [profiles, trouble, projects, models, reasoning, workspaces])
        void part.load().catch(tell)
      void personalities.load().catch(tell)
      void skillCommands.load().catch(tell)
      void slash.load().catch(tell)
      await list
      await opened
      see()
      tabs.start()
    },
  }
  const app = { ...state, ...verbs, ...profileVerbs, ...projectVerbs }
  return app
}
