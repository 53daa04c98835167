/** Session list: loaded in pages, updated by events, newest first. */
import { visibleName } from '../../../lib/base/visible.ts'
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Frame } from '../../../lib/schema/event.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from '../../strings/t.ts'
import { parseCursor } from '../../stream/stream.ts'
import { groupOf } from './relative-time.ts'
import { isHostSession } from './host-session.ts'
import { createKnownSessions } from './known-sessions.ts'
import { createSessionMutations } from './session-mutations.ts'

export type ListItem =
  | { kind: 'head'; key: string; label: string }
  | { kind: 'row'; key: string; row: SessionRow }

export const titleOf = (row: Pick<SessionRow, 'title'>): string =>
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
  const shown = rows.filter(row => !row.archived)
  section(
    t('list.pinned'),
    shown.filter(row => row.pinned),
  )
  const groups = Map.groupBy(
    shown.filter(row => !row.pinned),
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

export const createSessions = (
  { api, clock, device }: Pick<Platform, 'api' | 'clock' | 'device'>,
  toasts: Toasts,
  profile: ReadonlySignal<string>,
  /** The active filters. */
  matches: (row: SessionRow) => boolean = () => true,
  everyProfile: () => boolean = () => false,
  /** Whether runs of scheduled tasks are in the list. */
  withScheduled: () => boolean = () => true,
) => {
  const known = createKnownSessions()
  const { rows } = known
  const state = signal<'loading' | 'ready' | 'failed'>('loading')
  const next = signal<string | null>(null)
  const showArchived = signal(device.read('show-archived', false))
  /** Current time in seconds, for the day headings; advanced by the page's clock. */
  const now = signal(clock.now() / 1000)
  let fetchingMore = false
  /** Number of requests for the first page. */
  let asked = 0
  const scheduled = () => (withScheduled() ? {} : { scheduled: '0' })

  const byId = computed(() => new Map(rows.value.map(row => [row.session_id, row])))
  /** An untitled session without messages isn't listed. */
  const isBlank = (row: SessionRow) => row.message_count === 0 && row.title === 'Untitled'
  const profileRows = computed(() =>
    rows.value.filter(
      row =>
        !isBlank(row) &&
        (everyProfile() || !profile.value || row.profile === profile.value || isHostSession(row)),
    ),
  )

  const listed = computed(() => profileRows.value.filter(matches))

  const row = (id: string | null | undefined) => (id ? byId.value.get(id) : undefined)

  return {
    rows,
    state,
    next,
    showArchived,
    now,
    row,
    upsert: known.upsert,
    keep: known.keep,
    drop: (id: string) => known.drop(id),
    /** Sessions of this profile, or of all profiles if that filter is on. */
    profileRows,
    items: computed(() => toItems(listed.value, { now: now.value, archived: showArchived.value })),
    /** Ids of the rows in `items`. */
    listedIds: computed(
      () =>
        new Set(
          listed.value
            .filter(({ archived }) => showArchived.value || !archived)
            .map(({ session_id }) => session_id),
        ),
    ),
    archivedCount: computed(() => listed.value.filter(({ archived }) => archived).length),

    /** Fetches as many rows as are shown; returns the event cursor of the reply. */
    async load(): Promise<string | undefined> {
      try {
        const limit = Math.min(MAX_LIMIT, Math.max(PAGE_SIZE, rows.value.length))
        const order = ++asked
        known.beginLoad()
        const reply = await api('GET /api/sessions', { limit, ...scheduled() })
        // A later request, perhaps with another filter, supersedes this one.
        if (order !== asked) return reply.cursor
        // The reply contains pinned sessions of all pages, because they are listed first.
        const list = [...reply.sessions, ...(reply.pinned ?? [])]
        known.replaceAll(list, parseCursor(reply.cursor)?.boot ?? '')
        next.value = reply.next ?? null
        state.value = 'ready'
        return reply.cursor
      } catch (error) {
        // The row of the open chat may be all there is.
        if (state.value !== 'ready' || rows.value.length === 0) state.value = 'failed'
        throw error
      }
    },
    async more(): Promise<void> {
      const from = next.value
      if (!from || fetchingMore) return
      fetchingMore = true
      try {
        const reply = await api('GET /api/sessions', {
          limit: PAGE_SIZE,
          cursor: from,
          ...scheduled(),
        })
        // The list was reloaded during the request, so this page no longer follows it.
        if (next.value !== from) return
        known.append(reply.sessions)
        next.value = reply.next ?? null
      } catch (error) {
        toasts.showError(error)
      } finally {
        fetchingMore = false
      }
    },
    receive(frame: Frame): void {
      if (frame.type === 'row') known.receive(frame.data.row)
      else if (frame.type === 'gone') known.drop(frame.data.session_id, frame.data.seq)
    },
    toggleArchived(): void {
      showArchived.value = !showArchived.value
      device.write('show-archived', showArchived.value)
    },

    ...createSessionMutations({ api, toasts, row, known }),
  }
}

export type Sessions = ReturnType<typeof createSessions>
