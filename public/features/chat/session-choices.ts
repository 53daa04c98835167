/** Model, workspace and personality of the open chat, or of the one that the first message will create. */
import { type Signal, signal } from '@preact/signals'
import type { ApiCall } from '../../api.ts'
import type { Composer } from '../composer/composer.ts'
import type { Personalities } from '../composer/personalities.ts'
import type { Sending } from '../offline/sending.ts'
import type { Models } from '../models/models.ts'
import type { Projects } from '../projects/projects.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Layout } from '../shell/layout.ts'
import type { RouteState } from '../shell/route.ts'
import type { Workspaces } from '../workspace/workspaces.ts'
import type { OpenChat } from './open-chat.ts'

export type SessionChoicesOptions = {
  api: ApiCall
  route: RouteState
  layout: Layout
  sessions: Sessions
  projects: Pick<Projects, 'chosen'>
  chat: OpenChat
  composer: Composer
  models: Models
  workspaces: Workspaces
  personalities: Personalities
  sending: Pick<Sending, 'leaveChat'>
}

/** Choices for a session that does not exist yet. */
export type Choice = { model: string; workspace: string; personality: string }
const noChoice: Choice = { model: '', workspace: '', personality: '' }

export type SessionChoices = {
  choice: Signal<Choice>
  /** The open session, created now if it does not exist yet. Concurrent calls share one creation. */
  ensureSession: () => Promise<string>
  /** Imports a host session before its first change here, because only sessions of this server can be changed. */
  importIfHostSession: (id: string) => Promise<void>
  newChat: () => void
  chooseModel: (id: string) => Promise<void>
  chooseWorkspace: (path: string) => Promise<void>
  /** An empty name clears the personality. Returns the one in effect. */
  choosePersonality: (name: string) => Promise<string | null>
}

export const createSessionChoices = (options: SessionChoicesOptions): SessionChoices => {
  const { api, route, layout, sessions, chat, composer, models, workspaces } = options
  const choice = signal<Choice>(noChoice)
  let creating: Promise<string> | null = null

  const create = async (): Promise<string> => {
    const { model, workspace, personality } = choice.value
    const { session } = await api('POST /api/session/new', {
      ...(model ? { model } : {}),
      ...(workspace ? { workspace } : {}),
    })
    const id = session.session_id
    if (personality) await options.personalities.set(id, personality)
    sessions.upsert({ ...session, personality: personality || null })
    // A chat started while the list shows one project belongs to that project.
    const project = options.projects.chosen.value
    if (project) await sessions.move(id, project)
    composer.assignSession(id)
    choice.value = noChoice
    await chat.open(id)
    route.openSession(id, { replace: true })
    return id
  }

  const importIfHostSession = async (id: string): Promise<void> => {
    // Importing gives its messages other ids.
    if (await sessions.importHostSession(id)) await chat.reload()
  }

  const update = async (patch: { model?: string; workspace?: string }): Promise<void> => {
    const id = route.sessionId.value
    if (id) {
      await sessions.update(id, patch)
      chat.patch(patch)
    } else choice.value = { ...choice.value, ...patch }
  }

  return {
    choice,
    importIfHostSession,
    async ensureSession() {
      const id = route.sessionId.value
      if (id) return id
      creating ??= create()
      try {
        return await creating
      } finally {
        creating = null
      }
    },
    newChat() {
      options.sending.leaveChat()
      choice.value = noChoice
      route.openSession(null)
      layout.drawer.value = false
      layout.composerFocus.value += 1
    },
    async chooseModel(id) {
      models.markUsed(id)
      await update({ model: id })
    },
    async chooseWorkspace(path) {
      await workspaces.trust(path)
      await update({ workspace: path })
    },
    async choosePersonality(name) {
      const id = route.sessionId.value
      if (!id) {
        choice.value = { ...choice.value, personality: name }
        return name || null
      }
      await importIfHostSession(id)
      const set = await options.personalities.set(id, name)
      chat.patch({ personality: set })
      return set
    },
  }
}
