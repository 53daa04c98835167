/** State of the sidebar: the session list with its filters, projects, search, unread marks and pending questions. */
import { computed, type ReadonlySignal } from '@preact/signals'
import { t } from '../../strings/t.ts'
import { createInbox, type Inbox } from '../chat/inbox.ts'
import type { Profiles } from '../profiles/profiles.ts'
import { createProjects, type Projects } from '../projects/projects.ts'
import type { Project } from '../../../lib/schema/project.ts'
import { lateActions } from '../../parts/late-actions.ts'
import type { LateProjectActions } from '../projects/actions.ts'
import type { SettingsState } from '../settings/settings.ts'
import type { ShellBase } from '../shell/shell-state.ts'
import { createFilters, type Filters } from './filters.ts'
import { createHostSessions, type HostSessions } from './host-sessions.ts'
import { createSelection, type Selection } from './selection.ts'
import { createSearch, type Search } from './search.ts'
import { createSessions, type Sessions, titleOf } from './sessions.ts'
import { createUnread, type Unread } from './unread.ts'

export type SessionsBase = LateProjectActions & {
  openMoveDialog: (sessionId: string) => void
  openProjectDialog: (project: Project | null, sessionId?: string) => void

  sessions: Sessions
  filters: Filters
  projects: Projects
  search: Search
  selection: Selection
  unread: Unread
  inbox: Inbox
  hostSessions: HostSessions
  reloadList: () => Promise<void>
  /** Another session finished since the page was loaded, and was not opened yet. */
  anyFinished: ReadonlySignal<boolean>
  titleOfSession: (id: string) => string
}

export type SessionsOptions = {
  shell: ShellBase
  settings: SettingsState
  profiles: Profiles
  /** Fetches the list again; events that arrive meanwhile are applied after it. */
  reloadList: () => Promise<void>
  /** Fetches the open chat again if it may have changed outside this server. */
  reloadOpenChat: () => Promise<unknown>
}

export const createSessionsState = (options: SessionsOptions): SessionsBase => {
  const { shell, settings, profiles, reloadList, reloadOpenChat } = options
  const { platform, toasts, route, layout, connection, announce } = shell
  const sessions: Sessions = createSessions(
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
    () => void shell.attempt(reloadList),
  )
  const projects = createProjects(platform, sessions.profileRows)
  const unread = createUnread(platform)
  const loadedAt = platform.clock.now() / 1000
  const titleOfSession = (id: string): string => titleOf(sessions.row(id) ?? { title: '' })
  return {
    sessions,
    filters,
    projects,
    search: createSearch(
      platform,
      () => sessions.profileRows.value,
      () => (filters.everyProfile.value ? '' : profiles.active.value),
    ),
    selection: createSelection(sessions.listedIds),
    reloadList,
    unread,
    anyFinished: computed(() =>
      sessions.profileRows.value.some(
        row => row.updated_at > loadedAt && !route.isOpen(row.session_id) && unread.isUnread(row),
      ),
    ),
    inbox: createInbox(platform, ({ session_id: id }) => {
      const message = t('chat.waiting', { title: titleOfSession(id) })
      announce(message)
      if (route.isOpen(id)) return () => undefined
      const run = () => route.openSession(id)
      const shown = toasts.show(message, { action: { label: t('row.open'), run } })
      return () => toasts.dismiss(shown)
    }),
    hostSessions: createHostSessions({
      platform,
      settings,
      connection,
      toasts,
      profile: profiles.active,
      async reload() {
        await reloadList()
        await reloadOpenChat()
      },
    }),
    titleOfSession,
    openMoveDialog(sessionId) {
      projects.dialog.value = { what: 'move', sessionId }
    },
    openProjectDialog(project, sessionId) {
      projects.dialog.value = { what: 'edit', project, ...(sessionId ? { sessionId } : {}) }
    },
    ...lateActions<LateProjectActions>(
      ['moveTo', 'confirmDeleteProject'],
      async () =>
        (await import('../projects/actions.ts')).createProjectActions({
          ...{ toasts, sessions, projects, layout },
        }),
      shell.attempt,
    ),
  }
}
