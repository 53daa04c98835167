/** Menu of a session, used in the sidebar and in the chat header. */
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { App } from '../../app.ts'
import { formatKeys } from '../shell/keys.ts'
import type { MenuItem } from '../../parts/menu-button.tsx'
import { isHostSession } from './host-session.ts'
import { t } from './menu-strings.ts'

const find = (app: App): MenuItem => ({
  label: t('keys.find'),
  icon: 'search',
  keys: formatKeys('mod+f', app.shell.layout.mac),
  run: () => {
    app.shell.layout.findOpen.value = true
  },
})

/** Tools can be customized for the open chat only. */
const tools = (app: App): MenuItem => ({
  label: t('row.tools'),
  icon: 'wrench',
  asks: 'POST /api/session/toolsets',
  run: () => app.shell.route.go({ view: 'settings', section: 'tools' }),
})

export const sessionMenu = (app: App, row: SessionRow, rename: () => void): MenuItem[] => {
  const id = row.session_id
  const isOpen = id === app.chat.transcript.sessionId.value
  // Host sessions can't be exported or cleared before they are imported.
  const isOurs = !isHostSession(row)
  const formats: MenuItem[] = (['md', 'json', 'html'] as const).map(format => ({
    label: t(`row.export.${format}`),
    icon: 'download',
    run: () => app.sessionActions.exportAs(id, format),
  }))
  const share: MenuItem = {
    label: t('row.share'),
    icon: 'link',
    asks: 'POST /api/shares/create',
    run: () =>
      void app.shell.attempt(async () =>
        (await import('../shares/share-dialog.tsx')).openShare(app, id),
      ),
  }
  const mute: MenuItem = {
    label: t('row.notify'),
    icon: 'bell',
    asks: 'POST /api/notifications/mute',
    run: () =>
      void app.shell.attempt(async () =>
        (await import('../notifications/mute.ts')).askMute(app, id),
      ),
  }
  const clear: MenuItem = {
    label: t('row.clear'),
    icon: 'undo',
    asks: 'POST /api/session/clear',
    run: () => app.sessionActions.confirmClear(id),
  }
  const more: MenuItem[] = [
    {
      label: t('row.duplicate'),
      icon: 'duplicate',
      asks: 'POST /api/session/duplicate',
      run: () => void app.sessionActions.duplicate(id),
    },
    {
      label: t('row.branch'),
      icon: 'branch',
      asks: 'POST /api/session/branch',
      run: () => void app.sessionActions.branch(id),
    },
    ...(isOurs ? [mute] : []),
    ...(isOpen ? [tools(app)] : []),
    'line',
    ...(isOurs ? [clear] : []),
    {
      label: t('row.delete.permanent'),
      icon: 'trash',
      danger: true,
      asks: 'POST /api/session/purge',
      run: () => app.sessionActions.confirmDeletePermanently(id),
    },
  ]
  const beside: MenuItem = {
    label: t('row.beside'),
    icon: 'panel',
    run: () => app.shell.route.openBeside(id),
  }
  return [
    ...(app.shell.route.isOpen(id) ? [] : [beside]),
    {
      label: t('row.rename'),
      icon: 'edit',
      keys: 'F2',
      asks: 'POST /api/session/rename',
      run: rename,
    },
    {
      label: t(row.pinned ? 'row.unpin' : 'row.pin'),
      icon: 'pin',
      asks: 'POST /api/session/pin',
      run: () => void app.sessions.pin(id, !row.pinned),
    },
    {
      label: t('projects.move'),
      icon: 'folder',
      asks: 'POST /api/session/move',
      run: () => app.projects.openMove(id),
    },
    {
      label: t(row.archived ? 'row.unarchive' : 'row.archive'),
      icon: 'archive',
      asks: 'POST /api/session/archive',
      run: () => void app.sessionActions.archive(id, !row.archived),
    },
    ...(isOpen ? [find(app)] : []),
    'line',
    ...(isOurs
      ? [share, { label: t('row.export'), icon: 'download' as const, items: formats }]
      : []),
    { label: t('row.more'), icon: 'more', items: more },
    'line',
    {
      label: t('row.delete'),
      icon: 'trash',
      keys: 'Del',
      asks: 'POST /api/session/delete',
      run: () => void app.sessionActions.remove(id),
    },
  ]
}
