/** What can be done with the selected sessions, above the list. */
import { IconButton } from '../../parts/button.tsx'
import { MenuButton } from '../../parts/menu-button.tsx'
import { useApp } from '../shell/context.ts'
import { archiveAll, deleteAll, exportAll, moveAll, pinAll } from './bulk-actions.ts'
import { isHostSession } from './host-session.ts'
import { t } from './selection-strings.ts'
import { openTags } from './tags-dialog.tsx'

export const SelectionBar = () => {
  const app = useApp()
  const { selection } = app.sidebar
  const sessions = app.sessions
  const projects = app.projects
  const { layout } = app.shell
  const ids = [...selection.ids.value]
  const rows = ids.flatMap(id => sessions.row(id) ?? [])
  const pinned = rows.every(row => row.pinned)
  // Host sessions can't be exported before they are imported.
  const exportable = rows.filter(row => !isHostSession(row)).map(row => row.session_id)
  const act = (run: (ids: string[]) => unknown) => () => {
    selection.clear()
    void app.shell.attempt(async () => run(ids))
  }
  return (
    <div class="selection-bar" role="toolbar" aria-label={t('selection.label')}>
      <IconButton icon="close" label={t('selection.clear')} onClick={() => selection.clear()} />
      <span class="selection-count" role="status">
        {/* The words do not fit beside the buttons of a phone. */}
        <span aria-hidden="true">{ids.length}</span>
        <span class="sr-only">{t('selection.count', { count: ids.length })}</span>
      </span>
      <IconButton
        icon="archive"
        asks="POST /api/session/archive"
        label={t('row.archive')}
        onClick={act(ids => archiveAll(app, ids))}
      />
      <MenuButton
        icon="folder"
        asks="POST /api/session/move"
        label={t('selection.move')}
        items={() => [
          ...projects.list.value.map(project => ({
            label: project.name,
            run: act(ids => moveAll(app, ids, project.project_id)),
          })),
          ...(projects.list.value.length > 0 ? (['line'] as const) : []),
          {
            label: t('selection.move.out'),
            run: act(ids => moveAll(app, ids, null)),
          },
        ]}
      />
      <IconButton
        icon="trash"
        asks="POST /api/session/delete"
        label={t('row.delete')}
        onClick={act(ids => deleteAll(app, ids))}
      />
      <MenuButton
        label={t('selection.more')}
        // More buttons do not fit beside the count on 320 px.
        items={() => [
          {
            label: t(pinned ? 'row.unpin' : 'row.pin'),
            icon: 'pin',
            asks: 'POST /api/session/pin',
            run: act(ids => pinAll(app, ids, !pinned)),
          },
          {
            label: t('selection.tags.edit'),
            asks: 'POST /api/session/update',
            run() {
              openTags(layout, ids)
            },
          },
          ...(exportable.length > 0
            ? [
                {
                  label: t('selection.export'),
                  icon: 'download' as const,
                  run: act(() => exportAll(app, exportable)),
                },
              ]
            : []),
        ]}
      />
    </div>
  )
}
