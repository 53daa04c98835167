/** Page frame: sidebar, divider, the view of the current route, and overlays. */
import { render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Divider } from '../../parts/divider.tsx'
import type { Announcements } from '../shell/announcements.ts'
import { ToastList } from './toasts.tsx'
import { SIDEBAR_MAX, SIDEBAR_MIN } from '../shell/layout.ts'
import { t } from '../../strings/t.ts'
import type { Page } from '../../app.ts'
import type { Pane } from '../../pane.ts'
import { ChatView } from '../chat/chat-view.tsx'
import { firstContent } from '../../parts/first-content.ts'
import { HeldKeys } from '../shell/held-keys.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { PanelSlot } from '../panel/panel-slot.tsx'
import { Sidebar } from './sidebar.tsx'
import { may } from '../../parts/may.ts'
import { useChat, useModels, usePanel, useProjects, useShell } from '../../contexts.ts'
import { AppContext } from '../shell/context.ts'

/** Sidebar of a narrow page: a modal dialog, so that focus stays inside and Escape closes it. */
const Drawer = () => {
  const { layout } = useShell()
  const ref = useRef<HTMLDialogElement>(null)
  const close = () => {
    layout.drawer.value = false
  }
  useEffect(() => {
    if (!ref.current?.open) ref.current?.showModal()
  }, [])
  return (
    <dialog
      ref={ref}
      class="drawer sidebar"
      aria-label={t('app.sidebar')}
      onCancel={event => {
        event.preventDefault()
        close()
      }}
      onMouseDown={event => event.target === ref.current && close()}
    >
      <div class="drawer-box">
        <Sidebar />
      </div>
    </dialog>
  )
}

const Side = () => {
  const { layout } = useShell()
  if (layout.narrow.value) return layout.drawer.value ? <Drawer /> : null
  if (!layout.sidebar.value) return null
  return (
    <aside
      class="sidebar"
      aria-label={t('app.sidebar')}
      style={{ width: `${layout.width.value}px` }}
    >
      <Sidebar />
      <Divider
        label={t('app.sidebar.resize')}
        width={layout.width.value}
        min={SIDEBAR_MIN}
        max={SIDEBAR_MAX}
        onResize={layout.resize}
        onReset={layout.resetWidth}
        onCollapse={layout.toggleSidebar}
      />
    </aside>
  )
}

const Overlays = () => {
  const { auth, layout } = useShell()
  const { onboarding } = useModels()
  const projects = useProjects()
  const ask = layout.confirmation.value
  return (
    <>
      {layout.paletteOpen.value && <Palette />}
      {layout.shortcutsOpen.value && <Shortcuts />}
      {onboarding.open.value && <ConnectDialog />}
      {projects.dialog.value && <ProjectDialogs dialog={projects.dialog.value} />}
      {layout.overlay.value}
      {ask && <Confirm key={ask.title} ask={ask} />}
      {auth.open.value && <SignIn />}
    </>
  )
}

const Toasts = () => {
  const { toasts } = useShell()
  return (
    <ToastList
      label={t('toast.region')}
      dismissLabel={t('toast.dismiss')}
      list={toasts.list.value}
      onDismiss={toasts.dismiss}
      onPause={toasts.pauseTimers}
      onResume={toasts.resumeTimers}
    />
  )
}

const loadLate = async () => {
  await firstContent
  return import('./late-frame.ts')
}
const TroubleBar = lazy(async () => (await loadLate()).ConfigProblemBar, true, false)
const ConnectionPill = lazy(async () => (await loadLate()).ConnectionPill, true, false)
const SettingsView = lazy(
  async () => (await import('../settings-view/settings-view.tsx')).SettingsView,
)
const SkillsView = lazy(async () => (await import('../skills/skills-view.tsx')).SkillsView)
const OwnView = lazy(async () => (await import('../own-files/own-view.tsx')).OwnView)
const TasksView = lazy(async () => (await import('../tasks/tasks-view.tsx')).TasksView)
const InboxView = lazy(async () => (await import('../inbox/inbox-view.tsx')).InboxView)
const MemoryView = lazy(async () => (await import('../memory/memory-view.tsx')).MemoryView)
const ProfilesView = lazy(async () => (await import('../profiles/profiles-view.tsx')).ProfilesView)
const ImportView = lazy(async () => (await import('../imports/imports-view.tsx')).ImportView)
const UsageView = lazy(async () => (await import('../usage/usage-view.tsx')).UsageView)

const ConnectDialog = lazy(async () => (await import('../models/connect-view.tsx')).ConnectDialog)
const Palette = lazy(async () => (await import('../palette/palette.tsx')).Palette, HeldKeys)
const SignIn = lazy(async () => (await import('./lazy-overlays.ts')).SignIn, true)
const Confirm = lazy(async () => (await import('./lazy-overlays.ts')).Confirm, true)
const Shortcuts = lazy(async () => (await import('./lazy-overlays.ts')).Shortcuts, true)
const ProjectDialogs = lazy(async () => (await import('./lazy-overlays.ts')).ProjectDialogs, true)

const Dock = lazy(async () => (await loadLate()).Dock, true)

const Second = lazy(async () => (await import('./second-side.tsx')).SecondSide)

/** All of a chat is drawn anew with another one: nothing in it belongs to two. */
export const PaneView = ({ pane }: { pane: Pane }) => (
  <AppContext.Provider value={pane.app.value}>
    <ChatView key={pane.openChat.value.key} />
  </AppContext.Provider>
)

/** The chat, and another one beside it. */
const Chats = ({ app }: { app: Page }) => {
  const { beside, besideActive } = app.shell.route
  const isSplit = beside.value !== null
  return (
    <div class="shell-page">
      <div class={`main${isSplit ? ` side${besideActive.value ? '' : ' side-active'}` : ''}`}>
        <PaneView pane={app.first} />
      </div>
      {isSplit && <Second app={app} />}
    </div>
  )
}

const View = ({ app }: { app: Page }) => {
  const route = useShell().route.current.value
  switch (route.view) {
    case 'settings':
      return <SettingsView section={route.section} />
    case 'skills':
      return route.tab ? (
        <OwnView tab={route.tab} name={route.skill} />
      ) : (
        <SkillsView skill={route.skill} query={route.query} />
      )
    case 'tasks':
      return <TasksView task={route.task} />
    case 'inbox':
      return <InboxView />
    case 'memory':
      return <MemoryView />
    case 'profiles':
      return <ProfilesView />
    case 'import':
      return <ImportView />
    case 'usage':
      return <UsageView days={route.days} />
    default:
      return <Chats app={app} />
  }
}

const Announced = ({ list }: { list: Announcements['list'] }) => (
  <div role="log">
    {list.value.map(({ id, text }) => (
      <p key={id} dir="auto">
        {text}
      </p>
    ))}
  </div>
)

/** In a shadow tree: whatever reads the text of the page finds the sentences of an answer once. */
const Announcer = () => {
  const { announcements } = useShell()
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const tree = host.current!.attachShadow({ mode: 'closed' })
    render(<Announced list={announcements.list} />, tree)
  }, [])
  return <div class="sr-only" ref={host} />
}

const SkipLink = () => {
  const { route } = useShell()
  const chat = route.current.value.view === 'chat'
  return (
    <a class="skip" href={chat ? '#composer' : '#main'}>
      {t(chat ? 'app.skip' : 'app.skip.main')}
    </a>
  )
}

/** Content covered by the workspace sheet is inert while the sheet is open; the terminal dock is below both. */
const Shell = ({ app }: { app: Page }) => {
  const panel = usePanel()
  const { key } = useChat()
  const { route, layout } = useShell()
  const isChat = route.current.value.view === 'chat'
  const isOver = panel.isShown.value && isChat
  const isCovered = panel.overlay.value && isOver
  const isCentered = panel.full.value && isOver && !isCovered
  return (
    <div class="shell">
      <div class="shell-page" inert={isCovered}>
        <main class="main" id="main" tabIndex={-1} inert={isCentered}>
          <TroubleBar />
          <View app={app} />
        </main>
        <Side />
      </div>
      <PanelSlot key={key} />
      {isChat && layout.dock.value !== 'closed' && may('POST /api/terminal/open') && <Dock />}
    </div>
  )
}

/** Beside the sheet, never on its field for a commit; at the bottom where no message is written. */
const Corner = () => {
  const panel = usePanel()
  const { route } = useShell()
  const isChat = route.current.value.view === 'chat'
  const isOpen = panel.isShown.value && isChat
  const isBeside = isOpen && !panel.overlay.value && !panel.full.value
  const isLow = !isChat || (isOpen && !isBeside)
  return (
    <div
      class={isLow ? 'corner corner-low' : 'corner'}
      style={isBeside ? { insetInlineEnd: `${panel.width.value + 16}px` } : undefined}
    >
      <ConnectionPill />
      <Toasts />
    </div>
  )
}

export const PageFrame = ({ app }: { app: Page }) => (
  <>
    <SkipLink />
    <Shell app={app} />
    <Corner />
    <Announcer />
    <Overlays />
  </>
)
