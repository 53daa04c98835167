/**
 * The workspace of one session: its file tree, open file, Git, changes by turn, and processes. It belongs to the chat
 * and outlives its views: what was begun ends here, whatever chat is shown then.
 */
import { batch, computed, effect, type ReadonlySignal, untracked } from '@preact/signals'
import type { App } from '../../app.ts'
import { urlOf } from '../../api.ts'
import { GitActions } from '../git/git-actions.ts'
import { fileQuery } from '../shell/route.ts'
import { askWhenShown } from '../workspace/ask-when-shown.ts'
import { FileTree } from '../workspace/file-tree.ts'
import { GitChanges } from '../workspace/git-changes.ts'
import { OpenFile } from '../workspace/open-file.ts'
import { formatTarget, insideWorkspace } from '../../parts/target.ts'
import { Processes } from '../workspace/processes.ts'
import { t } from '../workspace/strings.ts'
import { type TurnChanges, turnChangesOf } from '../workspace/turn-changes.ts'
import { type DroppedFolder, type Queued, UploadQueue } from '../../upload-queue.ts'
import { Review } from './review.ts'
import type { Shell } from '../shell/shell-state.ts'

export class FileUploads {
  readonly #queue: UploadQueue<string>
  readonly #onArrived: (directory: string) => void
  readonly list: ReadonlySignal<readonly Queued<string>[]>

  constructor(
    { platform, toasts }: Shell,
    sessionId: string,
    onArrived: (directory: string) => void,
  ) {
    this.#onArrived = onArrived
    this.#queue = new UploadQueue<string>({
      platform,
      target: async ({ more: directory }) => ({ sessionId, ...(directory && { directory }) }),
      onArrived: ({ more: directory }) => onArrived(directory),
      onFailed: ({ id, name, file, error, more: directory }) => {
        toasts.show(t('files.upload.failed', { name, reason: error }), { kind: 'error' })
        this.#queue.remove(id)
        // Some of its files may be there.
        if ('send' in file) onArrived(directory)
      },
    })
    this.list = this.#queue.list
  }

  /** Resolves when all of them are uploaded or failed. */
  add(files: Iterable<File | DroppedFolder>, directory: string): Promise<void> {
    for (const file of files) this.#queue.add(file, directory)
    return this.#queue.idle()
  }

  cancel(id: number): void {
    const one = this.#queue.list.peek().find(each => each.id === id)
    this.#queue.remove(id)
    if (one && 'send' in one.file) this.#onArrived(one.more)
  }
}

export class WorkspacePanel {
  readonly #app: App
  readonly changes: GitChanges
  readonly openFile: OpenFile
  readonly files: FileTree
  readonly uploads: FileUploads
  readonly git: GitActions
  readonly turns: TurnChanges
  readonly processes: Processes
  readonly review: Review
  #workspace: string | null = null
  readonly sessionId: string

  constructor(app: App, sessionId: string) {
    const { shell, pane, chat } = app
    const ask = askWhenShown(shell.layout, pane.isShown)
    const onChanged = () => void this.changes.load()
    this.#app = app
    this.sessionId = sessionId
    this.changes = new GitChanges(shell, sessionId)
    this.openFile = new OpenFile(shell, sessionId, ask, onChanged)
    this.files = new FileTree(shell, sessionId, {
      onMoved: (from, to) => this.openFile.moved(from, to),
      onChanged,
    })
    this.uploads = new FileUploads(shell, sessionId, directory => {
      void this.files.load(directory)
      onChanged()
    })
    this.git = new GitActions(shell, sessionId, this.changes, ask, path =>
      chat.choices.chooseWorkspace(path),
    )
    this.turns = turnChangesOf(app)
    this.processes = new Processes(shell, sessionId)
    this.review = new Review(this.changes, this.turns)
  }

  refresh(): void {
    void this.files.reload()
    void this.changes.load()
    void this.turns.load()
    void this.processes.load()
    void this.openFile.refresh()
  }

  /** Something is here only: unsaved text, or work whose outcome is still to come. */
  isInUse(): boolean {
    return (
      this.openFile.dirty.peek() ||
      this.openFile.doc.peek()?.saving === true ||
      this.uploads.list.peek().length > 0 ||
      this.git.busy.peek() !== '' ||
      this.git.hookQuestion.peek() !== null ||
      this.git.message.peek().trim() !== ''
    )
  }

  /** The chat is shown, or works in another workspace: reads everything again. */
  enter(path: string): void {
    batch(() => {
      if (this.#workspace !== null && this.#workspace !== path) {
        this.files.reset()
        this.changes.reset()
        this.git.reset()
      }
      this.#workspace = path
      this.openFile.enter(path)
      this.refresh()
    })
  }

  rawUrl(path: string, query: Record<string, unknown> = {}): string {
    const { base } = this.#app.shell.platform
    return urlOf(base, 'api/file/raw', { session_id: this.sessionId, path, ...query })
  }

  download(path: string, type: 'dir' | 'file'): void {
    const { base } = this.#app.shell.platform
    const { navigate } = this.#app.shell
    const query = { session_id: this.sessionId, path: path || '.' }
    const url =
      type === 'dir'
        ? urlOf(base, 'api/folder/download', query)
        : urlOf(base, 'api/file/raw', { ...query, download: 1 })
    navigate(url, { download: true })
  }

  linkTo(path: string, line: number | null): string {
    const { route } = this.#app.shell
    return (
      route.hrefOf({ view: 'chat', sessionId: this.sessionId }) +
      fileQuery(formatTarget({ path, line }))
    )
  }
}

/** The workspace of a chat whose session exists. */
export const workspacePanelOf = (app: App): WorkspacePanel => {
  app.panel.contents.value ??= new WorkspacePanel(app, app.chat.sessionId.peek())
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
  const { sessionId, files, changes, turns, processes, openFile } = workspace
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
        if (!isBusy) workspace.refresh()
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
        route.replaceFile(panel.isShown.value && doc && !doc.isAnswer ? formatTarget(doc) : null)
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
