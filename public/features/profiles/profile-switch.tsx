/** The profile switcher in the sidebar's footer. */
import { Icon } from '../../parts/icon.tsx'
import { MenuButton, type MenuItem } from '../../parts/menu-button.tsx'
import { t } from '../../strings/t.ts'
import { useProfiles, useShell } from '../../contexts.ts'

export const ProfileSwitch = () => {
  const profiles = useProfiles()
  const { route, layout, attempt } = useShell()
  const active = profiles.active.value
  if (!active) return null
  const items = async (): Promise<MenuItem[]> => {
    await attempt(() => profiles.refresh())
    return [
      ...profiles.list.value.map(
        ({ name }): MenuItem => ({
          label: name,
          icon: name === active ? 'check' : 'user',
          run: () => void profiles.switchTo(name),
        }),
      ),
      'line',
      {
        label: t('profiles.manage'),
        icon: 'settings',
        run: () => {
          layout.drawer.value = false
          route.go({ view: 'profiles' })
        },
      },
    ]
  }
  return (
    <MenuButton
      class="foot-item"
      label={t('profiles.switch', { name: active })}
      menuLabel={t('profiles.menu')}
      items={items}
    >
      <Icon name="user" size={16} />
      <span class="foot-name">{active}</span>
      <Icon name="chevron-up" size={14} />
    </MenuButton>
  )
}
