/** The file tree: its expanded directories, and creating, renaming, moving and deleting files in it. */
import { signal } from '@preact/signals'
import { directoryOf, joinPath, nameOf } from './file-kind.ts'
import { t } from './strings.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'
import { createOpenDirectories } from './open-directories.ts'

/** The name field shown in the tree: renaming an entry, or naming a new one. */
export type Naming =
  | { kind: 'rename'; path: string }
  | { kind: 'file' | 'dir'; directory: string }
  | null

export type FileTreeOptions = {
  platform: Pick<Platform, 'api'>
  sessionId: string
  toasts: Toasts
  /** After a rename or move (`to`) or a deletion (`to` is null). */
  onMoved?: (from: string, to: string | null) => void
  /** After any change to the workspace's files. */
  onChanged?: () => void
}

export const createFileTree = (options: FileTreeOptions) => {
  const { platform, sessionId, toasts, onMoved, onChanged } = options
  const { api } = platform
  const tree = createOpenDirectories(platform, sessionId)
  const { directories, opened, load, open, close } = tree
  /** The row that has the focus or gets it next. */
  const active = signal('')
  const naming = signal<Naming>(null)
  /** How often the workspace was replaced by another one. */
  let resets = 0

  /** Runs a change, toasts its error, and reloads the directories it touched. */
  const change = async (
    work: (moved: (from: string, to: string | null) => void) => Promise<void>,
    touched: readonly string[],
  ): Promise<boolean> => {
    const begun = resets
    let worked = true
    try {
      await work((from, to) => {
        // A file of this name in another workspace is another file.
        if (begun !== resets) return
        tree.moved(from, to)
        onMoved?.(from, to)
        if (to !== null) active.value = to
      })
    } catch (error) {
      worked = false
      toasts.showError(error)
    }
    // Also after a failure: the tree may have been stale, or the change half done.
    await Promise.all([...new Set(touched)].map(load))
    onChanged?.()
    return worked
  }

  const restore = (id: string, path: string): void => {
    const input = { session_id: sessionId, trash_id: id }
    void change(async () => {
      active.value = (await api('POST /api/file/restore', input)).path
    }, [directoryOf(path)])
  }

  return {
    ...tree,
    active,
    naming,
    toggle: (path: string): void => (opened.value.has(path) ? close(path) : open(path)),
    /** The session works in another workspace. */
    reset(): void {
      resets += 1
      tree.reset()
      active.value = ''
      naming.value = null
    },
    /** Expands every directory above an entry, and the entry itself if it is one, and makes its row active. */
    async reveal(path: string, isDirectory = false): Promise<void> {
      const parts = (isDirectory ? path : directoryOf(path)).split('/').filter(Boolean)
      const above = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
      opened.value = new Set([...opened.value, ...above])
      await Promise.all(above.filter(one => !directories.value.has(one)).map(load))
      active.value = path
    },
    /** Resolves to the new path, or null when it failed. */
    async create(kind: 'file' | 'dir', directory: string, name: string): Promise<string | null> {
      const path = joinPath(directory, name)
      const input = { session_id: sessionId, path }
      const work = async () => {
        if (kind === 'dir') await api('POST /api/file/create-dir', input)
        else await api('POST /api/file/create', input)
        active.value = path
      }
      return (await change(work, [directory, directoryOf(path)])) ? path : null
    },
    rename: (path: string, name: string): Promise<boolean> =>
      change(
        async moved => {
          const input = { session_id: sessionId, path, new_name: name }
          await api('POST /api/file/rename', input)
          moved(path, joinPath(directoryOf(path), name))
        },
        [directoryOf(path)],
      ),
    /** Moving into itself or into its own directory does nothing. */
    async move(path: string, directory: string): Promise<boolean> {
      const inItself = directory === path || directory.startsWith(`${path}/`)
      if (inItself || directoryOf(path) === directory) return false
      return change(
        async moved => {
          const input = { session_id: sessionId, path, dest_dir: directory || '.' }
          await api('POST /api/file/move', input)
          moved(path, joinPath(directory, nameOf(path)))
          toasts.show(t('files.moved', { name: nameOf(path), to: directory || t('files.root') }))
        },
        [directoryOf(path), directory],
      )
    },
    /** Moves to the trash; the toast offers to undo it. */
    remove: (path: string, type: 'dir' | 'file'): Promise<boolean> =>
      change(
        async moved => {
          const input = { session_id: sessionId, path, recursive: type === 'dir' }
          const { trash_id: id } = await api('POST /api/file/delete', input)
          moved(path, null)
          toasts.show(t('files.deleted', { name: nameOf(path) }), {
            action: { label: t('row.undo'), run: () => restore(id, path) },
          })
        },
        [directoryOf(path)],
      ),
  }
}
