/** Routes frames of the event stream to the features they concern, and fetches a source again when it cannot be resumed. */
import type { ReadonlySignal } from '@preact/signals'
import type { Frame } from '../lib/schema/event.ts'
import type { Chats } from './features/chat/chats.ts'
import type { Inbox } from './features/inbox/open-questions.ts'
import type { Profiles } from './features/profiles/profiles.ts'
import type { Sessions } from './features/sessions/sessions.ts'
import type { Sidebar } from './features/sessions/sidebar.ts'
import type { Shell } from './features/shell/shell-state.ts'
import { EventCursors, type SnapshotRequest } from './stream/event-cursors.ts'
import type { Source } from './stream/stream.ts'
import type { Subscriptions } from './stream/tab-leader.ts'
import { t } from './strings/t.ts'
import type { Pane } from './pane.ts'

type Notice = Extract<Frame, { type: 'notice' }>['data']

export type EventRoutingOptions = {
  shell: Shell
  sessions: Sessions
  sidebar: Sidebar
  inbox: Inbox
  profiles: Profiles
  panes: ReadonlySignal<readonly Pane[]>
  /** Created later: a chat needs the cursors. */
  chats: () => Chats
}

export class EventRouting {
  readonly #options: EventRoutingOptions
  readonly #failedSources = new Set<Source>()
  readonly cursors: EventCursors

  constructor(options: EventRoutingOptions) {
    const { inbox } = options
    this.#options = options
    this.cursors = new EventCursors({
      deliver: frame => {
        if (frame.source.startsWith('session:')) this.#transcriptOf(frame.source)?.receive(frame)
        else if (frame.source === 'list') this.#receiveRow(frame)
        else if (frame.source === 'inbox') inbox.receive(frame)
        else this.#receiveNotice(frame)
      },
      refetch: (source, snapshot) => {
        if (source.startsWith('session:')) void this.#transcriptOf(source)?.reload(snapshot)
        else void this.#load(source, snapshot)
      },
    })
  }

  /** Fetches a source that is not a session. Its frames wait until then; without a reply they continue from now. Shows the error. */
  readonly load = (source: Source): Promise<void> => this.#load(source)

  readonly subscriptions = (): Subscriptions => ({
    list: this.cursors.cursor('list'),
    positions: new Map(
      this.cursors.sessions().flatMap(id => {
        const at = this.cursors.cursor(`session:${id}`)
        return at ? [[id, at] as const] : []
      }),
    ),
  })

  /** The connection is back: what could not be fetched is fetched now. */
  catchUp(): void {
    for (const source of this.#failedSources) void this.#load(source)
    for (const pane of this.#options.panes.peek()) pane.openChat.peek().transcript.catchUp()
  }

  /** The same for the session list; rejects with the error. */
  reloadList(): Promise<void> {
    return this.#fetchSource('list')
  }

  #transcriptOf(source: Source) {
    return this.#options.chats().find(source.slice('session:'.length))?.transcript
  }

  async #fetchSource(source: Source, snapshot = this.cursors.beginSnapshot(source)): Promise<void> {
    const { sessions, inbox } = this.#options
    const { hostSessions } = this.#options.sidebar
    let cursor: string | undefined
    this.#failedSources.delete(source)
    try {
      if (source === 'list') cursor = await sessions.load()
      else if (source === 'inbox') cursor = await inbox.load()
      else if (source === 'gateway') await hostSessions.probe()
      // Notices are transient: there is nothing to fetch.
    } catch (error) {
      this.#failedSources.add(source)
      throw error
    } finally {
      this.cursors.completeSnapshot(snapshot, cursor)
    }
  }

  #load(source: Source, snapshot?: SnapshotRequest): Promise<void> {
    return this.#options.shell.attempt(() => this.#fetchSource(source, snapshot))
  }

  #receiveRow(frame: Frame): void {
    const { sessions } = this.#options
    sessions.receive(frame)
    if (frame.type !== 'row' && frame.type !== 'gone') return
    const id = frame.type === 'row' ? frame.data.row.session_id : frame.data.session_id
    const chat = this.#options.chats().find(id)
    const panes = this.#options.panes.peek().filter(pane => pane.openChat.peek() === chat)
    if (frame.type === 'row') for (const pane of panes) pane.openChat.peek().markRead()
    else if (chat?.isInUse()) chat.transcript.end()
    else for (const pane of panes) pane.leave()
  }

  async #showNotice(notice: Notice): Promise<void> {
    const { shell } = this.#options
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

  #receiveNotice(frame: Frame): void {
    const { shell } = this.#options
    const { hostSessions } = this.#options.sidebar
    if (frame.type === 'notice') {
      // The notice may be about the profile of this page.
      void this.#options.profiles.reloadIfChanged()
      void shell.configProblems.load().catch(() => undefined)
      void this.#showNotice(frame.data)
    }
    hostSessions.receive(frame)
  }
}
