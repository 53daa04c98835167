/** Header of a view other than the chat: sidebar button, title, actions and close button. */
import type { ComponentChildren } from 'preact'
import { formatKeys } from './keys.ts'
import { IconButton } from '../../parts/button.tsx'
import { t } from '../../strings/t.ts'
import { useShell } from '../../contexts.ts'

export const ViewHead = ({ title, children }: { title: string; children?: ComponentChildren }) => {
  const { layout, route } = useShell()
  const sidebarHidden = layout.narrow.value ? !layout.drawer.value : !layout.sidebar.value
  return (
    <header class="head">
      {sidebarHidden && (
        <IconButton
          icon={layout.narrow.value ? 'menu' : 'sidebar'}
          label={t('app.sidebar.show')}
          keys={formatKeys('mod+b', layout.mac)}
          onClick={() => layout.toggleSidebar()}
        />
      )}
      <div class="head-title">
        <h1>{title}</h1>
      </div>
      {children}
      <IconButton icon="close" label={t('view.back')} onClick={() => route.backToChat()} />
    </header>
  )
}
