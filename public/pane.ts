/** A pane of the page: its address, its layout, and the chat that it shows. One, or two side by side. */
import { computed, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals'
import type { App, Page } from './app.ts'
import type { Chat } from './features/chat/chat.ts'
import { noChoice } from './features/messages/outbox.ts'
import { chatsWithDraft } from './features/composer/stored-draft.ts'
import { SessionActions } from './features/sessions/session-actions.ts'
import type { Layout } from './features/shell/layout.ts'
import type { RouteState } from './features/shell/route.ts'
import { type PanelFrame, panelOf } from './features/panel/panel.ts'
import { t } from './strings/t.ts'

export type PaneOptions = {
  route: RouteState
  layout: Layout
  panel: PanelFrame
  /** Names the new chat in what this tab remembers. */
  memory: 'new-chat' | 'new-chat-beside'
  /** Leaves a deleted session. Default: begins a new chat. */
  leave?: () => void
}

/** The pane as one of its chats uses it: after a request, nothing moves when the person has gone elsewhere meanwhile. */
export class PaneOfChat {
  /** The pane shows the chat. */
  readonly isShown: ReadonlySignal<boolean>
  /** Of the view beside the chats that is shown; empty for a chat. */
  readonly viewTitle: Signal<string>
  /** Title of the document. */
  readonly title: ReadonlySignal<string>
  readonly #pane: Pane

  constructor(pane: Pane, chat: Chat, page: Page) {
    const { sessions, sidebar, inbox, settings } = page
    this.#pane = pane
    this.isShown = computed(() => pane.openChat.value === chat)
    this.viewTitle = pane.viewTitle
    this.title = computed(() => {
      const id = chat.sessionId.value
      const isMissing = chat.transcript.state.value === 'missing'
      const own = isMissing ? t('chat.missing.title') : sessions.titleOf(id)
      const name = pane.viewTitle.value || (id ? own : t('chat.new'))
      const waiting = inbox.count.value
      const mark = waiting > 0 ? `(${waiting}) ` : sidebar.anyFinished.value ? '• ' : ''
      return `${mark}${name} · ${settings.current.value.bot_name}`
    })
  }

  /** Opens a session. */
  follow(id: string): void {
    if (this.isShown.peek()) this.#pane.route.openSession(id)
  }

  newChat(): void {
    if (this.isShown.peek()) this.#pane.newChat()
  }

  /** Leaves a deleted session. */
  leave(): void {
    if (this.isShown.peek()) this.#pane.leave()
  }

  focusComposer(): void {
    if (this.isShown.peek()) this.#pane.layout.composerFocus.value += 1
  }
}

export class Pane {
  readonly route: RouteState
  readonly layout: Layout
  readonly panel: PanelFrame
  /** The only thing that a click on another chat changes. */
  readonly openChat: ReadonlySignal<Chat>
  /** The features of the page, with those of this chat. */
  readonly app: ReadonlySignal<App>
  /** Of the view beside the chats that is shown; empty for a chat. */
  readonly viewTitle = signal('')
  readonly #page: Page
  readonly #options: PaneOptions
  readonly #openChat: Signal<Chat>
  /** The new chat that an address without a session shows. */
  #blank: Chat | null
  readonly #views = new WeakMap<Chat, App>()

  constructor(page: Page, options: PaneOptions) {
    const { chats } = page
    this.#page = page
    this.#options = options
    this.route = options.route
    this.layout = options.layout
    this.panel = options.panel
    const remembered = page.shell.platform.tab.read(options.memory, '')
    // Another page may have created its session.
    const isNew = page.outbox.of(remembered, null).every(({ session_id }) => session_id === null)
    this.#blank = this.#begin((isNew && remembered) || page.newId())
    const { value: id } = options.route.sessionId
    this.#openChat = signal(id ? chats.get(id) : this.#blank)
    this.openChat = this.#openChat
    this.app = computed(() => this.#viewOf(this.#openChat.value))
  }

  /** Shows the session that the address names; null for a new chat. */
  show(id: string | null): Promise<void> {
    const before = this.#openChat.peek()
    const chat = id ? this.#page.chats.get(id) : this.#newChat()
    if (chat !== before) {
      this.#openChat.value = chat
      this.layout.picker.value = null
      this.#page.chats.release(before)
    }
    const { value: session } = chat.sessionId
    if (session) {
      // Also when it was opened from a list: then it is no new chat any more.
      if (this.#blank === chat) this.#blank = null
      if (id === null) this.route.nameSession(session)
    }
    if (chat === this.#blank) void this.#page.shell.attempt(() => this.takeOver())
    const app = untracked(() => this.app.value)
    return untracked(() => chat.open(text => this.#page.composing.slashCommands.run(app, text)))
  }

  /** An empty new chat gives way to one whose page was closed before it was sent. */
  async takeOver(): Promise<void> {
    const { outbox, shell } = this.#page
    const isEmpty = () =>
      this.#openChat.peek() === this.#blank &&
      !this.#blank.sessionId.peek() &&
      !this.#blank.isInUse()
    const waiting = outbox.list.peek().filter(({ session_id }) => session_id === null)
    const keys = [
      ...waiting.map(({ chat }) => chat).reverse(),
      ...chatsWithDraft(shell.platform.drafts),
    ]
    for (const key of keys) {
      if (!isEmpty()) return
      if (!(await this.#page.chats.isLeft(key)) || !isEmpty()) continue
      this.#blank = this.#begin(key)
      return this.show(null)
    }
  }

  /** Begins a new chat: another one when messages of the last are waiting to be sent. */
  newChat(): void {
    const blank = this.#newChat()
    if (this.#page.outbox.of(blank.key, null).length > 0) this.#blank = null
    else blank.draft.choose(noChoice)
    this.route.openSession(null)
    // It may have a session, which the address names by now.
    void this.show(this.route.sessionId.peek())
    this.layout.drawer.value = false
    this.layout.composerFocus.value += 1
  }

  /** The session of a new chat was created. */
  created(chat: Chat): void {
    const { tab } = this.#page.shell.platform
    const { memory } = this.#options
    if (tab.read(memory, '') === chat.key) tab.remove(memory)
    if (this.#openChat.peek() !== chat) return
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
    this.#page.shell.platform.tab.write(this.#options.memory, key)
    return this.#page.chats.begin(key)
  }

  #newChat(): Chat {
    const blank = this.#blank
    // Its session was created, for a file, while another chat was shown: without a message no list has it.
    const isAbandoned = blank?.sessionId.peek() && !blank.isInUse()
    this.#blank =
      blank && !isAbandoned
        ? // While it was empty and not shown, it may have been dropped.
          this.#page.chats.keep(blank)
        : this.#begin(this.#page.newId())
    return this.#blank
  }

  #viewOf(chat: Chat): App {
    const cached = this.#views.get(chat)
    if (cached) return cached
    const view = untracked(() => this.#createView(chat))
    this.#views.set(chat, view)
    return view
  }

  #createView(chat: Chat): App {
    const { sessions, sidebar, projects, inbox, outbox, models, settings, profiles } = this.#page
    const { workspaces, tabs } = this.#page
    const pane = new PaneOfChat(this, chat, this.#page)
    const shell = this.#page.shell.side(this.route, this.layout)
    const panel = panelOf(this.panel, chat.panel)
    return {
      ...{ shell, sessions, sidebar, projects, inbox, outbox, models, settings, profiles },
      ...{ workspaces, tabs, pane, chat, composer: chat.composer },
      sessionActions: new SessionActions({
        ...{ shell, sessions, chat: chat.transcript },
        isOpen: id => pane.isShown.peek() && chat.sessionId.peek() === id,
        follow: id => pane.follow(id),
        newChat: () => pane.leave(),
      }),
      panel: { ...panel, isShown: computed(() => pane.isShown.value && this.panel.isShown.value) },
    }
  }
}
