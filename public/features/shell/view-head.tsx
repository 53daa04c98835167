/** Header of a view other than the chat: sidebar button, title, actions and close button. */
import type { ComponentChildren } from 'preact'
import { IconButton } from '../../parts/button.tsx'
import { t } from '../../strings/t.ts'
import { useShell } from '../../contexts.ts'
import { SidebarButton } from './sidebar-button.tsx'

export const ViewHead = ({ title, children }: { title: string; children?: ComponentChildren }) => {
  const { route } = useShell()
  return (
    <header class="head">
      <SidebarButton />
      <div class="head-title">
        <h1>{title}</h1>
      </div>
      {children}
      <IconButton icon="close" label={t('view.back')} onClick={() => route.backToChat()} />
    </header>
  )
}
