/** What a person can do with a conversation: startTurn and stop turns, edit and retry, choose its model, throw it away. */
import { signal } from '@preact/signals'
import { isObject } from '../../../lib/base/json.ts'
import { type ApiCall, ApiError, urlOf } from '../../api.ts'
import { type Composer, withFiles, withoutFiles } from '../composer/composer.ts'
import type { Layout } from '../shell/layout.ts'
import type { Models } from '../models/models.ts'
import { type OpenChat, textOf } from './open-chat.ts'
import type { Personalities } from '../composer/personalities.ts'
import type { Projects } from '../projects/projects.ts'
import type { Queue } from '../queue/queue.ts'
import type { RouteState } from '../shell/route.ts'
import { type Sessions, titleOf } from '../sessions/sessions.ts'
import type { Toasts } from '../shell/toast.ts'
import type { Workspaces } from '../workspace/workspaces.ts'
import { t } from '../../strings/t.ts'

export type ChatActionsOptions = {
  platform: {
    api: ApiCall
    base: string
    navigate: (url: string, options?: { download?: boolean }) => void
    copy: (text: string) => Promise<void>
  }
  toasts: Toasts
  route: RouteState
  sessions: Sessions
  chat: OpenChat
  composer: Composer
  queue: Queue
  models: Models
  workspaces: Workspaces
  personalities: Personalities
  layout: Layout
  projects: Pick<Projects, 'chosen'>
}

/** What was chosen for a conversation that does not exist yet. */
type Choice = { model: string; workspace: string; personality: string }
const noChoice: Choice = { model: '', workspace: '', personality: '' }

export const createChatActions = (rooms: ChatActionsOptions) => {
  const { toasts, route, sessions, chat, composer, queue, models, workspaces, layout } = rooms
  const { api, base, navigate, copy } = rooms.platform
  const choice = signal<Choice>(noChoice)
  let creating: Promise<string> | null = null

  const create = async (): Promise<string> => {
    const { model, workspace, personality } = choice.value
    const { session } = await api('POST /api/session/new', {
      ...(model ? { model } : {}),
      ...(workspace ? { workspace } : {}),
    })
    const id = session.session_id
    if (personality) await rooms.personalities.set(id, personality)
    sessions.upsert({ ...session, personality: personality || null })
    // Begun while one project is shown: it belongs there.
    const project = rooms.projects.chosen.value
    if (project) await sessions.move(id, project)
    composer.assignSession(id)
    choice.value = noChoice
    await chat.open(id)
    route.openSession(id, { replace: true })
    return id
  }

  /** The open conversation, made now if it does not exist yet; two that ask at once get the same. */
  const ensureSession = async (): Promise<string> => {
    const id = route.sessionId.value
    if (id) return id
    creating ??= create()
    try {
      return await creating
    } finally {
      creating = null
    }
  }

  /** A conversation of the command line becomes one of this service with the first thing that is done to it. */
  const own = async (id: string): Promise<void> => {
    // Its messages have other ids from here on.
    if (await sessions.importHostSession(id)) await chat.reload()
  }

  /** Behind the running turn, or into it. False when the service did not take it. */
  const put = async (id: string, text: string, files: readonly string[], steer = false) => {
    try {
      await queue[steer ? 'steer' : 'add'](id, text, files)
      return true
    } catch (error) {
      toasts.showError(error)
      return false
    }
  }

  /** Starts a turn of the open conversation. False when it could not: the caller keeps the text. */
  const startTurn = async (text: string, files: readonly string[]): Promise<boolean> => {
    const takeBack = chat.addPending(text, files)
    let id = route.sessionId.value
    try {
      id = await ensureSession()
      await own(id)
      const reply = await api('POST /api/chat/start', {
        session_id: id,
        message: text,
        ...(files.length > 0 ? { attachments: [...files] } : {}),
      })
      if (reply.effective_model) chat.patch({ model: reply.effective_model })
      return true
    } catch (error) {
      takeBack()
      if (!id || !(error instanceof ApiError) || error.status !== 409) {
        toasts.showError(error)
        return false
      }
      // Another tab or device was faster: wait in line behind it.
      const waits = await put(id, text, files)
      void chat.reload()
      return waits
    }
  }

  /** Everything from this message on goes, and its text (or a new one) is sent again. */
  const resend = async (id: string, text: string | null): Promise<void> => {
    const prompt = chat.promptOf(id)
    if (!prompt) return
    if (chat.busy.value) {
      toasts.show(t('command.busy'))
      return
    }
    try {
      const keep = chat.countBefore(prompt.id)
      await own(chat.chat.value.sessionId)
      await chat.truncate(keep)
      const files = prompt.attachments ?? []
      const words = text ?? textOf(prompt)
      await startTurn(files.length > 0 ? withFiles(withoutFiles(words), files) : words, files)
    } catch (error) {
      toasts.showError(error)
    }
  }

  /** Runs a verb and tells what went wrong. */
  const attempt = async (verb: () => Promise<unknown>): Promise<void> => {
    try {
      await verb()
    } catch (error) {
      toasts.showError(error)
    }
  }

  const newChat = (): void => {
    choice.value = noChoice
    route.openSession(null)
    layout.drawer.value = false
    layout.composerFocus.value += 1
  }

  const leaveIf = (id: string): void => {
    if (route.sessionId.value === id) newChat()
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
    ensureSession,
    startTurn,
    newChat,
    attempt,
    async stop(): Promise<undefined> {
      const { live, sessionId } = chat.chat.value
      const stream = live?.stream_id || sessions.row(sessionId)?.active_stream_id
      if (stream) await attempt(() => api('POST /api/chat/cancel', { stream_id: stream }))
      return undefined
    },
    put,
    /** Sends a text that was not written in the composer. */
    say: (text: string) => startTurn(text, []),
    edit: (id: string, text: string) => resend(id, text),
    async retry(id?: string): Promise<undefined> {
      const prompt = chat.promptOf(id)
      if (prompt) await resend(prompt.id, null)
      return undefined
    },
    async undo(id: string): Promise<string | undefined> {
      if (chat.busy.value) return t('command.busy')
      const reply = await api('POST /api/session/undo', { session_id: id })
      if ('error' in reply) return reply.error
      await chat.reload()
      return t('command.undone', { preview: reply.removed_preview })
    },
    /** A copy of the conversation, up to and including `messageId` when one is given. */
    async branch(id: string, messageId?: string): Promise<undefined> {
      await attempt(async () => {
        const keep = messageId === undefined ? undefined : chat.countBefore(messageId) + 1
        route.openSession(await sessions.branch(id, keep))
      })
      return undefined
    },
    duplicate: (id: string) => attempt(async () => route.openSession(await sessions.duplicate(id))),
    archive: (id: string, archived: boolean) =>
      attempt(async () => {
        await sessions.archive(id, archived)
        if (!archived) return
        toasts.show(t('row.archived', { title: titleOf(sessions.row(id) ?? { title: '' }) }), {
          action: { label: t('row.undo'), run: () => void sessions.archive(id, false) },
        })
      }),
    /** Into the trash, with a way back for as long as the notice stands. */
    remove: (id: string) =>
      attempt(async () => {
        const title = titleOf(sessions.row(id) ?? { title: '' })
        const wasOpen = route.sessionId.value === id
        leaveIf(id)
        const restore = await sessions.remove(id)
        const run = () =>
          void attempt(async () => {
            await restore()
            if (wasOpen) route.openSession(id)
          })
        toasts.show(t('row.deleted', { title }), { action: { label: t('row.undo'), run } })
      }),
    confirmDeletePermanently(id: string): undefined {
      const title = titleOf(sessions.row(id) ?? { title: '' })
      layout.confirmation.value = {
        title: t('delete.permanent.title'),
        text: t('delete.permanent.text', { title }),
        confirm: t('delete.permanent.confirm'),
        danger: true,
        async run() {
          await sessions.deletePermanently(id)
          leaveIf(id)
        },
      }
    },
    confirmClear(id: string): undefined {
      layout.confirmation.value = {
        title: t('clear.title'),
        text: t('clear.text'),
        confirm: t('clear.confirm'),
        danger: true,
        async run() {
          sessions.upsert((await api('POST /api/session/clear', { session_id: id })).session)
          if (route.sessionId.value === id) await chat.reload()
          toasts.show(t('clear.done'), {
            action: { label: t('clear.purge'), run: () => void attempt(() => sessions.purge(id)) },
          })
        },
      }
    },
    exportAs(id: string, format: 'md' | 'json' | 'html'): void {
      navigate(urlOf(base, 'api/session/export', { session_id: id, format }), { download: true })
    },
    /** A conversation exported as JSON, here or by a program of the same family, as a new one. */
    async importFile(file: File): Promise<void> {
      let body: unknown
      try {
        body = JSON.parse(await file.text())
      } catch {
        // A picture, a Markdown export, half a file.
        body = null
      }
      if (!isObject(body) || !('messages' in body)) {
        return void toasts.show(t('import.failed', { name: file.name }), { kind: 'error' })
      }
      await attempt(async () => {
        const { session } = await api('POST /api/session/import', body)
        sessions.upsert(session)
        route.openSession(session.session_id)
        toasts.show(t('import.done', { title: titleOf(session) }))
      })
    },
    async chooseModel(id: string): Promise<void> {
      models.markUsed(id)
      await update({ model: id })
    },
    async chooseWorkspace(path: string): Promise<void> {
      await workspaces.trust(path)
      await update({ workspace: path })
    },
    /** An empty name clears. Answers what holds now. */
    async choosePersonality(name: string): Promise<string | null> {
      const id = route.sessionId.value
      if (!id) {
        choice.value = { ...choice.value, personality: name }
        return name || null
      }
      await own(id)
      const set = await rooms.personalities.set(id, name)
      chat.patch({ personality: set })
      return set
    },
    async copy(text: string): Promise<void> {
      try {
        await copy(text)
        toasts.show(t('chat.copied'))
      } catch {
        // Refused by the browser, for example on a page without HTTPS.
        toasts.show(t('chat.copy.failed'), { kind: 'error' })
      }
    },
  }
}

export type ChatActions = ReturnType<typeof createChatActions>
