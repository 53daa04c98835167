/** The workspace panel: the Files and Changes tabs and the background processes. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Button, IconButton } from '../../parts/button.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { may } from '../../parts/may.ts'
import { formatKeys } from '../shell/keys.ts'
import type { Tab } from './panel.ts'
import { followChat, workspacePanelOf } from './workspace-panel.ts'
import { t } from '../workspace/strings.ts'
import { useApp } from '../shell/context.ts'
import { ProcessesView } from './processes-view.tsx'
import { ChangesView } from './changes-view.tsx'
import { FilesView } from './files-view.tsx'
import { WorkspacePanelContext } from './context.ts'
import { useChat, usePanel, useShell, useWorkspaces } from '../../contexts.ts'

const TABS: readonly Tab[] = ['files', 'changes', 'terminal']
/** Without the terminal for those who may not open one. */
const shownTabs = () => TABS.filter(tab => tab !== 'terminal' || may('POST /api/terminal/open'))

const Terminals = lazy(async () => (await import('./terminal-view.tsx')).TerminalView)

const PastFiles = lazy(async () => (await import('../time-travel/past-files.tsx')).PastFiles)

const Tabs = ({ count }: { count: number }) => {
  const panel = usePanel()
  const ref = useRef<HTMLDivElement>(null)
  const tabs = shownTabs()
  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 }
    const step = steps[event.key]
    if (!step) return
    event.preventDefault()
    const at = (tabs.indexOf(panel.tab.value) + step + tabs.length) % tabs.length
    panel.choose(tabs[at]!)
    ref.current?.querySelectorAll<HTMLElement>('[role="tab"]')[at]?.focus()
  }
  return (
    <div ref={ref} class="panel-tabs" role="tablist" aria-label={t('panel.tabs')}>
      {tabs.map(tab => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`panel-tab-${tab}`}
          class="panel-tab"
          aria-selected={panel.tab.value === tab}
          aria-controls="panel-body"
          tabIndex={panel.tab.value === tab ? 0 : -1}
          onKeyDown={move}
          onClick={() => panel.choose(tab)}
        >
          {t(`panel.${tab}`)}
          {tab === 'changes' && count > 0 && <span class="panel-count">{count}</span>}
        </button>
      ))}
    </div>
  )
}

/** Files are read through a session, so without one there is nothing to show. */
const NoSession = () => {
  const workspaces = useWorkspaces()
  const { choices } = useChat()
  const { attempt } = useShell()
  const workspace = workspaces.nameOf(choices.choice.value.workspace || workspaces.last.value)
  return (
    <div class="panel-blank">
      <h3>{t('panel.none.title')}</h3>
      <p>{t('panel.none.text', { workspace })}</p>
      <Button
        asks="POST /api/session/new"
        icon="folder"
        onClick={() => void attempt(() => choices.ensureSession())}
      >
        {t('panel.none.begin')}
      </Button>
    </div>
  )
}

const Body = () => {
  const panel = usePanel()
  if (panel.past.value) return <PastFiles />
  if (panel.tab.value === 'terminal' && may('POST /api/terminal/open')) return <Terminals />
  return panel.tab.value !== 'changes' ? <FilesView /> : <ChangesView />
}

type FrameProps = { count?: number; onRefresh?: () => void; children: ComponentChildren }

const Frame = ({ count = 0, onRefresh, children }: FrameProps) => {
  const panel = usePanel()
  const { layout } = useShell()
  return (
    <>
      <header class="panel-head">
        <h2 class="sr-only">{t('panel.label')}</h2>
        <Tabs count={count} />
        {onRefresh && (
          <IconButton icon="refresh" size={16} label={t('files.refresh')} onClick={onRefresh} />
        )}
        <IconButton
          icon="close"
          size={16}
          label={t('panel.hide')}
          keys={formatKeys('mod+shift+e', layout.mac)}
          onClick={() => panel.hide()}
        />
      </header>
      <div
        class="panel-body"
        id="panel-body"
        role="tabpanel"
        aria-labelledby={`panel-tab-${panel.tab.value}`}
      >
        {children}
      </div>
    </>
  )
}

const SessionPanel = () => {
  const app = useApp()
  const workspace = workspacePanelOf(app)
  useLayoutEffect(() => followChat(app, workspace), [workspace])

  // Another program may have changed files while the tab was hidden.
  useEffect(() => {
    const seen = () => {
      if (!document.hidden) workspace.refresh()
    }
    document.addEventListener('visibilitychange', seen)
    return () => document.removeEventListener('visibilitychange', seen)
  }, [workspace])

  return (
    <WorkspacePanelContext.Provider value={workspace}>
      <Frame count={workspace.changes.count.value} onRefresh={() => workspace.refresh()}>
        <Body />
      </Frame>
      <ProcessesView />
    </WorkspacePanelContext.Provider>
  )
}

export const WorkspacePanelView = () => {
  const { transcript: chat } = useChat()
  return chat.sessionId.value ? (
    <SessionPanel />
  ) : (
    <Frame>
      <NoSession />
    </Frame>
  )
}
