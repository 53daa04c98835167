/** Button that shows the sidebar, in the header of every view while the sidebar is hidden. */
import { useShell } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import { t } from '../../strings/t.ts'
import { formatKeys } from './keys.ts'

export const SidebarButton = () => {
  const { layout } = useShell()
  return layout.sidebarShown.value ? null : (
    <IconButton
      icon={layout.narrow.value ? 'menu' : 'sidebar'}
      label={t('app.sidebar.show')}
      keys={formatKeys('mod+b', layout.mac)}
      onClick={() => layout.toggleSidebar()}
    />
  )
}
