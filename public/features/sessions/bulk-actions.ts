/** Actions on several sessions. One that fails leaves the others done, and can be seen in the list. */
import type { App } from '../../app.ts'
import { t } from './selection-strings.ts'

/** Runs one after the other, so that a large selection does not crowd out the page's other requests. */
const forEach = async (
  app: App,
  ids: readonly string[],
  action: (id: string) => Promise<unknown>,
): Promise<void> => {
  for (const id of ids) await app.attempt(() => action(id))
}

export const pinAll = (app: App, ids: readonly string[], pinned: boolean) =>
  forEach(app, ids, id => app.sessions.pin(id, pinned))

export const archiveAll = async (app: App, ids: readonly string[]): Promise<void> => {
  await forEach(app, ids, id => app.sessions.archive(id, true))
  const run = () => void forEach(app, ids, id => app.sessions.archive(id, false))
  app.toasts.show(t('selection.archived', { count: ids.length }), {
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
  app.toasts.show(t('selection.moved', { count: ids.length }), {
    action: { label: t('row.undo'), run },
  })
}

export const exportAll = (app: App, ids: readonly string[]): void => {
  for (const id of ids) app.exportAs(id, 'md')
}

export const deleteAll = async (app: App, ids: readonly string[]): Promise<void> => {
  const open = app.route.sessionId.value
  if (open && ids.includes(open)) app.newChat()
  const restores: (() => Promise<void>)[] = []
  await forEach(app, ids, async id => restores.push(await app.sessions.remove(id)))
  if (restores.length === 0) return
  const run = () =>
    void app.attempt(async () => {
      for (const restore of restores) await restore()
    })
  app.toasts.show(t('selection.deleted', { count: restores.length }), {
    action: { label: t('row.undo'), run },
  })
}
