/** What a menu offers for one session: copy, archive, delete, clear, export, import. */
import { urlOf } from '../../api.ts'
import { t } from './action-strings.ts'
import type { Transcript } from '../chat/transcript.ts'
import type { ShellBase } from '../shell/shell-state.ts'
import { type Sessions, titleOf } from './sessions.ts'

export type SessionActionsOptions = {
  shell: Pick<ShellBase, 'api' | 'base' | 'navigate' | 'toasts' | 'route' | 'layout' | 'attempt'>
  sessions: Sessions
  chat: Transcript
  /** The chat of this menu is shown, and is of this session. */
  isOpen: (id: string) => boolean
  /** Opens a session after a request, unless the person has gone elsewhere. */
  follow: (id: string) => void
  newChat: () => void
}

export type ExportFormat = 'md' | 'json' | 'html'

type Action<Given extends unknown[]> = (...given: Given) => Promise<undefined>
/** Each shows its error. */
export type SessionActions = {
  /** Copies a session, up to and including `messageId` when one is given, and opens the copy. */
  branch: Action<[id: string, messageId?: string]>
  duplicate: Action<[id: string]>
  archive: Action<[id: string, archived: boolean]>
  /** Moves a session to the trash; the toast offers to undo it. */
  remove: Action<[id: string]>
  confirmDeletePermanently: Action<[id: string]>
  confirmClear: Action<[id: string]>
  exportAs: Action<[id: string, format: ExportFormat]>
  /** Imports a session exported as JSON, by this program or a compatible one. */
  importFile: Action<[file: File]>
}

export const createSessionActions = (options: SessionActionsOptions): SessionActions => {
  const { shell, sessions, chat, isOpen, follow, newChat } = options
  const { toasts, route, layout, attempt } = shell
  const nameOf = (id: string): string => titleOf(sessions.row(id) ?? { title: '' })
  const leaveIfOpen = (id: string): void => {
    if (isOpen(id)) newChat()
  }

  return {
    async branch(id, messageId) {
      const keep = messageId === undefined ? undefined : chat.countBefore(messageId) + 1
      follow(await sessions.branch(id, keep))
      return undefined
    },
    async duplicate(id) {
      follow(await sessions.duplicate(id))
      return undefined
    },
    async archive(id, archived) {
      await sessions.archive(id, archived)
      if (!archived) return undefined
      const run = () => void sessions.archive(id, false)
      const action = { label: t('row.undo'), run }
      toasts.show(t('row.archived', { title: nameOf(id) }), { action })
      return undefined
    },
    async remove(id) {
      const title = nameOf(id)
      const wasOpen = isOpen(id)
      leaveIfOpen(id)
      const restore = await sessions.remove(id)
      const run = () =>
        void attempt(async () => {
          await restore()
          if (wasOpen) route.openSession(id)
        })
      toasts.show(t('row.deleted', { title }), { action: { label: t('row.undo'), run } })
      return undefined
    },
    async confirmDeletePermanently(id) {
      layout.confirmation.value = {
        title: t('delete.permanent.title'),
        text: t('delete.permanent.text', { title: nameOf(id) }),
        confirm: t('delete.permanent.confirm'),
        danger: true,
        async run() {
          await sessions.deletePermanently(id)
          leaveIfOpen(id)
        },
      }
      return undefined
    },
    async confirmClear(id) {
      layout.confirmation.value = {
        title: t('clear.title'),
        text: t('clear.text'),
        confirm: t('clear.confirm'),
        danger: true,
        async run() {
          sessions.upsert((await shell.api('POST /api/session/clear', { session_id: id })).session)
          if (chat.sessionId.peek() === id) await chat.reload()
          const run = () => void attempt(() => sessions.purge(id))
          toasts.show(t('clear.done'), { action: { label: t('clear.purge'), run } })
        },
      }
      return undefined
    },
    async exportAs(id, format) {
      const url = urlOf(shell.base, 'api/session/export', { session_id: id, format })
      shell.navigate(url, { download: true })
      return undefined
    },
    async importFile(file) {
      await (await import('./import-session.ts')).importSession(options, file)
      return undefined
    },
  }
}
