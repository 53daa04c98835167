/** The file changes of each turn (its checkpoints), their diffs, and undoing them. */
import { visibleName } from '../../../lib/base/visible.ts'
import { signal } from '@preact/signals'
import { ApiError } from '../../api.ts'
import type { Api } from '../../../router.ts'
import { t } from './turn-changes-strings.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import { askWhenShown } from './ask-when-shown.ts'
import { restoreConflicts } from './restore-conflicts.tsx'
import type { LoadedDiff } from './git-changes.ts'
import type { App } from '../../app.ts'
import type { Confirmation } from '../shell/layout.ts'
import type { Shell } from '../shell/shell-state.ts'

export type TurnChange = Api['GET /api/rollback/list']['output']['checkpoints'][number]
export type TurnFile = TurnChange['files'][number]

export type TurnPlace = {
  ask: (question: Confirmation) => void
  /** Files were restored. */
  onRestored: () => void
  /** Shows a file beside the chat. */
  openFile?: (path: string) => void
}

/** Whole files, or parts of one file, by the headers of its hunks. */
type RestoreSelection = { paths?: string[]; hunks?: string[] }

const MAX_NAMED_PATHS = 4
const nothing = { diff: '', binary: false, truncated: false }

export const changeTitle = ({ title, undo_of }: TurnChange): string => {
  const text = visibleName(title) || t('untitled')
  return undo_of ? t('undo.of', { title: text }) : text
}

const namedPaths = (paths: readonly string[]): string[] => {
  const count = paths.length - MAX_NAMED_PATHS
  const more = count > 0 ? [t('conflict.more', { count })] : []
  return [...paths.slice(0, MAX_NAMED_PATHS), ...more]
}

/** The key of a diff. */
export const keyOf = (turn: TurnChange, { path }: TurnFile): string => `${turn.checkpoint} ${path}`

export class TurnChanges {
  readonly #shell: Shell
  readonly #session: { session_id: string }
  readonly #place: TurnPlace
  readonly list = signal<readonly TurnChange[]>([])
  readonly state = signal<'none' | 'loading' | 'ready' | 'failed'>('none')
  readonly openTurns = signal<ReadonlySet<string>>(new Set())
  /** The file to scroll to once it is drawn. */
  readonly target = signal<string | null>(null)
  /** Those that are open. */
  readonly diffs = signal<ReadonlyMap<string, LoadedDiff>>(new Map())
  #followed = ''
  readonly #newest = createResponseOrder()

  constructor(shell: Shell, sessionId: string, place: TurnPlace) {
    this.#shell = shell
    this.#session = { session_id: sessionId }
    this.#place = place
  }

  async load(): Promise<void> {
    const { api } = this.#shell
    if (this.state.value === 'none') this.state.value = 'loading'
    const isNewest = this.#newest('')
    try {
      const { checkpoints } = await api('GET /api/rollback/list', this.#session)
      if (!isNewest()) return
      this.list.value = checkpoints
      this.state.value = 'ready'
      await Promise.all(
        checkpoints.flatMap(turn =>
          turn.files
            .filter(file => this.diffs.value.has(keyOf(turn, file)))
            .map(file => this.#loadDiff(turn, file)),
        ),
      )
    } catch {
      // Shown in place of the list; the panel's refresh retries.
      if (isNewest()) this.state.value = 'failed'
    }
  }

  /** Reads the changes, and again when `message`, the last one of a turn that ended, is another one. */
  async follow(message: string): Promise<void> {
    if (this.state.value !== 'none' && (message === '' || message === this.#followed)) return
    this.#followed = message
    await this.load()
  }

  toggleTurn({ checkpoint }: TurnChange): void {
    const next = new Set(this.openTurns.value)
    if (!next.delete(checkpoint)) next.add(checkpoint)
    this.openTurns.value = next
  }

  async toggleFile(turn: TurnChange, file: TurnFile): Promise<void> {
    const key = keyOf(turn, file)
    if (this.diffs.value.has(key))
      this.diffs.value = new Map([...this.diffs.value].filter(([open]) => open !== key))
    else await this.#loadDiff(turn, file)
  }

  /** Opens the diff of a file in the list of turns. */
  async reveal(turn: TurnChange, file: TurnFile): Promise<void> {
    this.openTurns.value = new Set(this.openTurns.value).add(turn.checkpoint)
    const key = keyOf(turn, file)
    this.target.value = key
    if (this.diffs.value.get(key)?.state !== 'ready') await this.#loadDiff(turn, file)
  }

  undo(turn: TurnChange): void {
    const isRedo = turn.undo_of !== null
    this.#place.ask({
      title: t(isRedo ? 'ask.redo.title' : 'ask.title'),
      text: t('ask.text', { count: turn.file_count, title: changeTitle(turn) }),
      confirm: t(isRedo ? 'ask.redo.yes' : 'ask.yes'),
      run: () => this.#restore(turn, {}),
    })
  }

  undoFile(turn: TurnChange, { path, old_path }: TurnFile): void {
    this.#place.ask({
      title: t('ask.file.title', { path }),
      text: t('ask.file.text'),
      confirm: t('ask.file.yes'),
      run: () => this.#restore(turn, { paths: old_path === undefined ? [path] : [path, old_path] }),
    })
  }

  /** Without a question: a few lines that are on the screen, and the notice offers to take it back. */
  undoHunk(turn: TurnChange, { path }: TurnFile, header: string): Promise<void> {
    return this.#restore(turn, { paths: [path], hunks: [header] }).catch(
      this.#shell.toasts.showError,
    )
  }

  /** Brings back what an undo has undone: all of it, or one file. */
  redo(undo: TurnChange, paths?: string[]): Promise<void> {
    return this.#restore(undo, paths ? { paths } : {}).catch(this.#shell.toasts.showError)
  }

  /** Undoes the n-th newest turn, from 1, not counting undos. */
  undoNumber(n: number): void {
    const turn = this.list.value.filter(({ undo_of }) => undo_of === null)[n - 1]
    if (turn) this.undo(turn)
    else this.#shell.toasts.show(t('said.none'), { kind: 'error' })
  }

  async #loadDiff(turn: TurnChange, file: TurnFile): Promise<void> {
    const key = keyOf(turn, file)
    const put = (diff: LoadedDiff) => {
      this.diffs.value = new Map(this.diffs.value).set(key, diff)
    }
    if (!this.diffs.value.has(key)) put({ state: 'loading', ...nothing })
    const query = { ...this.#session, checkpoint: turn.checkpoint, path: file.path }
    try {
      const reply = await this.#shell.api('GET /api/rollback/diff', query)
      const { diff, binary, truncated, undone } = reply
      // It may have been closed.
      if (this.diffs.value.has(key)) put({ state: 'ready', diff, binary, truncated, undone })
    } catch {
      // Shown in place of the diff; expanding it again retries.
      if (this.diffs.value.has(key)) put({ state: 'failed', ...nothing })
    }
  }

  async #restore(turn: TurnChange, selection: RestoreSelection, force = false): Promise<void> {
    const { onRestored, openFile, ask } = this.#place
    const { api, toasts, platform } = this.#shell
    const { checkpoint } = turn
    try {
      const reply = await api('POST /api/rollback/restore', {
        ...this.#session,
        checkpoint,
        force,
        ...selection,
      })
      if (reply.error) toasts.show(reply.error, { kind: 'error' })
      await this.load()
      onRestored()
      if (reply.restored.length === 0) {
        if (!reply.error) toasts.show(t('said.same'))
        return
      }
      const back = this.list.value.find(each => each.checkpoint === reply.checkpoint)
      // A moved file counts as one, but restores two paths.
      const count = Math.min(reply.restored.length, turn.file_count)
      toasts.show(selection.hunks ? t('said.part') : t('said.restored', { count }), {
        action: back
          ? {
              label: t('said.back'),
              run: () => void this.#restore(back, {}).catch(toasts.showError),
            }
          : null,
      })
    } catch (error) {
      const conflicts = error instanceof ApiError && error.body.conflicts
      if (!Array.isArray(conflicts)) throw error
      const [path] = conflicts.map(String)
      // Lines that have changed cannot be overwritten without those around them.
      if (selection.hunks && path !== undefined) {
        const action = openFile && { label: t('conflict.show'), run: () => openFile(path) }
        toasts.show(t('conflict.part', { path }), { kind: 'error', action: action ?? null })
        return
      }
      // Deferred: the confirmation that led here has to close first.
      platform.clock.timer(0, () =>
        ask({
          title: t('conflict.title'),
          text: t('conflict.text', { paths: namedPaths(conflicts.map(String)) }),
          confirm: t('conflict.yes'),
          danger: true,
          detail: restoreConflicts(conflicts.map(String), path =>
            api('GET /api/rollback/file', { ...this.#session, checkpoint, point: 'before', path }),
          ),
          run: () => this.#restore(turn, selection, true),
        }),
      )
    }
  }
}

/** The changes of a chat with a session, shared by the workspace panel and the summaries in the transcript. */
export const turnChangesOf = ({ shell, chat, pane, panel }: App): TurnChanges => {
  panel.turns.value ??= new TurnChanges(shell, chat.sessionId.peek(), {
    ask: askWhenShown(shell.layout, pane.isShown),
    onRestored: () => panel.contents.value?.refresh(),
    openFile: path => panel.openFile(path),
  })
  return panel.turns.value
}
