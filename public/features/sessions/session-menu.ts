/** What can be done with a chat: the entries of its menu (sidebar and header), and of the palette. */
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { App } from '../../app.ts'
import type { MenuItem } from '../../parts/menu-button.tsx'
import { formatKeys } from '../shell/keys.ts'
import { isHostSession } from './host-session.ts'
import { t } from './menu-strings.ts'
import { t as inSelection } from './selection-strings.ts'

export const chatItems = (app: App, row: SessionRow, rename: () => void) => {
  const id = row.session_id
  const { layout, route, attempt } = app.shell
  const actions = app.sessionActions
  return {
    rename: {
      label: t('row.rename'),
      icon: 'edit',
      keys: 'F2',
      asks: 'POST /api/session/rename',
      run: rename,
    },
    pin: {
      label: t(row.pinned ? 'row.unpin' : 'row.pin'),
      icon: 'pin',
      asks: 'POST /api/session/pin',
      run: () => app.sessions.pin(id, !row.pinned),
    },
    archive: {
      label: t(row.archived ? 'row.unarchive' : 'row.archive'),
      icon: 'archive',
      asks: 'POST /api/session/archive',
      run: () => actions.archive(id, !row.archived),
    },
    move: {
      label: t('projects.move'),
      icon: 'folder',
      asks: 'POST /api/session/move',
      run: () => app.projects.openMove(id),
    },
    tags: {
      label: inSelection('selection.tags.edit'),
      icon: 'edit',
      asks: 'POST /api/session/update',
      run: () =>
        attempt(async () => {
          const { openTags } = await import('./tags-dialog.tsx')
          openTags(layout, [id])
        }),
    },
    branch: {
      label: t('row.branch'),
      icon: 'branch',
      asks: 'POST /api/session/branch',
      run: () => actions.branch(id),
    },
    duplicate: {
      label: t('row.duplicate'),
      icon: 'duplicate',
      asks: 'POST /api/session/duplicate',
      run: () => actions.duplicate(id),
    },
    share: {
      label: t('row.share'),
      icon: 'link',
      asks: 'POST /api/shares/create',
      run: () =>
        attempt(async () => (await import('../shares/share-dialog.tsx')).openShare(app, id)),
    },
    mute: {
      label: t('row.notify'),
      icon: 'bell',
      asks: 'POST /api/notifications/mute',
      run: () => attempt(async () => (await import('../notifications/mute.ts')).askMute(app, id)),
    },
    clear: {
      label: t('row.clear'),
      icon: 'undo',
      asks: 'POST /api/session/clear',
      run: () => actions.confirmClear(id),
    },
    delete: {
      label: t('row.delete'),
      icon: 'trash',
      keys: 'Del',
      asks: 'POST /api/session/delete',
      run: () => actions.remove(id),
    },
    erase: {
      label: t('row.delete.permanent'),
      icon: 'trash',
      danger: true,
      asks: 'POST /api/session/purge',
      run: () => actions.confirmDeletePermanently(id),
    },
    find: {
      label: t('keys.find'),
      icon: 'search',
      keys: formatKeys('mod+f', layout.mac),
      run() {
        route.backToChat()
        layout.findOpen.value = true
      },
    },
  } as const satisfies Record<string, MenuItem>
}

export const exportItems = (app: App, id: string) =>
  (['md', 'json', 'html'] as const).map(format => ({
    format,
    label: t(`row.export.${format}`),
    icon: 'download' as const,
    run: () => app.sessionActions.exportAs(id, format),
  }))

/** What is done with any chat; everything else is in the palette, for the open one. */
export const sessionMenu = (app: App, row: SessionRow, rename: () => void): MenuItem[] => {
  const items = chatItems(app, row, rename)
  const download: MenuItem = {
    label: t('row.export'),
    icon: 'download',
    items: exportItems(app, row.session_id),
  }
  return [
    items.rename,
    items.pin,
    items.move,
    // A host session can be exported once it is imported.
    ...(isHostSession(row) ? [] : [items.share, download]),
    'line',
    items.archive,
    items.delete,
  ]
}
