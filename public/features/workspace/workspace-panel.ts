/**
 * The workspace of one session: its file tree, open file, Git, changes by turn, processes and terminals. It belongs to the chat
 * and outlives its views: what was begun ends here, whatever chat is shown then.
 */
import { batch, computed, effect, untracked } from '@preact/signals'
import type { App } from '../../app.ts'
import { urlOf } from '../../api.ts'
import { createGitActions } from '../git/git-actions.ts'
import { fileQuery } from '../shell/route.ts'
import { createTerminals } from '../terminal/terminals.ts'
import { askWhenShown } from './ask-when-shown.ts'
import { createFileTree } from './file-tree.ts'
import { createFileUploads } from './file-uploads.ts'
import { createGitChanges } from './git-changes.ts'
import { createOpenFile } from './open-file.ts'
import { formatTarget, insideWorkspace } from './panel.ts'
import { createProcesses } from './processes.ts'
import { t } from './strings.ts'
import { turnChangesOf } from './turn-changes.ts'

const createWorkspacePanel = (app: App, sessionId: string) => {
  const { chat, pane, shell } = app
  const { platform, route, toasts, navigate } = shell
  const { base } = platform
  const ask = askWhenShown(shell.layout, pane.isShown)
  const changes = createGitChanges(platform, sessionId)
  const openFile = createOpenFile({
    ...{ platform, sessionId, toasts, ask },
    onSaved: () => void changes.load(),
  })
  const files = createFileTree({
    ...{ platform, sessionId, toasts },
    onMoved: (from, to) => openFile.moved(from, to),
    onChanged: () => void changes.load(),
  })
  const uploads = createFileUploads({
    ...{ platform, sessionId, toasts },
    onArrived(directory) {
      void files.load(directory)
      void changes.load()
    },
  })
  const git = createGitActions({
    ...{ platform, sessionId, toasts, ask, changes },
    chooseWorkspace: path => chat.choices.chooseWorkspace(path),
  })
  const turns = turnChangesOf(app)
  const processes = createProcesses({ platform, sessionId, toasts })
  const terminals = createTerminals({ platform, sessionId, toasts, ask })
  let workspace: string | null = null

  const refresh = (): void => {
    void files.reload()
    void changes.load()
    void turns.load()
    void processes.load()
    void openFile.refresh()
  }

  return {
    sessionId,
    files,
    uploads,
    changes,
    git,
    turns,
    processes,
    terminals,
    openFile,
    refresh,
    /** Something is here only: unsaved text, or work whose outcome is still to come. */
    isInUse: (): boolean =>
      openFile.dirty.peek() ||
      openFile.doc.peek()?.saving === true ||
      uploads.list.peek().length > 0 ||
      git.busy.peek() !== '' ||
      git.hookQuestion.peek() !== null ||
      git.message.peek().trim() !== '',
    /** The chat is shown, or works in another workspace: reads everything again. */
    enter(path: string): void {
      batch(() => {
        if (workspace !== null && workspace !== path) {
          files.reset()
          changes.reset()
          git.reset()
        }
        workspace = path
        openFile.enter(path)
        refresh()
      })
    },
    rawUrl: (path: string, query: Record<string, unknown> = {}): string =>
      urlOf(base, 'api/file/raw', { session_id: sessionId, path, ...query }),
    download(path: string, type: 'dir' | 'file'): void {
      const query = { session_id: sessionId, path: path || '.' }
      const url =
        type === 'dir'
          ? urlOf(base, 'api/folder/download', query)
          : urlOf(base, 'api/file/raw', { ...query, download: 1 })
      navigate(url, { download: true })
    },
    linkTo: (path: string, line: number | null): string =>
      route.hrefOf({ view: 'chat', sessionId }) + fileQuery(formatTarget({ path, line })),
  }
}

export type WorkspacePanel = ReturnType<typeof createWorkspacePanel>

/** The workspace of a chat whose session exists. */
export const workspacePanelOf = (app: App): WorkspacePanel => {
  app.panel.contents.value ??= createWorkspacePanel(app, app.chat.sessionId.peek())
  return app.panel.contents.value
}

/** Runs when the value changes, not at first. */
const onChange = <T>(read: () => T, run: (value: T) => void): (() => void) => {
  let before = untracked(read)
  return effect(() => {
    const value = read()
    if (value === before) return
    before = value
    untracked(() => run(value))
  })
}

/** Follows the chat, its turns, the address, and what links ask for, while a panel shows it. */
export const followChat = (app: App, workspace: WorkspacePanel): (() => void) => {
  const { pane, panel, shell } = app
  const { transcript: chat } = app.chat
  const { attachments } = app.composer
  const { route, toasts } = shell
  const { sessionId, files, changes, turns, processes, openFile, refresh } = workspace
  /** Null until the session is loaded. */
  const folder = computed(() => chat.details.value?.workspace ?? null)

  const stops = [
    processes.watch(),
    effect(() => {
      const path = folder.value
      if (path !== null) untracked(() => workspace.enter(path))
    }),
    // Opens the file a link asks for.
    effect(() => {
      const target = panel.target.value
      const root = folder.value
      if (!target || root === null) return
      untracked(() => {
        panel.target.value = null
        if (target.text !== undefined) return openFile.open(target)
        const path = insideWorkspace(root, target.path)
        if (path === null) toasts.show(t('files.outside', { path: target.path }), { kind: 'error' })
        else if (target.isDirectory) void files.reveal(path, true)
        else if (path) {
          openFile.open({ ...target, path })
          void files.reveal(path)
        }
      })
    }),
    // `/rollback 2`
    effect(() => {
      const { value: number } = panel.rollback
      if (number === 0) return
      panel.rollback.value = 0
      untracked(() => void turns.load().then(() => turns.undoNumber(number)))
    }),
    // The agent may have changed anything.
    onChange(
      () => chat.busy.value,
      isBusy => {
        if (!isBusy) refresh()
      },
    ),
    // An attachment was uploaded into the workspace.
    onChange(
      () => attachments.arrived.value,
      () => {
        void files.load('')
        void changes.load()
      },
    ),
    // The URL names the open file, for reloads and copied links.
    effect(() => {
      const doc = openFile.doc.value
      const { value: at } = route.current
      if (at.view !== 'chat' || at.sessionId !== sessionId) return
      if (pane.isShown.peek())
        route.replaceFile(panel.shown.value && doc && !doc.isAnswer ? formatTarget(doc) : null)
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
