/** Model, workspace and personality of a chat, before and after its session exists. */
import type { ReadonlySignal } from '@preact/signals'
import type { Composer } from './composer.ts'
import type { Personalities } from './personalities.ts'
import type { Models } from '../models/models.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Workspaces } from '../workspace/workspaces.ts'
import type { Transcript } from '../messages/transcript.ts'
import type { Choice, Outbox } from '../messages/outbox.ts'

export type SessionChoicesOptions = {
  /** The client's id of the chat. */
  key: string
  chat: Transcript
  draft: Composer
  outbox: Outbox
  sessions: Sessions
  models: Models
  workspaces: Workspaces
  personalities: Personalities
}

export class SessionChoices {
  /** For a session that does not exist yet. */
  readonly choice: ReadonlySignal<Choice>
  readonly #options: SessionChoicesOptions
  /** Number of the latest choice of a personality. */
  #choices = 0

  constructor(options: SessionChoicesOptions) {
    this.#options = options
    this.choice = options.draft.choice
  }

  /** The session, created now if it does not exist yet. Concurrent calls share one creation. */
  async ensureSession(): Promise<string> {
    const { key, chat, outbox } = this.#options
    return chat.sessionId.peek() || outbox.sessionOf(key, this.choice.peek())
  }

  /** Imports a host session before its first change here, because only sessions of this server can be changed. */
  async importIfHostSession(id: string): Promise<void> {
    const { chat, sessions } = this.#options
    // Importing gives its messages other ids.
    if (await sessions.importHostSession(id)) await chat.reload()
  }

  async chooseModel(id: string): Promise<void> {
    this.#options.models.markUsed(id)
    await this.#update({ model: id })
  }

  async chooseWorkspace(path: string): Promise<void> {
    await this.#options.workspaces.trust(path)
    await this.#update({ workspace: path })
  }

  /** An empty name clears the personality. Returns the one in effect. */
  async choosePersonality(name: string): Promise<string | null> {
    const { draft, personalities, sessions } = this.#options
    const id = await this.#existing()
    if (!id) {
      draft.choose({ ...this.choice.peek(), personality: name })
      return name || null
    }
    await this.importIfHostSession(id)
    const order = ++this.#choices
    const set = await personalities.set(id, name)
    const row = sessions.row(id)
    // A later choice may have been answered first.
    if (row && order === this.#choices) sessions.upsert({ ...row, personality: set })
    return set
  }

  async #update(patch: { model?: string; workspace?: string }): Promise<void> {
    const { sessions, draft } = this.#options
    const id = await this.#existing()
    if (id) await sessions.update(id, patch)
    else draft.choose({ ...this.choice.peek(), ...patch })
  }

  /** Empty while nothing has begun to create the session. */
  async #existing(): Promise<string> {
    const { key, chat, outbox } = this.#options
    return chat.sessionId.peek() || (outbox.isCreating(key) ? this.ensureSession() : '')
  }
}
