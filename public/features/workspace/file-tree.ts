/** The tree of a workspace as far as it has been opened, and what a person does to its files. */
import { computed, signal } from '@preact/signals'
import type { FileEntry } from '../../../lib/schema/workspace.ts'
import { directoryOf, joinPath, nameOf } from './file-kind.ts'
import { t } from './strings.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'

/** A directory that has been asked for. */
export type Directory = {
  state: 'loading' | 'ready' | 'failed'
  entries: readonly FileEntry[]
  /** Names there are; more than `entries` when the service cut the list. */
  total: number
  error: string
}
export type TreeRow = {
  path: string
  name: string
  type: 'dir' | 'file'
  size: number | null
  level: number
  open: boolean
  /** Place among its siblings, from 1, and how many those are. */
  place: number
  siblings: number
}
/** A field that stands in the tree: a new name for something, or the name of something new. */
export type Naming =
  | { kind: 'rename'; path: string }
  | { kind: 'file' | 'dir'; directory: string }
  | null

/** Nobody browses it, and a change in it breaks the repository. */
const GIT_DIR = '.git'

const loading: Directory = { state: 'loading', entries: [], total: 0, error: '' }

export type FileTreeOptions = {
  platform: Pick<Platform, 'api'>
  toasts: Toasts
  /** Something was renamed, moved or removed: `to` is null when it is gone. */
  onMoved?: (from: string, to: string | null) => void
  /** The workspace is another than before. */
  onChanged?: () => void
}

export const createFileTree = ({ platform, toasts, onMoved, onChanged }: FileTreeOptions) => {
  const { api } = platform
  const sessionId = signal('')
  const directories = signal<ReadonlyMap<string, Directory>>(new Map())
  const opened = signal<ReadonlySet<string>>(new Set())
  /** The row that has, or gets, the focus. */
  const active = signal('')
  const naming = signal<Naming>(null)
  const newest = createResponseOrder()

  const put = (path: string, directory: Directory): void => {
    directories.value = new Map(directories.value).set(path, directory)
  }

  const load = async (path: string): Promise<void> => {
    const session = sessionId.value
    if (!session) return
    const known = directories.value.get(path)
    if (!known) put(path, loading)
    const isNewest = newest(path)
    try {
      const input = { session_id: session, path: path || '.' }
      const { entries, total } = await api('GET /api/list', input)
      if (session === sessionId.value && isNewest())
        put(path, { state: 'ready', entries, total, error: '' })
    } catch (error) {
      if (session !== sessionId.value || !isNewest()) return
      const said = error instanceof Error ? error.message : String(error)
      put(path, { ...(known ?? loading), state: 'failed', error: said })
    }
  }

  /** Everything that has been opened, again: an agent or a person may have changed it. */
  const reload = async (): Promise<void> => {
    await Promise.all(['', ...opened.value].map(load))
    // What is no longer there cannot stay open.
    const gone = [...opened.value].filter(path => directories.value.get(path)?.state === 'failed')
    if (gone.length === 0) return
    opened.value = new Set([...opened.value].filter(path => !gone.includes(path)))
    directories.value = new Map([...directories.value].filter(([path]) => !gone.includes(path)))
  }

  const open = (path: string): void => {
    if (!path || opened.value.has(path)) return
    opened.value = new Set(opened.value).add(path)
    void load(path)
  }
  const close = (path: string): void => {
    opened.value = new Set([...opened.value].filter(one => one !== path))
  }

  const rowsOf = (path: string, level: number): TreeRow[] => {
    const listed = directories.value.get(path)?.entries ?? []
    const entries = listed.filter(({ name }) => name !== GIT_DIR)
    return entries.flatMap((entry, index) => {
      const isOpen = entry.type === 'dir' && opened.value.has(entry.path)
      const { name, type, size } = entry
      const place = { level, place: index + 1, siblings: entries.length }
      const row: TreeRow = { path: entry.path, name, type, size, open: isOpen, ...place }
      return isOpen ? [row, ...rowsOf(entry.path, level + 1)] : [row]
    })
  }
  const rows = computed(() => rowsOf('', 1))

  /** Runs a change, tells what went wrong, and reads the directories it touched again. */
  const change = async (
    verb: () => Promise<void>,
    touched: readonly string[],
  ): Promise<boolean> => {
    let worked = true
    try {
      await verb()
    } catch (error) {
      worked = false
      toasts.showError(error)
    }
    // Also after a failure: the tree may have been wrong, or half of it was done.
    await Promise.all([...new Set(touched)].map(load))
    onChanged?.()
    return worked
  }

  const moved = (from: string, to: string | null): void => {
    const under = (path: string) => path === from || path.startsWith(`${from}/`)
    const renamed = (path: string) => (to === null ? path : to + path.slice(from.length))
    const kept = [...opened.value].filter(path => to !== null || !under(path))
    opened.value = new Set(kept.map(path => (under(path) ? renamed(path) : path)))
    const rest = [...directories.value].filter(([path]) => !under(path))
    directories.value = new Map(rest)
    if (to !== null)
      for (const path of opened.value) if (!directories.value.has(path)) void load(path)
    onMoved?.(from, to)
  }

  const restore = (id: string, path: string): void => {
    const input = { session_id: sessionId.value, trash_id: id }
    void change(async () => {
      active.value = (await api('POST /api/file/restore', input)).path
    }, [directoryOf(path)])
  }

  return {
    sessionId,
    directories,
    opened,
    active,
    naming,
    rows,
    load,
    reload,
    open,
    close,
    toggle: (path: string): void => (opened.value.has(path) ? close(path) : open(path)),
    /** Turns to the workspace of another conversation. */
    async show(session: string): Promise<void> {
      if (session === sessionId.value) return
      sessionId.value = session
      directories.value = new Map()
      opened.value = new Set()
      active.value = ''
      naming.value = null
      if (session) await load('')
    },
    /** Opens every directory above a file, so that its row can be seen. */
    async reveal(path: string): Promise<void> {
      const parts = directoryOf(path).split('/').filter(Boolean)
      const above = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
      opened.value = new Set([...opened.value, ...above])
      await Promise.all(above.filter(one => !directories.value.has(one)).map(load))
      active.value = path
    },
    async create(kind: 'file' | 'dir', directory: string, name: string): Promise<string | null> {
      const path = joinPath(directory, name)
      const input = { session_id: sessionId.value, path }
      const verb = async () => {
        if (kind === 'dir') await api('POST /api/file/create-dir', input)
        else await api('POST /api/file/create', input)
        active.value = path
      }
      return (await change(verb, [directory, directoryOf(path)])) ? path : null
    },
    rename: (path: string, name: string): Promise<boolean> =>
      change(async () => {
        const input = { session_id: sessionId.value, path, new_name: name }
        await api('POST /api/file/rename', input)
        const to = joinPath(directoryOf(path), name)
        moved(path, to)
        active.value = to
      }, [directoryOf(path)]),
    /** Into another directory; onto itself or where it already is, nothing happens. */
    async move(path: string, directory: string): Promise<boolean> {
      const inItself = directory === path || directory.startsWith(`${path}/`)
      if (inItself || directoryOf(path) === directory) return false
      const verb = async () => {
        const input = { session_id: sessionId.value, path, dest_dir: directory || '.' }
        await api('POST /api/file/move', input)
        const to = joinPath(directory, nameOf(path))
        moved(path, to)
        active.value = to
        toasts.show(t('files.moved', { name: nameOf(path), to: directory || t('files.root') }))
      }
      return change(verb, [directoryOf(path), directory])
    },
    /** Into the trash, with a way back for as long as the notice stands. */
    remove: (path: string, type: 'dir' | 'file'): Promise<boolean> =>
      change(async () => {
        const input = { session_id: sessionId.value, path, recursive: type === 'dir' }
        const { trash_id: id } = await api('POST /api/file/delete', input)
        moved(path, null)
        toasts.show(t('files.deleted', { name: nameOf(path) }), {
          action: { label: t('row.undo'), run: () => restore(id, path) },
        })
      }, [directoryOf(path)]),
  }
}

export type FileTree = ReturnType<typeof createFileTree>
