/** Actions on several sessions. One that fails leaves the others done, and can be seen in the list. */
import type { App } from '../../app.ts'
import { t } from './selection-strings.ts'
import { type TagChange, withTags } from './tags.ts'

/** Runs one after the other, so that a large selection does not crowd out the page's other requests. */
const forEach = async (
  app: App,
  ids: readonly string[],
  action: (id: string) => Promise<unknown>,
): Promise<void> => {
  for (const id of ids) await app.shell.attempt(() => action(id))
}

export const pinAll = (app: App, ids: readonly string[], pinned: boolean) =>
  forEach(app, ids, id => app.sessions.pin(id, pinned))

export const archiveAll = async (app: App, ids: readonly string[]): Promise<void> => {
  await forEach(app, ids, id => app.sessions.archive(id, true))
  const run = () => void forEach(app, ids, id => app.sessions.archive(id, false))
  app.shell.toasts.show(t('selection.archived', { count: ids.length }), {
    action: { label: t('row.undo'), run },
  })
}

export const moveAll = async (
  app: App,
  ids: readonly string[],
  project: string | null,
): Promise<void> => {
  const before = ids.map(id => [id, app.sessions.row(id)?.project_id ?? null] as const)
  await forEach(app, ids, id => app.sessions.move(id, project))
  const run = () => {
    for (const [id, was] of before) void app.sessions.move(id, was)
  }
  app.shell.toasts.show(t('selection.moved', { count: ids.length }), {
    action: { label: t('row.undo'), run },
  })
}

/** Changes tags in titles. A title that would get too long stays as it is, and a toast says so. */
export const tagAll = async (
  app: App,
  ids: readonly string[],
  change: TagChange,
): Promise<void> => {
  const rows = ids.flatMap(id => app.sessions.row(id) ?? [])
  const renames = rows.map(({ session_id: id, title }) => ({
    id,
    was: title,
    title: withTags(title, change),
  }))
  const changed = renames.flatMap(({ id, was, title }) =>
    title === null || title === was ? [] : [{ id, was, title }],
  )
  const full = renames.filter(({ title }) => title === null).length
  for (const { id, title } of changed) await app.sessions.rename(id, title)
  if (full > 0) app.shell.toasts.show(t('selection.untagged', { count: full }), { kind: 'error' })
  if (changed.length === 0) return
  const undo = async () => {
    for (const { id, was, title } of changed) {
      // A title that was changed since stays.
      if (app.sessions.row(id)?.title === title) await app.sessions.rename(id, was)
    }
  }
  app.shell.toasts.show(t('selection.tagged', { count: changed.length }), {
    action: { label: t('row.undo'), run: () => void undo() },
  })
}

export const exportAll = (app: App, ids: readonly string[]): void => {
  for (const id of ids) app.sessionActions.exportAs(id, 'md')
}

export const deleteAll = async (app: App, ids: readonly string[]): Promise<void> => {
  const open = app.chat.transcript.sessionId.value
  if (open && ids.includes(open)) app.pane.newChat()
  const restores: (() => Promise<void>)[] = []
  await forEach(app, ids, async id => restores.push(await app.sessions.remove(id)))
  if (restores.length === 0) return
  const run = () =>
    void app.shell.attempt(async () => {
      for (const restore of restores) await restore()
    })
  app.shell.toasts.show(t('selection.deleted', { count: restores.length }), {
    action: { label: t('row.undo'), run },
  })
}
