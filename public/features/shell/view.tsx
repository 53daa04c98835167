/** The template of every view outside the chat: a head with title and actions over one column, or over a list and the open item. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { usePane, useShell } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { t } from '../../strings/t.ts'
import { SidebarButton } from './sidebar-button.tsx'

type HeadProps = { title: string; actions?: ComponentChildren }

const Head = ({ title, actions }: HeadProps) => {
  const { route, layout } = useShell()
  const { viewTitle } = usePane()
  useEffect(() => {
    viewTitle.value = title
    return () => {
      viewTitle.value = ''
    }
  }, [title])
  return (
    <header class="head">
      <SidebarButton />
      <div class="head-title">
        <h1>{title}</h1>
      </div>
      {actions}
      {/* Elsewhere the sidebar is the way on: a view is no dialog. */}
      {layout.narrow.value && (
        <IconButton icon="close" label={t('view.back')} onClick={() => route.backToChat()} />
      )}
    </header>
  )
}

export type ViewProps = HeadProps & {
  /** One line below the head. */
  lead?: string
  /** Navigation beside the column, above it on a narrow page. */
  side?: ComponentChildren
  children: ComponentChildren
}

export const View = ({ lead, side, children, ...head }: ViewProps) => (
  <>
    <Head {...head} />
    <ScrollBox class="view-scroll" label={head.title}>
      <div class={`view-column${side ? ' view-sided' : ''}`}>
        {side}
        {lead && <p class="view-lead">{lead}</p>}
        {children}
      </div>
    </ScrollBox>
  </>
)

export type ListViewProps = HeadProps & {
  list: ComponentChildren
  /** Name of the list. */
  listLabel: string
  /** Above the list, outside of what scrolls. */
  finder?: ComponentChildren
  /** An item is open: on a narrow page it replaces the list. */
  open: boolean
  /** The link from the open item to the list, shown on a narrow page. */
  back: { href: string; label: string } | null
  children: ComponentChildren
}

export const ListView = (props: ListViewProps) => {
  const { list, listLabel, finder, open, back, children, ...head } = props
  return (
    <>
      <Head {...head} />
      <div class={`pair${open ? ' pair-shown' : ''}`}>
        <nav class="pair-list" aria-label={listLabel}>
          {finder}
          <ScrollBox class="view-scroll" label={listLabel}>
            {list}
          </ScrollBox>
        </nav>
        <div class="pair-main">
          {back && (
            <a class="pair-back" href={back.href}>
              <Icon name="chevron-right" size={16} />
              {back.label}
            </a>
          )}
          <ScrollBox class="view-scroll" label={head.title}>
            <div class="view-column">{children}</div>
          </ScrollBox>
        </div>
      </div>
    </>
  )
}
