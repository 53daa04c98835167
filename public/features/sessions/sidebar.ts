/** State of the sidebar beside the list of sessions: filters, search, selection, unread marks. */
import { computed, type ReadonlySignal, effect, signal, type Signal } from '@preact/signals'
import type { Profiles } from '../profiles/profiles.ts'
import type { SettingsState } from '../settings/settings.ts'
import type { Shell } from '../shell/shell-state.ts'
import type { Filters } from './filters.ts'
import { HostSessions } from './host-sessions.ts'
import { Search } from './search.ts'
import type { Sessions } from './sessions.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'

type Seen = Readonly<Record<string, number>>
/** Beyond this many entries the oldest are dropped. */
const MAX_ENTRIES = 500

export class Unread {
  readonly #platform: Platform
  readonly #counts: Signal<Readonly<Record<string, number>>>
  // Messages from before the first visit don't count as unread.
  readonly #since: number

  constructor(platform: Platform) {
    const { device, clock } = platform
    this.#platform = platform
    this.#counts = signal<Seen>(device.read<Seen>('viewed', {}))
    this.#since = device.read('viewed-since', clock.now() / 1000)
    device.write('viewed-since', this.#since)
  }

  markRead(row: Pick<SessionRow, 'session_id' | 'message_count'>): void {
    const { session_id: id, message_count: count } = row
    if (this.#counts.value[id] === count) return
    const { [id]: _, ...others } = this.#counts.value
    const entries = Object.entries(others).slice(-MAX_ENTRIES)
    this.#counts.value = { ...Object.fromEntries(entries), [id]: count }
    this.#platform.device.write('viewed', this.#counts.value)
  }

  isUnread(
    row: Pick<SessionRow, 'session_id' | 'message_count' | 'updated_at' | 'is_streaming'>,
  ): boolean {
    return (
      row.updated_at > this.#since &&
      !row.is_streaming &&
      row.message_count > (this.#counts.value[row.session_id] ?? 0)
    )
  }
}

/** `visibleIds`: the sessions of the list as it is shown, with those that are scrolled out of sight. */
export class Selection {
  readonly ids = signal<ReadonlySet<string>>(new Set())
  /** The row that a range begins at. */
  #anchor: string | null = null

  constructor(visibleIds: ReadonlySignal<ReadonlySet<string>>) {
    // What nobody sees must not be deleted with the others.
    effect(() => {
      const rest = [...this.ids.value].filter(id => visibleIds.value.has(id))
      if (rest.length < this.ids.value.size) this.ids.value = new Set(rest)
    })
  }

  toggle(id: string): void {
    this.#anchor = id
    const next = new Set(this.ids.value)
    if (!next.delete(id)) next.add(id)
    this.ids.value = next
  }

  /** Selects the rows from the last one that was selected to `id`. `keys`: all rows in the order of the list. */
  extendTo(id: string, keys: readonly string[]): void {
    const from = keys.indexOf(this.#anchor ?? id)
    const to = keys.indexOf(id)
    if (from < 0 || to < 0) return
    this.#anchor = keys[from]!
    this.ids.value = new Set([
      ...this.ids.value,
      ...keys.slice(Math.min(from, to), Math.max(from, to) + 1),
    ])
  }

  clear(): void {
    this.#anchor = null
    if (this.ids.value.size > 0) this.ids.value = new Set()
  }
}

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
