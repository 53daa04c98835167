/** The profile switcher in the sidebar's footer. */
import { useSignal } from '@preact/signals'
import { useCallback, useRef } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { Menu, type MenuItem } from '../../parts/menu-button.tsx'
import { t } from '../../strings/t.ts'
import { useProfiles, useShell } from '../../contexts.ts'

export const ProfileSwitch = () => {
  const profiles = useProfiles()
  const { route, layout, attempt } = useShell()
  const open = useSignal(false)
  const anchor = useRef<HTMLButtonElement>(null)
  const close = useCallback(() => {
    open.value = false
  }, [])
  const active = profiles.active.value
  if (!active) return null

  const show = async () => {
    if (open.value) return close()
    // The menu focuses its first item when it opens, so the list must be loaded.
    await attempt(() => profiles.refresh())
    open.value = true
  }
  const items: MenuItem[] = [
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
  return (
    <>
      <button
        ref={anchor}
        type="button"
        class="foot-item"
        aria-haspopup="menu"
        aria-expanded={open.value}
        aria-label={t('profiles.switch', { name: active })}
        onClick={() => void show()}
      >
        <Icon name="user" size={16} />
        <span class="foot-name">{active}</span>
        <Icon name="chevron-up" size={14} />
      </button>
      {open.value && (
        <Menu
          anchor={anchor}
          label={t('profiles.menu')}
          items={items}
          align="start"
          onClose={close}
        />
      )}
    </>
  )
}
