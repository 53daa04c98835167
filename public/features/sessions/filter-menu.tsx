/** Menu that filters the session list by source and profile. */
import { MenuButton, type MenuItem } from '../../parts/menu-button.tsx'
import { t } from '../../strings/t.ts'
import { useSidebar } from '../../contexts.ts'

const ORIGINS = ['', 'any', 'web', 'cli', 'api', 'cron'] as const

export const FilterMenu = () => {
  const { filters } = useSidebar()
  const { origin, everyProfile } = filters
  const one = (label: string, checked: boolean, run: () => void): MenuItem => ({
    label,
    icon: 'check',
    checked,
    run,
  })
  const profiles = (): MenuItem[] => [
    'line',
    ...[false, true].map(every =>
      one(t(every ? 'filter.every' : 'filter.own'), everyProfile.value === every, () =>
        filters.showEvery(every),
      ),
    ),
  ]
  return (
    <MenuButton
      icon="filter"
      class={filters.narrowed.value || filters.mixed.value ? 'filter-on' : ''}
      label={t(filters.narrowed.value ? 'filter.on' : 'filter.title', {
        origin: t(`filter.${origin.value || 'all'}`),
      })}
      items={() => [
        ...ORIGINS.map(each =>
          one(t(`filter.${each || 'all'}`), origin.value === each, () => filters.choose(each)),
        ),
        ...(filters.hasOthers.value || everyProfile.value ? profiles() : []),
      ]}
    />
  )
}
