/** The state of the workspace panel (file tree, open file, git, changes by turn, processes), and keeping it in sync with the page. */
import { batch, effect, type ReadonlySignal, type Signal, untracked } from '@preact/signals'
import { urlOf } from '../../api.ts'
import type { Attachments } from '../composer/attachments.ts'
import { createProcesses, type Processes } from './processes.ts'
import { createGitChanges, type GitChanges } from './git-changes.ts'
import { createFileTree, type FileTree } from './file-tree.ts'
import { createFileUploads } from './file-uploads.ts'
import type { Layout } from '../shell/layout.ts'
import type { OpenChat } from '../chat/open-chat.ts'
import { formatTarget, insideWorkspace, type Target } from './panel.ts'
import type { Platform } from '../../platform.ts'
import { createOpenFile, type OpenFile } from './open-file.ts'
import { fileQuery, type RouteState } from '../shell/route.ts'
import type { Toasts } from '../shell/toast.ts'
import { type TurnChanges, turnChangesOf } from './turn-changes.ts'
import { t } from './strings.ts'

export type WorkspacePanelOptions = {
  platform: Platform
  chat: Pick<OpenChat, 'details' | 'busy'>
  attachments: Pick<Attachments, 'arrived'>
  panel: {
    target: Signal<Target | null>
    shown: ReadonlySignal<boolean>
    rollback: Signal<number>
    turns: Signal<TurnChanges | null>
    contents: Signal<{ refresh: () => void } | null>
    openFile: (path: string) => void
  }
  route: RouteState
  toasts: Toasts
  layout: Pick<Layout, 'confirmation'>
  navigate: (url: string, options?: { download?: boolean }) => void
}

type Parts = {
  files: FileTree
  changes: GitChanges
  turns: TurnChanges
  processes: Processes
  openFile: OpenFile
  refresh: () => void
}

/** Follows the open session, the panel, the running turn and the URL. Returns the effects' disposers. */
const syncWithPage = (app: WorkspacePanelOptions, parts: Parts): (() => void)[] => {
  const { chat, panel, attachments, route, toasts } = app
  const { files, changes, turns, processes, openFile, refresh } = parts
  const current = { session: '', workspace: '' }
  const turn = { running: false }

  const undoRequested = (): void => {
    const { value: number } = panel.rollback
    panel.rollback.value = 0
    if (number > 0) turns.undoNumber(number)
  }

  return [
    // Another session, or another workspace for this one: load its tree.
    effect(() => {
      const session = chat.details.value?.session_id ?? ''
      const workspace = chat.details.value?.workspace ?? ''
      if (!session || session !== route.sessionId.value) return
      untracked(() => {
        const moved = current.session === session && current.workspace !== workspace
        Object.assign(current, { session, workspace })
        batch(() => {
          openFile.show(session)
          if (moved) {
            void files.show('')
            void changes.show('')
          }
          void files.show(session)
          void changes.show(session)
          void processes.show(session)
          void turns.show(session).then(undoRequested)
        })
      })
    }),
    // Opens the file a link asks for.
    effect(() => {
      const target = panel.target.value
      const session = chat.details.value?.session_id
      if (!target || !session || session !== route.sessionId.value) return
      untracked(() => {
        panel.target.value = null
        if (target.text !== undefined) return openFile.open(target)
        const path = insideWorkspace(chat.details.value?.workspace ?? '', target.path)
        if (path === null) toasts.show(t('files.outside', { path: target.path }), { kind: 'error' })
        else if (target.isDirectory) void files.reveal(path, true)
        else if (path) {
          openFile.open({ ...target, path })
          void files.reveal(path)
        }
      })
    }),
    // At the end of a turn: the agent may have changed anything.
    effect(() => {
      const running = chat.busy.value
      if (turn.running && !running) untracked(refresh)
      turn.running = running
    }),
    // `/rollback 2` while the panel is open.
    effect(() => {
      if (panel.rollback.value > 0 && turns.state.value === 'ready') untracked(undoRequested)
    }),
    // Polling stops while the panel is closed.
    effect(() => {
      if (panel.shown.value) untracked(() => void processes.load())
    }),
    // An attachment was uploaded into the workspace.
    effect(() => {
      if (attachments.arrived.value.size === 0) return
      untracked(() => {
        void files.load('')
        void changes.load()
      })
    }),
    // The URL names the open file, for reloads and copied links.
    effect(() => {
      const doc = openFile.doc.value
      const { value: at } = route.current
      if (at.view !== 'chat' || !at.sessionId) return
      const isShown = panel.shown.value && doc?.sessionId === at.sessionId && !doc.isAnswer
      route.replaceFile(isShown ? formatTarget(doc) : null)
    }),
  ]
}

export const createWorkspacePanel = (app: WorkspacePanelOptions) => {
  const { platform, panel, route, toasts, layout, navigate } = app
  const { base } = platform
  const changes = createGitChanges(platform)
  const openFile = createOpenFile({
    platform,
    toasts,
    ask: question => {
      layout.confirmation.value = question
    },
    onSaved: () => void changes.load(),
  })
  const files = createFileTree({
    platform,
    toasts,
    onMoved: (from, to) => openFile.moved(from, to),
    onChanged: () => void changes.load(),
  })
  const uploads = createFileUploads({
    platform,
    toasts,
    sessionId: () => files.sessionId.value,
    onArrived(directory) {
      void files.load(directory)
      void changes.load()
    },
  })

  const turns = turnChangesOf(app)
  const processes = createProcesses({
    platform,
    toasts,
    isShown: () => panel.shown.value,
  })

  const refresh = (): void => {
    void files.reload()
    void changes.load()
    void turns.load()
    void processes.load()
    void openFile.refresh()
  }
  const parts: Parts = { files, changes, turns, processes, openFile, refresh }
  const disposers = syncWithPage(app, parts)

  return {
    files,
    uploads,
    changes,
    turns,
    processes,
    openFile,
    refresh,
    dispose(): void {
      processes.stop()
      for (const dispose of disposers) dispose()
    },
    rawUrl: (path: string, query: Record<string, unknown> = {}): string =>
      urlOf(base, 'api/file/raw', { session_id: files.sessionId.value, path, ...query }),
    download(path: string, type: 'dir' | 'file'): void {
      const query = { session_id: files.sessionId.value, path: path || '.' }
      const url =
        type === 'dir'
          ? urlOf(base, 'api/folder/download', query)
          : urlOf(base, 'api/file/raw', { ...query, download: 1 })
      navigate(url, { download: true })
    },
    linkTo: (path: string, line: number | null): string => {
      const at = route.hrefOf({ view: 'chat', sessionId: files.sessionId.value })
      return at + fileQuery(formatTarget({ path, line }))
    },
  }
}

export type WorkspacePanel = ReturnType<typeof createWorkspacePanel>
