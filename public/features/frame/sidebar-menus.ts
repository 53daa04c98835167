/** The menus of the sidebar: the filter of the list; and at its foot the views that are not needed daily, the settings, and the profiles. */
import type { App } from '../../app.ts'
import type { IconName } from '../../parts/icon.tsx'
import type { Route as Asked } from '../../parts/may.ts'
import type { MenuItem } from '../../parts/menu-button.tsx'
import { t } from '../../strings/t.ts'
import { t as ts } from '../settings/strings.ts'
import { formatKeys } from '../shell/keys.ts'
import type { Route } from '../shell/route.ts'

const ORIGINS = ['', 'any', 'web', 'cli', 'api', 'cron'] as const

export const filterMenu = ({ sessions, sidebar: { filters } }: App): MenuItem[] => {
  const { origin, everyProfile } = filters
  const one = (label: string, checked: boolean, run: () => void): MenuItem => ({
    label,
    icon: 'check',
    checked,
    run,
  })
  return [
    ...ORIGINS.map(each =>
      one(t(`filter.${each || 'all'}`), origin.value === each, () => filters.choose(each)),
    ),
    ...(filters.hasOthers.value || everyProfile.value
      ? [
          'line' as const,
          ...[false, true].map(every =>
            one(t(every ? 'filter.every' : 'filter.own'), everyProfile.value === every, () =>
              filters.showEvery(every),
            ),
          ),
        ]
      : []),
    ...(sessions.archivedCount.value > 0
      ? [
          'line' as const,
          one(t('list.archived.show'), sessions.showArchived.value, () =>
            sessions.toggleArchived(),
          ),
        ]
      : []),
  ]
}

const profileItems = async (
  { profiles, shell }: App,
  active: string,
  go: (route: Route) => void,
): Promise<MenuItem[]> => {
  await shell.attempt(() => profiles.refresh())
  return [
    'line',
    {
      label: t('profiles.switch', { name: active }),
      icon: 'user',
      items: [
        ...profiles.list.value.map(
          ({ name }): MenuItem => ({
            label: name,
            icon: 'check',
            checked: name === active,
            run: () => void profiles.switchTo(name),
          }),
        ),
        'line',
        { label: t('profiles.manage'), icon: 'settings', run: () => go({ view: 'profiles' }) },
      ],
    },
  ]
}

export const profileMenu = async (app: App): Promise<MenuItem[]> => {
  const { layout, route } = app.shell
  const go = (to: Route) => {
    layout.drawer.value = false
    route.go(to)
  }
  const view = (label: string, icon: IconName, to: Route, asks?: Asked): MenuItem => ({
    label,
    icon,
    asks,
    run: () => go(to),
  })
  const active = app.profiles.active.value
  return [
    view(t('nav.tasks'), 'clock', { view: 'tasks', task: null }),
    view(t('nav.skills'), 'skill', { view: 'skills', skill: null, query: '' }),
    view(t('nav.memory'), 'brain', { view: 'memory' }, 'GET /api/memory'),
    view(t('nav.usage'), 'chart', { view: 'usage', days: 30 }),
    view(ts('settings.import'), 'upload', { view: 'import' }, 'POST /api/session/import'),
    'line',
    // On a touch screen there is no key for it.
    {
      label: t('palette.label'),
      icon: 'command',
      keys: formatKeys('mod+k', layout.mac),
      run() {
        layout.paletteOpen.value = true
      },
    },
    {
      ...{ label: t('settings.title'), icon: 'settings' },
      keys: formatKeys('mod+,', layout.mac),
      run: () => go({ view: 'settings', section: 'general' }),
    },
    ...(active ? await profileItems(app, active, go) : []),
  ]
}
