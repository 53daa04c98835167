/** Routes frames of the event stream to the features they concern, and fetches a source again when it cannot be resumed. */
import type { ReadonlySignal } from '@preact/signals'
import type { Frame } from '../lib/schema/event.ts'
import type { Chats } from './features/chat/chats.ts'
import type { Inbox } from './features/chat/inbox.ts'
import type { ProfileActions } from './features/profiles/actions.ts'
import type { SessionsBase } from './features/sessions/sessions-state.ts'
import type { ShellBase } from './features/shell/shell-state.ts'
import { createEventCursors, type EventCursors } from './stream/event-cursors.ts'
import type { Source } from './stream/stream.ts'
import type { Subscriptions } from './stream/tab-leader.ts'
import { t } from './strings/t.ts'
import type { Pane } from './pane.ts'

type Notice = Extract<Frame, { type: 'notice' }>['data']

export type EventRoutingOptions = {
  shell: ShellBase
  sidebar: Pick<SessionsBase, 'sessions' | 'hostSessions'> & { inbox: Inbox }
  panes: ReadonlySignal<readonly Pane[]>
  /** Created later: a chat needs the cursors. */
  chats: () => Chats
  profiles: () => Pick<ProfileActions, 'reloadIfProfileChanged'>
}

export type EventRouting = {
  cursors: EventCursors
  /** Fetches a source that is not a session. Its frames wait until then; without a reply they continue from now. Shows the error. */
  load: (source: Source) => Promise<void>
  /** The connection is back: what could not be fetched is fetched now. */
  catchUp: () => void
  /** The same for the session list; rejects with the error. */
  reloadList: () => Promise<void>
  subscriptions: () => Subscriptions
}

export const createEventRouting = (options: EventRoutingOptions): EventRouting => {
  const { shell, sidebar } = options
  const { sessions, hostSessions, inbox } = sidebar
  const transcriptOf = (source: Source) =>
    options.chats().find(source.slice('session:'.length))?.transcript

  const failed = new Set<Source>()
  const fetchSource = async (
    source: Source,
    snapshot = cursors.beginSnapshot(source),
  ): Promise<void> => {
    let cursor: string | undefined
    failed.delete(source)
    try {
      if (source === 'list') cursor = await sessions.load()
      else if (source === 'inbox') cursor = await inbox.load()
      else if (source === 'gateway') await hostSessions.probe()
      // Notices are transient: there is nothing to fetch.
    } catch (error) {
      failed.add(source)
      throw error
    } finally {
      cursors.completeSnapshot(snapshot, cursor)
    }
  }
  const load = (...asked: Parameters<typeof fetchSource>): Promise<void> =>
    shell.attempt(() => fetchSource(...asked))

  const receiveRow = (frame: Frame): void => {
    sessions.receive(frame)
    if (frame.type !== 'row' && frame.type !== 'gone') return
    const id = frame.type === 'row' ? frame.data.row.session_id : frame.data.session_id
    const chat = options.chats().find(id)
    const shown = options.panes.peek().filter(pane => pane.shown.peek() === chat)
    if (frame.type === 'row') for (const pane of shown) pane.shown.peek().markRead()
    else if (chat?.isInUse()) chat.transcript.end()
    else for (const pane of shown) pane.leave()
  }

  const showNotice = async (notice: Notice): Promise<void> => {
    const { message, code, values, sentences, level, session_id: id } = notice
    const run = () => shell.route.openSession(id ?? null)
    const text = await import('./strings/notice-strings.ts').then(
      ({ noticeText }) => noticeText(code, values, sentences),
      // The chunk could not be loaded, or is that of an earlier build.
      () => message,
    )
    shell.toasts.show(text || message, {
      kind: level === 'info' ? 'info' : 'error',
      action: id ? { label: t('row.open'), run } : null,
    })
  }

  const receiveNotice = (frame: Frame): void => {
    if (frame.type === 'notice') {
      // The notice may be about the profile of this page.
      void options.profiles().reloadIfProfileChanged()
      void shell.configProblems.load().catch(() => undefined)
      void showNotice(frame.data)
    }
    hostSessions.receive(frame)
  }

  const cursors = createEventCursors({
    deliver(frame) {
      if (frame.source.startsWith('session:')) transcriptOf(frame.source)?.receive(frame)
      else if (frame.source === 'list') receiveRow(frame)
      else if (frame.source === 'inbox') inbox.receive(frame)
      else receiveNotice(frame)
    },
    refetch(source, snapshot) {
      if (source.startsWith('session:')) void transcriptOf(source)?.reload(snapshot)
      else void load(source, snapshot)
    },
  })

  return {
    cursors,
    load: source => load(source),
    catchUp() {
      for (const source of failed) void load(source)
      for (const pane of options.panes.peek()) pane.shown.peek().transcript.catchUp()
    },
    reloadList: () => fetchSource('list'),
    subscriptions: () => ({
      list: cursors.cursor('list'),
      wanted: new Map(
        cursors.sessions().flatMap(id => {
          const at = cursors.cursor(`session:${id}`)
          return at ? [[id, at] as const] : []
        }),
      ),
    }),
  }
}
