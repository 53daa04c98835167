/** The chats of the page, one per session. A chat is kept while something of it exists only here, and the latest ones besides. */
import type { ReadonlySignal } from '@preact/signals'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { moveDraft } from '../composer/stored-draft.ts'
import { Chat, type ChatServices } from './chat.ts'

/** What shows chats: one side of the page. */
export type ChatView = { readonly openChat: ReadonlySignal<Chat>; created(chat: Chat): void }

const MAX_IDLE = 20
/** Before the client's id of a new chat, in what other pages of the browser are told. */
export const CREATED = 'created:'

const lockOf = (key: string): string => `chat:${key}`

export class Chats {
  readonly #services: ChatServices
  readonly #panes: ReadonlySignal<readonly ChatView[]>
  /** By the client's id, the latest shown last. */
  readonly #all = new Map<string, Chat>()

  constructor(services: ChatServices, panes: ReadonlySignal<readonly ChatView[]>) {
    this.#services = services
    this.#panes = panes
  }

  all(): readonly Chat[] {
    return [...this.#all.values()]
  }

  /** Undefined when nothing of it is here. */
  find(sessionId: string): Chat | undefined {
    return this.all().find(chat => chat.sessionId.peek() === sessionId)
  }

  get(sessionId: string): Chat {
    return this.keep(this.find(sessionId) ?? new Chat(this.#services, sessionId, sessionId))
  }

  /** A chat whose session does not exist yet. */
  begin(key: string): Chat {
    // Until the page is closed: other pages leave its draft alone.
    const { exclusively } = this.#services.shell.platform
    void exclusively(lockOf(key), () => new Promise(() => undefined)).catch(() => undefined)
    return this.keep(new Chat(this.#services, key))
  }

  /** No page of this browser has begun this new chat: that of its draft was closed. */
  isLeft = async (key: string): Promise<boolean> =>
    (await this.#services.shell.platform.isFree(lockOf(key))) && !this.#all.has(key)

  /** The session of a new chat was created. */
  created(key: string, row: SessionRow): void {
    const id = row.session_id
    this.#services.sessions.upsert(row)
    const chat = this.#all.get(key)
    if (!chat) return void this.#services.shell.attempt(() => this.#moveDraft(key, id))
    if (chat.sessionId.peek()) return
    chat.begin(id, true)
    for (const pane of this.#panes.peek()) pane.created(chat)
    const { drafts } = this.#services.shell.platform
    drafts.write(CREATED + key, id)
    drafts.remove(CREATED + key)
  }

  async #moveDraft(key: string, sessionId: string): Promise<void> {
    if (await this.isLeft(key)) moveDraft(this.#services.shell.platform.drafts, key, sessionId)
  }

  /** A pane shows another chat. */
  release(chat: Chat): void {
    if (this.#panes.peek().some(pane => pane.openChat.peek() === chat)) return
    chat.close()
    const idle = this.all().filter(
      each => !each.isInUse() && !this.#panes.peek().some(pane => pane.openChat.peek() === each),
    )
    for (const each of idle.slice(0, Math.max(0, idle.length - MAX_IDLE)))
      this.#all.delete(each.key)
  }

  /** It is about to be shown. */
  keep(chat: Chat): Chat {
    this.#all.delete(chat.key)
    this.#all.set(chat.key, chat)
    return chat
  }
}
