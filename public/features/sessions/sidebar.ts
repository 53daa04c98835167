/** State of the sidebar beside the list of sessions: filters, search, selection, unread marks. */
import { computed, type ReadonlySignal } from '@preact/signals'
import type { Profiles } from '../profiles/profiles.ts'
import type { SettingsState } from '../settings/settings.ts'
import type { Shell } from '../shell/shell-state.ts'
import type { Filters } from './filters.ts'
import { HostSessions } from './host-sessions.ts'
import { Search } from './search.ts'
import { Selection } from './selection.ts'
import type { Sessions } from './sessions.ts'
import { Unread } from './unread.ts'

export type SidebarOptions = {
  shell: Shell
  sessions: Sessions
  filters: Filters
  settings: SettingsState
  profiles: Profiles
  /** Fetches the list again; events that arrive meanwhile are applied after it. */
  reload: () => Promise<void>
  /** Fetches the open chat again if it may have changed outside this server. */
  reloadOpenChat: () => Promise<unknown>
}

export class Sidebar {
  readonly filters: Filters
  readonly search: Search
  readonly selection: Selection
  readonly unread: Unread
  readonly hostSessions: HostSessions
  /** Another session finished since the page was loaded, and was not opened yet. */
  readonly anyFinished: ReadonlySignal<boolean>
  /** Fetches the list again; rejects with the error. */
  readonly reload: () => Promise<void>

  constructor(options: SidebarOptions) {
    const { shell, sessions, filters, settings, profiles, reload, reloadOpenChat } = options
    const { platform, toasts, route, connection } = shell
    const loadedAt = platform.clock.now() / 1000
    this.filters = filters
    this.reload = reload
    this.unread = new Unread(platform)
    this.search = new Search(
      platform,
      () => sessions.profileRows.value,
      () => (filters.everyProfile.value ? '' : profiles.active.value),
    )
    this.selection = new Selection(sessions.listedIds)
    this.anyFinished = computed(() =>
      sessions.profileRows.value.some(
        row =>
          row.updated_at > loadedAt && !route.isOpen(row.session_id) && this.unread.isUnread(row),
      ),
    )
    this.hostSessions = new HostSessions({
      ...{ platform, settings, connection, toasts, profile: profiles.active },
      async reload() {
        await reload()
        await reloadOpenChat()
      },
    })
  }
}
