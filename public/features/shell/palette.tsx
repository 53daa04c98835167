/** Command palette (⌘K): chats, actions and models. */
import { useSignal } from '@preact/signals'
import type { App } from '../../app.ts'
import { formatKeys } from './keys.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Picker, type PickerGroup, type PickerOption } from '../../parts/picker.tsx'
import { matchModels } from '../models/models.ts'
import { titleOf } from '../sessions/sessions.ts'
import { THEMES } from '../settings/settings.ts'
import { t } from '../../strings/t.ts'
import { formatAgo } from '../sessions/relative-time.ts'
import { useApp } from './context.ts'

type Action = PickerOption & { run: () => unknown }

const MAX_RESULTS = 8

const actionsOf = (app: App): Action[] => {
  const { layout, route, settings } = app
  const keys = (text: string) => formatKeys(text, layout.mac)
  const id = route.sessionId.value
  const row = app.sessions.row(id)
  const own: Action[] = row
    ? [
        {
          id: 'pin',
          icon: 'pin',
          label: t(row.pinned ? 'row.unpin' : 'row.pin'),
          run: () => app.sessions.pin(row.session_id, !row.pinned),
        },
        {
          id: 'branch',
          icon: 'branch',
          label: t('row.branch'),
          run: () => app.branch(row.session_id),
        },
        {
          id: 'export',
          icon: 'download',
          label: t('row.export.md'),
          run: () => app.exportAs(row.session_id, 'md'),
        },
        {
          id: 'delete',
          icon: 'trash',
          label: t('row.delete'),
          run: () => app.remove(row.session_id),
        },
      ]
    : []
  return [
    { id: 'new', icon: 'plus', label: t('chat.new'), keys: keys('mod+shift+o'), run: app.newChat },
    {
      id: 'settings',
      icon: 'settings',
      label: t('palette.settings'),
      keys: keys('mod+,'),
      run: () => route.go({ view: 'settings', section: 'general' }),
    },
    {
      id: 'profiles',
      icon: 'user',
      label: t('profiles.manage'),
      run: () => route.go({ view: 'profiles' }),
    },
    {
      id: 'project',
      icon: 'folder',
      label: t('projects.new'),
      run: () => app.openProjectDialog(null),
    },
    {
      id: 'sidebar',
      icon: 'sidebar',
      label: t('keys.sidebar'),
      keys: keys('mod+b'),
      run: layout.toggleSidebar,
    },
    {
      id: 'keys',
      icon: 'info',
      label: t('keys.title'),
      keys: '?',
      run: () => {
        layout.shortcutsOpen.value = true
      },
    },
    ...own,
    ...THEMES.map(
      (name): Action => ({
        id: `theme-${name}`,
        icon: 'sun',
        label: t('palette.theme', { name: t(`theme.${name}`) }),
        run: () => settings.save('theme', name),
      }),
    ),
  ]
}

export const Palette = () => {
  const app = useApp()
  const query = useSignal('')
  const needle = query.value.trim().toLowerCase()
  const close = () => {
    app.layout.paletteOpen.value = false
  }

  const actions = actionsOf(app).filter(({ label, id }) =>
    needle ? label.toLowerCase().includes(needle) : !id.startsWith('theme-'),
  )
  const rows = app.sessions.profileRows.value
    .filter(row => !row.archived && titleOf(row).toLowerCase().includes(needle))
    .slice(0, MAX_RESULTS)
  const models = needle ? matchModels(app.models.all.value, needle).slice(0, MAX_RESULTS) : []

  const runs = new Map<string, () => unknown>()
  const group = (label: string, prefix: string, list: readonly Action[]): PickerGroup => ({
    label,
    options: list.map(({ run, ...option }) => {
      const id = `${prefix}:${option.id}`
      runs.set(id, run)
      return { ...option, id }
    }),
  })
  const sessions: Action[] = rows.map(row => ({
    id: row.session_id,
    label: titleOf(row),
    hint: formatAgo(row.updated_at, app.sessions.now.value),
    run: () => app.route.openSession(row.session_id),
  }))
  const choices: Action[] = models.map(model => ({
    id: model.id,
    label: model.label,
    icon: 'model',
    hint: model.provider,
    run: () => app.chooseModel(model.id),
  }))
  const groups = [
    group(t('palette.sessions'), 'session', sessions),
    group(t('palette.actions'), 'action', actions),
    group(t('palette.models'), 'model', choices),
  ]

  return (
    <Dialog title={t('palette.label')} kind="palette" bare onClose={close}>
      <Picker
        label={t('palette.label')}
        placeholder={t('palette.placeholder')}
        groups={groups}
        empty={t('app.nothing')}
        query={query.value}
        onQuery={text => {
          query.value = text
        }}
        onPick={id => {
          close()
          void app.attempt(async () => runs.get(id)?.())
        }}
      />
    </Dialog>
  )
}
