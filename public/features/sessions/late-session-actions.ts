/** What the menu of a session does; loaded with its first use. */
import { isObject } from '../../../lib/base/json.ts'
import { urlOf } from '../../api.ts'
import { t } from './action-strings.ts'
import { t as importText } from './import-strings.ts'
import type { ExportFormat, SessionActionsOptions } from './session-actions.ts'
import { sessionTitle } from './sessions.ts'

type Options = SessionActionsOptions

export const branch = async (
  { sessions, chat, follow }: Options,
  id: string,
  messageId?: string,
): Promise<void> => {
  const keep = messageId === undefined ? undefined : chat.messages.countBefore(messageId) + 1
  follow(await sessions.branch(id, keep))
}

export const duplicate = async ({ sessions, follow }: Options, id: string): Promise<void> =>
  follow(await sessions.duplicate(id))

export const archive = async (
  { sessions, shell }: Options,
  id: string,
  archived: boolean,
): Promise<void> => {
  await sessions.archive(id, archived)
  if (!archived) return
  const run = () => void sessions.archive(id, false)
  const action = { label: t('row.undo'), run }
  shell.toasts.show(t('row.archived', { title: sessions.titleOf(id) }), { action })
}

/** Moves a session to the trash. `Sessions.remove` returns what restores it, for *Undo* in the toast. */
export const remove = async (
  { shell, sessions, isOpen, newChat }: Options,
  id: string,
): Promise<void> => {
  const title = sessions.titleOf(id)
  const wasOpen = isOpen(id)
  if (wasOpen) newChat()
  const restore = await sessions.remove(id)
  const run = () =>
    void shell.attempt(async () => {
      await restore()
      if (wasOpen) shell.route.openSession(id)
    })
  shell.toasts.show(t('row.deleted', { title }), { action: { label: t('row.undo'), run } })
}

export const confirmDeletePermanently = (
  { shell, sessions, isOpen, newChat }: Options,
  id: string,
): void => {
  shell.layout.confirmation.value = {
    title: t('delete.permanent.title'),
    text: t('delete.permanent.text', { title: sessions.titleOf(id) }),
    confirm: t('delete.permanent.confirm'),
    danger: true,
    async run() {
      await sessions.deletePermanently(id)
      if (isOpen(id)) newChat()
    },
  }
}

export const confirmClear = ({ shell, sessions, chat }: Options, id: string): void => {
  shell.layout.confirmation.value = {
    title: t('clear.title'),
    text: t('clear.text'),
    confirm: t('clear.confirm'),
    danger: true,
    async run() {
      sessions.upsert((await shell.api('POST /api/session/clear', { session_id: id })).session)
      if (chat.sessionId.peek() === id) await chat.reload()
      const purge = () => void shell.attempt(() => sessions.purge(id))
      shell.toasts.show(t('clear.done'), { action: { label: t('clear.purge'), run: purge } })
    },
  }
}

export const exportAs = ({ shell }: Options, id: string, format: ExportFormat): void => {
  const url = urlOf(shell.base, 'api/session/export', { session_id: id, format })
  shell.navigate(url, { download: true })
}

export const importFile = async (
  { shell, sessions, follow }: Options,
  file: File,
): Promise<void> => {
  let body: unknown
  try {
    body = JSON.parse(await file.text())
  } catch {
    // An image, a Markdown export, a truncated file.
    body = null
  }
  if (!isObject(body) || !('messages' in body)) {
    const run = () => shell.route.go({ view: 'import' })
    shell.toasts.show(importText('import.failed', { name: file.name }), {
      kind: 'error',
      action: { label: importText('import.others'), run },
    })
    return
  }
  const { session } = await shell.api('POST /api/session/import', body)
  sessions.upsert(session)
  follow(session.session_id)
  shell.toasts.show(importText('import.done', { title: sessionTitle(session) }))
}
