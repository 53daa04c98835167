/** Session list: loaded in pages, updated by events, newest first. */
import { visibleName } from '../../../lib/base/visible.ts'
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Frame } from '../../../lib/schema/event.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from '../../strings/t.ts'
import { parseCursor } from '../../stream/stream.ts'
import { groupOf } from '../../parts/relative-time.ts'
import { isHostSession } from './host-session.ts'
import { KnownSessions } from './known-sessions.ts'

export type ListItem =
  | { kind: 'head'; key: string; label: string }
  | { kind: 'row'; key: string; row: SessionRow }

export const sessionTitle = (row: Pick<SessionRow, 'title'>): string =>
  row.title && row.title !== 'Untitled' ? visibleName(row.title) : t('chat.untitled')

/** The beginning of the latest message of the person; the names of its files where it has no text. It may be cut in them. */
export const previewOf = ({ preview }: Pick<SessionRow, 'preview'>): string =>
  preview
    .replace(/^(.+?) \[(?:Attached files: |Comment on ).*$/, '$1')
    .replace(/^\[Attached files: (.*?)\]?$/, '$1')

/** Name of the source of a session. */
export const sourceOf = (row: SessionRow): string => {
  if (row.source_tag === 'api') return t('row.api')
  return typeof row.source_tag === 'string' && row.source_tag !== 'cli'
    ? row.source_tag
    : t('row.cli')
}

/** Rows grouped under headings: pinned first, then by day, then archived ones if requested. */
export const toItems = (
  rows: readonly SessionRow[],
  { now, archived }: { now: number; archived: boolean },
): ListItem[] => {
  const items: ListItem[] = []
  const section = (label: string, of: readonly SessionRow[]): void => {
    if (of.length === 0) return
    items.push({ kind: 'head', key: `head:${label}`, label })
    for (const row of of) items.push({ kind: 'row', key: row.session_id, row })
  }
  const active = rows.filter(row => !row.archived)
  section(
    t('list.pinned'),
    active.filter(row => row.pinned),
  )
  const groups = Map.groupBy(
    active.filter(row => !row.pinned),
    row => groupOf(row.updated_at, now),
  )
  for (const [label, of] of groups) section(label, of)
  if (archived) {
    section(
      t('list.archived'),
      rows.filter(row => row.archived),
    )
  }
  return items
}

const PAGE_SIZE = 100
/** The server's maximum page size. */
const MAX_LIMIT = 500

export type SessionsOptions = {
  platform: Platform
  toasts: Toasts
  profile: ReadonlySignal<string>
  /** The active filters. */
  matches?: (row: SessionRow) => boolean
  everyProfile?: () => boolean
  /** Whether runs of scheduled tasks are in the list. */
  withScheduled?: () => boolean
}

/** An untitled session without messages isn't listed. */
const isBlank = (row: SessionRow): boolean => row.message_count === 0 && row.title === 'Untitled'

export class Sessions {
  readonly rows: ReadonlySignal<readonly SessionRow[]>
  /** Sessions of this profile, or of all profiles if that filter is on. */
  readonly profileRows: ReadonlySignal<readonly SessionRow[]>
  readonly items: ReadonlySignal<ListItem[]>
  /** Ids of the rows in `items`. */
  readonly listedIds: ReadonlySignal<ReadonlySet<string>>
  readonly archivedCount: ReadonlySignal<number>
  readonly state = signal<'loading' | 'ready' | 'failed'>('loading')
  /** Of the next page. */
  readonly next = signal<string | null>(null)
  readonly showArchived: Signal<boolean>
  /** Current time in seconds, for the day headings; advanced by the page's clock. */
  readonly now: Signal<number>
  readonly #options: SessionsOptions
  readonly #sessions = new KnownSessions()
  readonly #byId: ReadonlySignal<ReadonlyMap<string, SessionRow>>
  #isFetchingMore = false
  /** Number of requests for the first page. */
  #requests = 0

  constructor(options: SessionsOptions) {
    const { platform, profile, matches = () => true, everyProfile = () => false } = options
    this.#options = options
    this.showArchived = signal(platform.device.read('show-archived', false))
    this.now = signal(platform.clock.now() / 1000)
    const { rows } = this.#sessions
    this.rows = rows
    this.#byId = computed(() => new Map(rows.value.map(row => [row.session_id, row])))
    this.profileRows = computed(() =>
      rows.value.filter(
        row =>
          !isBlank(row) &&
          (everyProfile() || !profile.value || row.profile === profile.value || isHostSession(row)),
      ),
    )
    const listed = computed(() => this.profileRows.value.filter(matches))
    const { showArchived, now } = this
    this.items = computed(() =>
      toItems(listed.value, { now: now.value, archived: showArchived.value }),
    )
    this.listedIds = computed(
      () =>
        new Set(
          listed.value
            .filter(({ archived }) => showArchived.value || !archived)
            .map(({ session_id }) => session_id),
        ),
    )
    this.archivedCount = computed(() => listed.value.filter(({ archived }) => archived).length)
  }

  row(id: string | null | undefined): SessionRow | undefined {
    return id ? this.#byId.value.get(id) : undefined
  }

  titleOf(id: string): string {
    return sessionTitle(this.row(id) ?? { title: '' })
  }

  upsert(row: SessionRow): void {
    this.#sessions.upsert(row)
  }

  /** Keeps the row of the open session, even if no loaded page contains it. */
  keep(row: SessionRow): void {
    this.#sessions.keep(row)
  }

  drop(id: string): void {
    this.#sessions.drop(id)
  }

  /** Fetches as many rows as are shown; returns the event cursor of the reply. */
  async load(): Promise<string | undefined> {
    const sessions = this.#sessions
    try {
      const limit = Math.min(MAX_LIMIT, Math.max(PAGE_SIZE, this.rows.value.length))
      const order = ++this.#requests
      sessions.beginLoad()
      const reply = await this.#api('GET /api/sessions', { limit, ...this.#scheduled() })
      // A later request, perhaps with another filter, supersedes this one.
      if (order !== this.#requests) return reply.cursor
      // The reply contains pinned sessions of all pages, because they are listed first.
      const list = [...reply.sessions, ...(reply.pinned ?? [])]
      sessions.replaceAll(list, parseCursor(reply.cursor)?.boot ?? '')
      this.next.value = reply.next ?? null
      this.state.value = 'ready'
      return reply.cursor
    } catch (error) {
      // The row of the open chat may be all there is.
      if (this.state.value !== 'ready' || this.rows.value.length === 0) this.state.value = 'failed'
      throw error
    }
  }

  async more(): Promise<void> {
    const cursor = this.next.value
    if (!cursor || this.#isFetchingMore) return
    this.#isFetchingMore = true
    try {
      const page = { limit: PAGE_SIZE, cursor, ...this.#scheduled() }
      const reply = await this.#api('GET /api/sessions', page)
      // The list was reloaded during the request, so this page no longer follows it.
      if (this.next.value !== cursor) return
      this.#sessions.append(reply.sessions)
      this.next.value = reply.next ?? null
    } catch (error) {
      this.#options.toasts.showError(error)
    } finally {
      this.#isFetchingMore = false
    }
  }

  receive(frame: Frame): void {
    if (frame.type === 'row') this.#sessions.receive(frame.data.row)
    else if (frame.type === 'gone') this.#sessions.drop(frame.data.session_id, frame.data.seq)
  }

  toggleArchived(): void {
    this.showArchived.value = !this.showArchived.value
    this.#options.platform.device.write('show-archived', this.showArchived.value)
  }

  rename(id: string, title: string): Promise<void> {
    return this.#change(id, { title }, () =>
      this.#api('POST /api/session/rename', { session_id: id, title }),
    )
  }

  pin(id: string, pinned: boolean): Promise<void> {
    return this.#change(id, { pinned }, () =>
      this.#api('POST /api/session/pin', { session_id: id, pinned }),
    )
  }

  archive(id: string, archived: boolean): Promise<void> {
    return this.#change(id, { archived }, () =>
      this.#api('POST /api/session/archive', { session_id: id, archived }),
    )
  }

  move(id: string, project: string | null): Promise<void> {
    return this.#change(id, { project_id: project }, () =>
      this.#api('POST /api/session/move', { session_id: id, project_id: project }),
    )
  }

  update(id: string, patch: { model?: string; workspace?: string }): Promise<void> {
    return this.#change(id, patch, () =>
      this.#api('POST /api/session/update', { session_id: id, ...patch }),
    )
  }

  /** Imports a host session so that it can be changed. True when it was imported now. */
  async importHostSession(id: string): Promise<boolean> {
    if (!isHostSession(this.row(id))) return false
    this.upsert((await this.#api('POST /api/session/import_cli', { session_id: id })).session)
    return true
  }

  /** Returns the id of the copy. */
  async duplicate(id: string): Promise<string> {
    await this.importHostSession(id)
    const { session } = await this.#api('POST /api/session/duplicate', { session_id: id })
    this.upsert(session)
    return session.session_id
  }

  /** Copies the first `keep` messages, or all; returns the id of the copy. */
  async branch(id: string, keep?: number): Promise<string> {
    await this.importHostSession(id)
    const reply = await this.#api('POST /api/session/branch', {
      session_id: id,
      ...(keep === undefined ? {} : { keep_count: keep }),
    })
    return reply.session_id
  }

  /** Moves a session to the trash; returns a function that restores it. */
  async remove(id: string): Promise<() => Promise<void>> {
    await this.#sessions.whileShown({ id, patch: null }, async () => {
      await this.#api('POST /api/session/delete', { session_id: id })
      this.drop(id)
    })
    return async () => {
      const { session } = await this.#api('POST /api/session/restore', { session_id: id })
      this.#sessions.undelete(session)
    }
  }

  /** Deletes a session from disk, bypassing the trash. */
  async deletePermanently(id: string): Promise<void> {
    await this.#api('POST /api/session/delete', { session_id: id, permanent: true })
    this.drop(id)
  }

  /** Deletes cleared and undone messages from disk. */
  async purge(id: string): Promise<void> {
    this.upsert((await this.#api('POST /api/session/purge', { session_id: id })).session)
  }

  /** Changes the row at once, and no longer if the server rejects the change. */
  async #change(
    id: string,
    patch: Partial<SessionRow>,
    send: () => Promise<{ session: SessionRow }>,
  ): Promise<void> {
    try {
      await this.#sessions.whileShown({ id, patch }, async () => {
        await this.importHostSession(id)
        this.upsert((await send()).session)
      })
    } catch (error) {
      this.#options.toasts.showError(error)
    }
  }

  get #api(): Platform['api'] {
    return this.#options.platform.api
  }

  #scheduled(): { scheduled?: '0' } {
    return this.#options.withScheduled?.() === false ? { scheduled: '0' } : {}
  }
}
