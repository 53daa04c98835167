/** The template of every view outside the chat: a head with title and actions over one column, or over a list and the open item. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { usePane } from '../../contexts.ts'
import { Icon } from '../../parts/icon.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { SidebarButton } from './sidebar-button.tsx'

type HeadProps = { title: string; actions?: ComponentChildren }

const Head = ({ title, actions }: HeadProps) => {
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
  /** Instead of the list and the open item while there is nothing to list. */
  beginning?: ComponentChildren
  children: ComponentChildren
}

export const ListView = (props: ListViewProps) => {
  const { list, listLabel, finder, open, back, beginning, children, ...head } = props
  if (beginning) return <View {...head}>{beginning}</View>
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
