/** The workspace sheet: Files and Changes, beside the chat or in its place, and the background processes. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Button, IconButton } from '../../parts/button.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { formatKeys } from '../shell/keys.ts'
import type { Tab } from './panel.ts'
import { followChat, workspacePanelOf } from './workspace-panel.ts'
import { t as tPage } from '../../strings/t.ts'
import { t } from '../workspace/strings.ts'
import { useApp } from '../shell/context.ts'
import { ProcessesView } from './processes-view.tsx'
import { ChangesView } from './changes-view.tsx'
import { FilesView } from './files-view.tsx'
import { WorkspacePanelContext } from './context.ts'
import { useChat, usePanel, useShell, useWorkspaces } from '../../contexts.ts'

const TABS: readonly Tab[] = ['files', 'changes']

const PastFiles = lazy(async () => (await import('../time-travel/past-files.tsx')).PastFiles)

const Tabs = ({ count }: { count: number }) => {
  const panel = usePanel()
  const ref = useRef<HTMLDivElement>(null)
  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 }
    const step = steps[event.key]
    if (!step) return
    event.preventDefault()
    const at = (TABS.indexOf(panel.tab.value) + step + TABS.length) % TABS.length
    panel.choose(TABS[at]!)
    ref.current?.querySelectorAll<HTMLElement>('[role="tab"]')[at]?.focus()
  }
  return (
    <div ref={ref} class="panel-tabs" role="tablist" aria-label={t('panel.tabs')}>
      {TABS.map(tab => (
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
  return panel.tab.value !== 'changes' ? <FilesView /> : <ChangesView />
}

/** Wherever the focus is, unless something else there is for Escape to end. */
const useEscape = () => {
  const { full } = usePanel()
  const isFull = full.value
  useEffect(() => {
    if (!isFull) return
    const onKeyDown = (event: KeyboardEvent) => {
      const isOther = (event.target as Element).closest('input, textarea, dialog, .editor, .dock')
      if (event.key !== 'Escape' || event.defaultPrevented || isOther) return
      event.preventDefault()
      full.value = false
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [isFull])
}

type FrameProps = { count?: number; onRefresh?: () => void; children: ComponentChildren }

const Frame = ({ count = 0, onRefresh, children }: FrameProps) => {
  const panel = usePanel()
  const { layout } = useShell()
  // In the place of the chat it is what the page is about.
  const isMain = panel.full.value && !panel.overlay.value
  useEscape()
  return (
    <>
      <header class="panel-head">
        {isMain && <h1 class="sr-only">{t('panel.label')}</h1>}
        <h2 class="sr-only">{t(isMain ? `panel.${panel.tab.value}` : 'panel.label')}</h2>
        <Tabs count={count} />
        <IconButton
          icon="terminal"
          size={16}
          asks="POST /api/terminal/open"
          label={t('panel.terminal')}
          keys={formatKeys('ctrl+`', layout.mac)}
          aria-pressed={layout.dock.value !== 'closed'}
          onClick={() => {
            layout.setDock(layout.dock.value === 'closed' ? 'asked' : 'closed')
            if (panel.overlay.value) panel.hide()
          }}
        />
        {onRefresh && (
          <IconButton icon="refresh" size={16} label={t('files.refresh')} onClick={onRefresh} />
        )}
        {!layout.narrow.value && (
          <IconButton
            class="panel-expand"
            icon={panel.full.value ? 'shrink' : 'expand'}
            size={16}
            label={t(panel.full.value ? 'panel.beside' : 'panel.center')}
            onClick={() => {
              panel.full.value = !panel.full.value
            }}
          />
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
  const { value: state } = chat.state
  // Its workspace is named by the chat.
  if (state === 'missing' || state === 'failed')
    return (
      <Frame>
        <p class="panel-note">{tPage(`chat.${state}.title`)}</p>
      </Frame>
    )
  return chat.sessionId.value ? (
    <SessionPanel />
  ) : (
    <Frame>
      <NoSession />
    </Frame>
  )
}

/** A modal sheet: takes the focus, restores it, and closes on Escape or an outside click. */
export const Sheet = () => {
  const panel = usePanel()
  const ref = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const before = panel.opener.value
    ref.current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape and the close button do the same by keyboard */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Escape and the close button do the same by keyboard */}
      <div class="panel-scrim" onClick={() => panel.hide()} />
      <section
        ref={ref}
        class={panel.full.value ? 'panel panel-sheet panel-whole' : 'panel panel-sheet'}
        role="dialog"
        aria-modal="true"
        aria-label={t('panel.label')}
        tabIndex={-1}
        onKeyDown={event => {
          if (event.key !== 'Escape' || event.defaultPrevented) return
          event.stopPropagation()
          panel.hide()
        }}
      >
        <WorkspacePanelView />
      </section>
    </>
  )
}
