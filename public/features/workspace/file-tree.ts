/** The file tree: its expanded directories, and creating, renaming, moving and deleting files in it. */
import { signal } from '@preact/signals'
import { directoryOf, joinPath, fileName } from '../../parts/file-kind.ts'
import { t } from './strings.ts'
import type { Shell } from '../shell/shell-state.ts'
import { OpenDirectories } from './open-directories.ts'

/** The name field shown in the tree: renaming an entry, or naming a new one. */
export type Naming =
  | { kind: 'rename'; path: string }
  | { kind: 'file' | 'dir'; directory: string }
  | null

export type TreeChanges = {
  /** After a rename or move (`to`) or a deletion (`to` is null). */
  onMoved?: (from: string, to: string | null) => void
  /** After any change to the workspace's files. */
  onChanged?: () => void
}

export class FileTree extends OpenDirectories {
  readonly #on: TreeChanges
  /** The row that has the focus or gets it next. */
  readonly active = signal('')
  readonly naming = signal<Naming>(null)
  /** How often the workspace was replaced by another one. */
  #resets = 0

  constructor(shell: Shell, sessionId: string, on: TreeChanges = {}) {
    super(shell, sessionId)
    this.#on = on
  }

  toggle(path: string): void {
    if (this.openPaths.value.has(path)) this.close(path)
    else this.open(path)
  }

  /** The session works in another workspace. */
  override reset(): void {
    this.#resets += 1
    super.reset()
    this.active.value = ''
    this.naming.value = null
  }

  /** Expands every directory above an entry, and the entry itself if it is one, and makes its row active. */
  async reveal(path: string, isDirectory = false): Promise<void> {
    const parts = (isDirectory ? path : directoryOf(path)).split('/').filter(Boolean)
    const above = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
    this.openPaths.value = new Set([...this.openPaths.value, ...above])
    await Promise.all(above.filter(one => !this.directories.value.has(one)).map(this.load))
    this.active.value = path
  }

  /** Resolves to the new path, or null when it failed. */
  async create(kind: 'file' | 'dir', directory: string, name: string): Promise<string | null> {
    const { api } = this.shell
    const path = joinPath(directory, name)
    const input = { ...this.session, path }
    const work = async () => {
      if (kind === 'dir') await api('POST /api/file/create-dir', input)
      else await api('POST /api/file/create', input)
      this.active.value = path
    }
    return (await this.#change(work, [directory, directoryOf(path)])) ? path : null
  }

  rename(path: string, name: string): Promise<boolean> {
    const { api } = this.shell
    return this.#change(
      async moved => {
        const input = { ...this.session, path, new_name: name }
        await api('POST /api/file/rename', input)
        moved(path, joinPath(directoryOf(path), name))
      },
      [directoryOf(path)],
    )
  }

  /** Moving into itself or into its own directory does nothing. */
  async move(path: string, directory: string): Promise<boolean> {
    const { api, toasts } = this.shell
    const inItself = directory === path || directory.startsWith(`${path}/`)
    if (inItself || directoryOf(path) === directory) return false
    return this.#change(
      async moved => {
        const input = { ...this.session, path, dest_dir: directory || '.' }
        await api('POST /api/file/move', input)
        moved(path, joinPath(directory, fileName(path)))
        toasts.show(t('files.moved', { name: fileName(path), to: directory || t('files.root') }))
      },
      [directoryOf(path), directory],
    )
  }

  /** Moves to the trash; the toast offers to undo it. */
  remove(path: string, type: 'dir' | 'file'): Promise<boolean> {
    const { api, toasts } = this.shell
    return this.#change(
      async moved => {
        const input = { ...this.session, path, recursive: type === 'dir' }
        const { trash_id: id } = await api('POST /api/file/delete', input)
        moved(path, null)
        toasts.show(t('files.deleted', { name: fileName(path) }), {
          action: { label: t('row.undo'), run: () => this.#restore(id, path) },
        })
      },
      [directoryOf(path)],
    )
  }

  /** Runs a change, toasts its error, and reloads the directories it touched. */
  async #change(
    work: (moved: (from: string, to: string | null) => void) => Promise<void>,
    touched: readonly string[],
  ): Promise<boolean> {
    const { onMoved, onChanged } = this.#on
    const begun = this.#resets
    let worked = true
    try {
      await work((from, to) => {
        // A file of this name in another workspace is another file.
        if (begun !== this.#resets) return
        this.moved(from, to)
        onMoved?.(from, to)
        if (to !== null) this.active.value = to
      })
    } catch (error) {
      worked = false
      this.shell.toasts.showError(error)
    }
    // Also after a failure: the tree may have been stale, or the change half done.
    await Promise.all([...new Set(touched)].map(this.load))
    onChanged?.()
    return worked
  }

  #restore(id: string, path: string): void {
    const { api } = this.shell
    const input = { ...this.session, trash_id: id }
    void this.#change(async () => {
      this.active.value = (await api('POST /api/file/restore', input)).path
    }, [directoryOf(path)])
  }
}
