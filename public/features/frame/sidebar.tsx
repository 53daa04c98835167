/** Sidebar: new chat, search, inbox, chat list, and the menu of the profile. */
import { useEffect, useRef } from 'preact/hooks'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { formatKeys } from '../shell/keys.ts'
import { t } from '../../strings/t.ts'
import { lazy } from '../../parts/lazy.tsx'
import { useApp } from '../shell/context.ts'
import { ProjectList } from '../projects/project-list.tsx'
import { SessionList } from '../sessions/session-list.tsx'
import {
  useInbox,
  usePane,
  useProfiles,
  useSessions,
  useSettings,
  useShell,
  useSidebar,
} from '../../contexts.ts'
import { lateItems } from '../shell/late-items.ts'
import { MenuButton } from '../../parts/menu-button.tsx'

const FilterMenu = () => {
  const app = useApp()
  const sessions = useSessions()
  const { filters } = useSidebar()
  const { origin } = filters
  const isNarrowed = filters.narrowed.value || filters.mixed.value || sessions.showArchived.value
  // An empty list needs no filter. While it loads, the place is kept.
  const isEmpty = sessions.state.value === 'ready' && sessions.rows.value.length === 0
  if (isEmpty && !isNarrowed) return null
  return (
    <MenuButton
      icon="filter"
      class={isNarrowed ? 'filter-on' : ''}
      label={t(filters.narrowed.value ? 'filter.on' : 'filter.title', {
        origin: t(`filter.${origin.value || 'all'}`),
      })}
      items={() =>
        lateItems(app.shell, async () => (await import('./sidebar-menus.ts')).filterMenu(app))
      }
    />
  )
}

const SearchField = () => {
  const { layout } = useShell()
  const { search } = useSidebar()
  const ref = useRef<HTMLInputElement>(null)
  const focusCount = layout.searchFocus.value
  useEffect(() => {
    if (focusCount > 0) ref.current?.focus()
  }, [focusCount])
  return (
    <search class="search">
      <Icon name="search" size={16} />
      <input
        ref={ref}
        type="text"
        aria-label={t('list.search')}
        placeholder={t('app.search')}
        autocomplete="off"
        value={search.query.value}
        onInput={event => search.set(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'ArrowDown') {
            event.preventDefault()
            document.querySelector<HTMLElement>('.result, .session-link[tabindex="0"]')?.focus()
          }
          if (event.key !== 'Escape') return
          event.stopPropagation()
          search.clear()
        }}
      />
      {search.query.value ? (
        <IconButton
          icon="close"
          size={14}
          label={t('list.search.clear')}
          onClick={() => {
            search.clear()
            ref.current?.focus()
          }}
        />
      ) : (
        // The palette searches the same chats, and everything else.
        <kbd>{formatKeys('mod+k', layout.mac)}</kbd>
      )}
    </search>
  )
}

const Results = lazy(
  async () => (await import('../sessions/search-results.tsx')).SearchResults,
  true,
)

const SelectionBar = lazy(
  async () => (await import('../sessions/selection-bar.tsx')).SelectionBar,
  true,
)

const NewChat = () => {
  const { layout } = useShell()
  const pane = usePane()
  if (!may('POST /api/session/new')) return null
  return (
    <button
      type="button"
      class="foot-item"
      title={`${t('chat.new')} (${formatKeys('mod+shift+o', layout.mac)})`}
      onClick={() => pane.newChat()}
    >
      <Icon name="plus" size={16} />
      <span>{t('chat.new')}</span>
    </button>
  )
}

const Inbox = () => {
  const { route, layout } = useShell()
  const waiting = useInbox().count.value
  return (
    <a
      class="foot-item"
      href={route.hrefOf({ view: 'inbox' })}
      aria-current={route.current.value.view === 'inbox' ? 'page' : undefined}
      onClick={() => {
        layout.drawer.value = false
      }}
    >
      <Icon name="inbox" size={16} />
      <span>{t('nav.inbox')}</span>
      {waiting > 0 && <span class="foot-count">{waiting}</span>}
    </a>
  )
}

/** Everything that is not needed daily, behind the name of the profile. */
const ProfileMenu = () => {
  const app = useApp()
  const active = useProfiles().active.value
  return (
    <footer class="sidebar-foot">
      <MenuButton
        class="foot-item"
        label={active ? t('profiles.switch', { name: active }) : t('settings.title')}
        items={() =>
          lateItems(app.shell, async () => (await import('./sidebar-menus.ts')).profileMenu(app))
        }
      >
        <Icon name="user" size={16} />
        <span class="foot-name">{active || t('settings.title')}</span>
        <Icon name="chevron-up" size={14} />
      </MenuButton>
    </footer>
  )
}

export const Sidebar = () => {
  const { layout, route } = useShell()
  const settings = useSettings()
  const { search, selection } = useSidebar()
  const name = settings.current.value.bot_name
  return (
    <>
      <header class="sidebar-head">
        {may('POST /api/session/new') ? (
          <span class="brand">{name}</span>
        ) : (
          // Without "New chat", the way back to the first view.
          <a class="brand" href={route.hrefOf({ view: 'chat', sessionId: null })}>
            {name}
          </a>
        )}
        <IconButton
          icon="sidebar"
          label={t('app.sidebar.hide')}
          keys={formatKeys('mod+b', layout.mac)}
          onClick={() => layout.toggleSidebar()}
        />
      </header>
      <div class="sidebar-top">
        <NewChat />
        <div class="search-line">
          <SearchField />
          <FilterMenu />
        </div>
        <Inbox />
      </div>
      {search.query.value.trim() ? (
        <Results />
      ) : (
        <>
          <ProjectList />
          {selection.ids.value.size > 0 && <SelectionBar />}
          <SessionList />
        </>
      )}
      <ProfileMenu />
    </>
  )
}
