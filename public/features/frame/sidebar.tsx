/** Sidebar: new chat, search, chat list and navigation. */
import { useEffect, useRef } from 'preact/hooks'
import { IconButton } from '../../parts/button.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { may, type Route as Asked } from '../../parts/may.ts'
import { formatKeys } from '../shell/keys.ts'
import type { Route } from '../shell/route.ts'
import { type PlainKey, t } from '../../strings/t.ts'
import { lazy } from '../../parts/lazy.tsx'
import { ProfileSwitch } from '../profiles/profile-switch.tsx'
import { ProjectList } from '../projects/project-list.tsx'
import { SessionList } from '../sessions/session-list.tsx'
import {
  useInbox,
  usePane,
  useSessionActions,
  useSessions,
  useSettings,
  useShell,
  useSidebar,
} from '../../contexts.ts'
import { MenuButton, type MenuItem } from '../../parts/menu-button.tsx'

const ORIGINS = ['', 'any', 'web', 'cli', 'api', 'cron'] as const

const FilterMenu = () => {
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

const SearchField = () => {
  const { layout } = useShell()
  const { search } = useSidebar()
  const ref = useRef<HTMLInputElement>(null)
  const wanted = layout.searchFocus.value
  useEffect(() => {
    if (wanted > 0) ref.current?.focus()
  }, [wanted])
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
      {search.query.value && (
        <IconButton
          icon="close"
          size={14}
          label={t('list.search.clear')}
          onClick={() => {
            search.clear()
            ref.current?.focus()
          }}
        />
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

type NavItem = { icon: IconName; label: PlainKey; route: Route; asks?: Asked }

const NAV: readonly NavItem[] = [
  { icon: 'inbox', label: 'nav.inbox', route: { view: 'inbox' } },
  { icon: 'clock', label: 'nav.tasks', route: { view: 'tasks', task: null } },
  { icon: 'skill', label: 'nav.skills', route: { view: 'skills', skill: null, query: '' } },
  { icon: 'brain', label: 'nav.memory', route: { view: 'memory' }, asks: 'GET /api/memory' },
  { icon: 'chart', label: 'nav.usage', route: { view: 'usage', days: 30 } },
]

const Views = () => {
  const { route: onRoute, layout } = useShell()
  const { view } = onRoute.current.value
  const waiting = useInbox().count.value
  return (
    <nav class="foot-nav" aria-label={t('nav.label')}>
      {NAV.filter(({ asks }) => !asks || may(asks)).map(({ icon, label, route }) => (
        <a
          key={label}
          class="foot-item"
          href={onRoute.hrefOf(route)}
          aria-current={view === route.view ? 'page' : undefined}
          onClick={() => {
            layout.drawer.value = false
          }}
        >
          <Icon name={icon} size={16} />
          <span>{t(label)}</span>
          {route.view === 'inbox' && waiting > 0 && <span class="foot-count">{waiting}</span>}
        </a>
      ))}
    </nav>
  )
}

const Foot = () => {
  const sessions = useSessions()
  const { route, layout } = useShell()
  const count = sessions.archivedCount.value
  const shown = sessions.showArchived.value
  return (
    <footer class="sidebar-foot">
      <Views />
      {count > 0 && (
        <button
          type="button"
          class="foot-item"
          aria-pressed={shown}
          onClick={() => sessions.toggleArchived()}
        >
          <Icon name="archive" size={16} />
          <span>{t(shown ? 'list.archived.hide' : 'list.archived.show')}</span>
          <span class="foot-count">{count}</span>
        </button>
      )}
      <div class="foot-row">
        <ProfileSwitch />
        <a
          class="icon-button"
          href={route.hrefOf({ view: 'settings', section: 'general' })}
          aria-label={t('settings.title')}
          title={t('settings.title')}
          aria-current={route.current.value.view === 'settings' ? 'page' : undefined}
          onClick={() => {
            layout.drawer.value = false
          }}
        >
          <Icon name="settings" size={18} />
        </a>
      </div>
    </footer>
  )
}

/** ComposerBanners "new chat": the way back in for what was exported. */
const Import = () => {
  const actions = useSessionActions()
  const ref = useRef<HTMLInputElement>(null)
  if (!may('POST /api/session/import')) return null
  return (
    <>
      <IconButton icon="upload" label={t('import.action')} onClick={() => ref.current?.click()} />
      <input
        ref={ref}
        type="file"
        accept=".json,application/json"
        hidden
        onChange={event => {
          const [file] = event.currentTarget.files ?? []
          // Allows choosing the same file again.
          event.currentTarget.value = ''
          if (file) void actions.importFile(file)
        }}
      />
    </>
  )
}

export const Sidebar = () => {
  const { layout, route } = useShell()
  const settings = useSettings()
  const pane = usePane()
  const { search, selection } = useSidebar()
  const { mac } = layout
  return (
    <>
      <header class="sidebar-head">
        <a class="brand" href={route.hrefOf({ view: 'chat', sessionId: null })}>
          {settings.current.value.bot_name}
        </a>
        <IconButton
          icon="command"
          label={t('palette.label')}
          keys={formatKeys('mod+k', mac)}
          onClick={() => {
            layout.paletteOpen.value = true
          }}
        />
        <Import />
        <IconButton
          icon="plus"
          asks="POST /api/session/new"
          label={t('chat.new')}
          keys={formatKeys('mod+shift+o', mac)}
          onClick={() => pane.newChat()}
        />
        <IconButton
          icon="sidebar"
          label={t('app.sidebar.hide')}
          keys={formatKeys('mod+b', mac)}
          onClick={() => layout.toggleSidebar()}
        />
      </header>
      <div class="search-line">
        <SearchField />
        <FilterMenu />
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
      <Foot />
    </>
  )
}
