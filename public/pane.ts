/** A pane of the page: its address, its layout, and the chat that it shows. One, or two side by side. */
import { computed, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals'
import type { Chat } from './features/chat/chat.ts'
import type { Chats } from './features/chat/chats.ts'
import { noChoice, type Outbox } from './features/chat/outbox.ts'
import type { ComposerShared } from './features/composer/composer-state.ts'
import { chatsWithDraft } from './features/composer/stored-draft.ts'
import { createLazyActions } from './features/sessions/lazy-actions.ts'
import type { SessionsBase } from './features/sessions/sessions-state.ts'
import type { Layout } from './features/shell/layout.ts'
import type { RouteState } from './features/shell/route.ts'
import type { ShellBase } from './features/shell/shell-state.ts'
import { type PanelFrame, panelOf } from './features/workspace/panel.ts'
import type { Workspaces } from './features/workspace/workspaces.ts'
import type { EventCursors } from './stream/event-cursors.ts'
import type { TabLeader } from './stream/tab-leader.ts'
import { t } from './strings/t.ts'
import type { App } from './app.ts'
import type { ModelsFeature, ProfilesFeature, SettingsFeature } from './contexts.ts'

/** What all chats of the page share. */
export type PaneShared = {
  shell: ShellBase
  tabs: TabLeader
  cursors: EventCursors
  sidebar: SessionsBase
  models: ModelsFeature
  settings: SettingsFeature
  profiles: ProfilesFeature
  workspaces: Workspaces
  composing: ComposerShared
  outbox: Outbox
  newId: () => string
}

export type PaneOptions = {
  route: RouteState
  layout: Layout
  panel: PanelFrame
  /** Names the new chat in what this tab remembers. */
  memory: 'new-chat' | 'new-chat-beside'
  /** Leaves a deleted session. Default: begins a new chat. */
  leave?: () => void
}

export class Pane {
  readonly route: RouteState
  readonly layout: Layout
  readonly panel: PanelFrame
  /** The only thing that a click on another chat changes. */
  readonly shown: ReadonlySignal<Chat>
  /** The features of the page, with those of this chat. */
  readonly app: ReadonlySignal<App>
  readonly #shared: PaneShared
  readonly #chats: Chats
  readonly #options: PaneOptions
  readonly #shown: Signal<Chat>
  /** The new chat that an address without a session shows. */
  #blank: Chat | null
  readonly #viewTitle = signal('')
  readonly #views = new WeakMap<Chat, App>()

  constructor(shared: PaneShared, chats: Chats, options: PaneOptions) {
    this.#shared = shared
    this.#chats = chats
    this.#options = options
    this.route = options.route
    this.layout = options.layout
    this.panel = options.panel
    const remembered = shared.shell.platform.tab.read(options.memory, '')
    // Another page may have created its session.
    const isNew = shared.outbox.of(remembered, null).every(({ session_id }) => session_id === null)
    this.#blank = this.#begin((isNew && remembered) || shared.newId())
    const { value: id } = options.route.sessionId
    this.#shown = signal(id ? chats.get(id) : this.#blank)
    this.shown = this.#shown
    this.app = computed(() => this.#viewOf(this.#shown.value))
  }

  /** Shows the session that the address names; null for a new chat. */
  show(id: string | null): Promise<void> {
    const before = this.#shown.peek()
    const chat = id ? this.#chats.get(id) : this.#newChat()
    if (chat !== before) {
      this.#shown.value = chat
      this.layout.picker.value = null
      this.#chats.release(before)
    }
    const { value: session } = chat.sessionId
    if (session) {
      // Also when it was opened from a list: then it is no new chat any more.
      if (this.#blank === chat) this.#blank = null
      if (id === null) this.route.nameSession(session)
    }
    if (chat === this.#blank) void this.#shared.shell.attempt(() => this.takeOver())
    return untracked(() => chat.open(this.app.value))
  }

  /** An empty new chat gives way to one whose page was closed before it was sent. */
  async takeOver(): Promise<void> {
    const { outbox, shell } = this.#shared
    const isEmpty = () =>
      this.#shown.peek() === this.#blank && !this.#blank.sessionId.peek() && !this.#blank.isInUse()
    const waiting = outbox.list.peek().filter(({ session_id }) => session_id === null)
    const left = [
      ...waiting.map(({ chat }) => chat).reverse(),
      ...chatsWithDraft(shell.platform.drafts),
    ]
    for (const key of left) {
      if (!isEmpty()) return
      if (!(await this.#chats.isLeft(key)) || !isEmpty()) continue
      this.#blank = this.#begin(key)
      return this.show(null)
    }
  }

  /** Begins a new chat: another one when messages of the last are waiting to be sent. */
  newChat(): void {
    const blank = this.#newChat()
    if (this.#shared.outbox.of(blank.key, null).length > 0) this.#blank = null
    else blank.composer.choose(noChoice)
    this.route.openSession(null)
    // It may have a session, which the address names by now.
    void this.show(this.route.sessionId.peek())
    this.layout.drawer.value = false
    this.layout.composerFocus.value += 1
  }

  /** The session of a new chat was created. */
  created(chat: Chat): void {
    const { tab } = this.#shared.shell.platform
    const { memory } = this.#options
    if (tab.read(memory, '') === chat.key) tab.remove(memory)
    if (this.#shown.peek() !== chat) return
    if (this.#blank === chat) this.#blank = null
    this.route.nameSession(chat.sessionId.peek())
    // A side that was closed meanwhile has no address; opened again, it begins another chat.
    const { sessionId } = this.route
    if (sessionId.peek() !== chat.sessionId.peek()) void this.show(sessionId.peek())
  }

  leave(): void {
    if (this.#options.leave) this.#options.leave()
    else this.newChat()
  }

  /** Remembered, so that the chat is there after a reload. */
  #begin(key: string): Chat {
    this.#shared.shell.platform.tab.write(this.#options.memory, key)
    return this.#chats.begin(key)
  }

  #newChat(): Chat {
    const blank = this.#blank
    // Its session was created, for a file, while another chat was shown: without a message no list has it.
    const isAbandoned = blank?.sessionId.peek() && !blank.isInUse()
    this.#blank =
      blank && !isAbandoned
        ? // While it was empty and not shown, it may have been dropped.
          this.#chats.keep(blank)
        : this.#begin(this.#shared.newId())
    return this.#blank
  }

  #viewOf(chat: Chat): App {
    const known = this.#views.get(chat)
    if (known) return known
    const made = untracked(() => this.#createView(chat))
    this.#views.set(chat, made)
    return made
  }

  #createView(chat: Chat): App {
    const { sidebar, models, settings, profiles, workspaces, shell, tabs } = this.#shared
    const { sessions, titleOfSession } = sidebar
    const isShown = computed(() => this.#shown.value === chat)
    /** After a request: not when the person has gone elsewhere meanwhile. */
    const ifShown = (move: () => void) => {
      if (isShown.peek()) move()
    }
    const route: RouteState = {
      ...this.route,
      replaceFile: name => ifShown(() => this.route.replaceFile(name)),
    }
    const follow = (id: string) => ifShown(() => this.route.openSession(id))
    const base: ShellBase = { ...shell, route, layout: this.layout }
    const panel = panelOf(this.panel, chat.panel)
    return {
      ...{ ...base, ...sidebar, ...chat.turns, ...chat.choices, ...chat.writing },
      ...{ ...models, ...settings, ...profiles, workspaces, tabs },
      ...{ key: chat.key, chat: chat.transcript, queue: chat.queue, markRead: chat.markRead },
      ...createLazyActions({
        shell: base,
        sessions,
        chat: chat.transcript,
        isOpen: id => isShown.peek() && chat.sessionId.peek() === id,
        follow,
        newChat: () => ifShown(() => this.leave()),
      }),
      isShown,
      follow,
      focusComposer: () =>
        ifShown(() => {
          this.layout.composerFocus.value += 1
        }),
      newChat: () => ifShown(() => this.newChat()),
      panel: { ...panel, shown: computed(() => isShown.value && this.panel.shown.value) },
      viewTitle: this.#viewTitle,
      title: computed(() => {
        const id = chat.sessionId.value
        const name = this.#viewTitle.value || (id ? titleOfSession(id) : t('chat.new'))
        const waiting = sidebar.inbox.count.value
        const mark = waiting > 0 ? `(${waiting}) ` : sidebar.anyFinished.value ? '• ' : ''
        return `${mark}${name} · ${settings.settings.current.value.bot_name}`
      }),
    }
  }
}
