/** Model, workspace and personality of a chat, before and after its session exists. */
import type { ReadonlySignal } from '@preact/signals'
import type { Composer } from '../composer/composer.ts'
import type { Personalities } from '../composer/personalities.ts'
import type { Models } from '../models/models.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Workspaces } from '../workspace/workspaces.ts'
import type { Transcript } from './transcript.ts'
import type { Choice, Outbox } from './outbox.ts'

export type SessionChoicesOptions = {
  /** The client's id of the chat. */
  key: string
  chat: Transcript
  composer: Pick<Composer, 'choice' | 'choose'>
  outbox: Outbox
  sessions: Sessions
  models: Models
  workspaces: Workspaces
  personalities: Personalities
}

export type SessionChoices = {
  /** For a session that does not exist yet. */
  choice: ReadonlySignal<Choice>
  /** The session, created now if it does not exist yet. Concurrent calls share one creation. */
  ensureSession: () => Promise<string>
  /** Imports a host session before its first change here, because only sessions of this server can be changed. */
  importIfHostSession: (id: string) => Promise<void>
  chooseModel: (id: string) => Promise<void>
  chooseWorkspace: (path: string) => Promise<void>
  /** An empty name clears the personality. Returns the one in effect. */
  choosePersonality: (name: string) => Promise<string | null>
}

export const createSessionChoices = (options: SessionChoicesOptions): SessionChoices => {
  const { key, chat, outbox, sessions, models, workspaces, personalities } = options
  const { choice, choose } = options.composer
  let asked = 0

  const ensureSession = async (): Promise<string> =>
    chat.sessionId.peek() || outbox.sessionOf(key, choice.peek())

  /** Empty while nothing has begun to create the session. */
  const existing = async (): Promise<string> =>
    chat.sessionId.peek() || (outbox.isCreating(key) ? ensureSession() : '')

  const importIfHostSession = async (id: string): Promise<void> => {
    // Importing gives its messages other ids.
    if (await sessions.importHostSession(id)) await chat.reload()
  }

  const update = async (patch: { model?: string; workspace?: string }): Promise<void> => {
    const id = await existing()
    if (id) await sessions.update(id, patch)
    else choose({ ...choice.peek(), ...patch })
  }

  return {
    choice,
    ensureSession,
    importIfHostSession,
    async chooseModel(id) {
      models.markUsed(id)
      await update({ model: id })
    },
    async chooseWorkspace(path) {
      await workspaces.trust(path)
      await update({ workspace: path })
    },
    async choosePersonality(name) {
      const id = await existing()
      if (!id) {
        choose({ ...choice.peek(), personality: name })
        return name || null
      }
      await importIfHostSession(id)
      const order = ++asked
      const set = await personalities.set(id, name)
      const row = sessions.row(id)
      // A later choice may have been answered first.
      if (row && order === asked) sessions.upsert({ ...row, personality: set })
      return set
    },
  }
}
