/** Everything behind the panel, built when it is first drawn: the tree, the open file, git, and what keeps them current. */
import { batch, effect, type ReadonlySignal, type Signal, untracked } from '@preact/signals'
import { urlOf } from '../../api.ts'
import type { Attachments } from '../composer/attachments.ts'
import { createProcesses } from './processes.ts'
import { createGitChanges } from './git-changes.ts'
import { createFileTree } from './file-tree.ts'
import { createFileUploads } from './file-uploads.ts'
import type { Layout } from '../shell/layout.ts'
import type { OpenChat } from '../chat/open-chat.ts'
import { formatTarget, insideWorkspace, type Target } from './panel.ts'
import type { Platform } from '../../platform.ts'
import { createOpenFile } from './open-file.ts'
import { fileQuery, type RouteState } from '../shell/route.ts'
import type { Toasts } from '../shell/toast.ts'
import { createTurnChanges } from './turn-changes.ts'
import { t } from './strings.ts'

export type WorkspacePanelOptions = {
  platform: Platform
  chat: Pick<OpenChat, 'details' | 'busy'>
  attachments: Pick<Attachments, 'arrived'>
  panel: {
    target: Signal<Target | null>
    shown: ReadonlySignal<boolean>
    rollback: Signal<number>
  }
  route: RouteState
  toasts: Toasts
  layout: Pick<Layout, 'confirmation'>
  navigate: (url: string, options?: { download?: boolean }) => void
}

export const createWorkspacePanel = (app: WorkspacePanelOptions) => {
  const { platform, chat, panel, attachments, route, toasts, layout, navigate } = app
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

  const turns = createTurnChanges({
    platform,
    toasts,
    ask: question => {
      layout.confirmation.value = question
    },
    onRestored: () => refresh(),
  })
  const processes = createProcesses({
    platform,
    toasts,
    isShown: () => panel.shown.value,
  })

  const placeOf = { session: '', place: '' }
  const turn = { running: false }

  const refresh = (): void => {
    void files.reload()
    void changes.load()
    void turns.load()
    void processes.load()
    void openFile.refresh()
  }

  const askForTurn = (): void => {
    const { value: number } = panel.rollback
    panel.rollback.value = 0
    if (number > 0) turns.undoNumber(number)
  }

  const stops = [
    // Another conversation, or another workspace for this one: another tree.
    effect(() => {
      const session = chat.details.value?.session_id ?? ''
      const place = chat.details.value?.workspace ?? ''
      if (!session || session !== route.sessionId.value) return
      untracked(() => {
        const moved = placeOf.session === session && placeOf.place !== place
        Object.assign(placeOf, { session, place })
        batch(() => {
          openFile.show(session)
          if (moved) {
            void files.show('')
            void changes.show('')
          }
          void files.show(session)
          void changes.show(session)
          void processes.show(session)
          void turns.show(session).then(askForTurn)
        })
      })
    }),
    // What a link asked for.
    effect(() => {
      const target = panel.target.value
      const session = chat.details.value?.session_id
      if (!target || !session || session !== route.sessionId.value) return
      untracked(() => {
        panel.target.value = null
        const path = insideWorkspace(chat.details.value?.workspace ?? '', target.path)
        if (path === null) toasts.show(t('files.outside', { path: target.path }), { kind: 'error' })
        else if (path) {
          openFile.open({ path, line: target.line })
          void files.reveal(path)
        }
      })
    }),
    // A turn has ended: the agent may have changed anything.
    effect(() => {
      const running = chat.busy.value
      if (turn.running && !running) untracked(refresh)
      turn.running = running
    }),
    // `/rollback 2`, while the panel is there already.
    effect(() => {
      if (panel.rollback.value > 0 && turns.state.value === 'ready') untracked(askForTurn)
    }),
    // The programs are looked at again when the panel opens.
    effect(() => {
      if (panel.shown.value) untracked(() => void processes.load())
    }),
    // A file of the message has arrived in the workspace.
    effect(() => {
      if (attachments.arrived.value.size === 0) return
      untracked(() => {
        void files.load('')
        void changes.load()
      })
    }),
    // The address names the open file, so that a reload or a copied link leads back to it.
    effect(() => {
      const doc = openFile.doc.value
      const { value: at } = route.current
      if (at.view !== 'chat' || !at.sessionId) return
      const shown = panel.shown.value && doc?.sessionId === at.sessionId ? doc : null
      route.replaceFile(shown ? formatTarget(shown) : null)
    }),
  ]

  return {
    files,
    uploads,
    changes,
    turns,
    processes,
    openFile,
    refresh,
    stop: (): void => {
      processes.stop()
      for (const stop of stops) stop()
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
