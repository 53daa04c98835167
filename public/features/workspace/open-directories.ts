/** The directories a person has expanded in the file tree: loading, expanding, and the visible rows. */
import { computed, signal } from '@preact/signals'
import type { FileEntry } from '../../../lib/schema/workspace.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Platform } from '../../platform.ts'

export type Directory = {
  state: 'loading' | 'ready' | 'failed'
  entries: readonly FileEntry[]
  /** More than `entries.length` when the server truncated the list. */
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
  /** Among its siblings, from 1. */
  position: number
  siblingCount: number
}

/** Hidden: a change in it can break the repository. */
const GIT_DIR = '.git'

const LOADING: Directory = { state: 'loading', entries: [], total: 0, error: '' }

export const createOpenDirectories = ({ api }: Pick<Platform, 'api'>, sessionId: string) => {
  const directories = signal<ReadonlyMap<string, Directory>>(new Map())
  const opened = signal<ReadonlySet<string>>(new Set())
  const newest = createResponseOrder()

  const put = (path: string, directory: Directory): void => {
    directories.value = new Map(directories.value).set(path, directory)
  }

  const load = async (path: string): Promise<void> => {
    const known = directories.value.get(path)
    if (!known) put(path, LOADING)
    const isNewest = newest(path)
    try {
      const input = { session_id: sessionId, path: path || '.' }
      const { entries, total } = await api('GET /api/list', input)
      if (isNewest()) put(path, { state: 'ready', entries, total, error: '' })
    } catch (error) {
      if (!isNewest()) return
      const message = error instanceof Error ? error.message : String(error)
      put(path, { ...(known ?? LOADING), state: 'failed', error: message })
    }
  }

  const loadMissing = async (): Promise<void> => {
    await Promise.all([...opened.value].filter(path => !directories.value.has(path)).map(load))
  }

  const rowsOf = (path: string, level: number): TreeRow[] => {
    const listed = directories.value.get(path)?.entries ?? []
    const entries = listed.filter(({ name }) => name !== GIT_DIR)
    return entries.flatMap((entry, index) => {
      const isOpen = entry.type === 'dir' && opened.value.has(entry.path)
      const row: TreeRow = {
        path: entry.path,
        name: entry.name,
        type: entry.type,
        size: entry.size,
        level,
        open: isOpen,
        position: index + 1,
        siblingCount: entries.length,
      }
      return isOpen ? [row, ...rowsOf(entry.path, level + 1)] : [row]
    })
  }

  return {
    directories,
    opened,
    rows: computed(() => rowsOf('', 1)),
    load,
    /** Reloads every expanded directory; one that no longer exists is collapsed. */
    async reload(): Promise<void> {
      await Promise.all(['', ...opened.value].map(load))
      const deleted = [...opened.value].filter(
        path => directories.value.get(path)?.state === 'failed',
      )
      if (deleted.length === 0) return
      opened.value = new Set([...opened.value].filter(path => !deleted.includes(path)))
      directories.value = new Map(
        [...directories.value].filter(([path]) => !deleted.includes(path)),
      )
    },
    open(path: string): void {
      if (!path || opened.value.has(path)) return
      opened.value = new Set(opened.value).add(path)
      void load(path)
    },
    close(path: string): void {
      opened.value = new Set([...opened.value].filter(one => one !== path))
    },
    /** The session works in another workspace. */
    reset(): void {
      newest.dropPending()
      directories.value = new Map()
      opened.value = new Set()
    },
    /** Follows a rename or move (`to`) or a deletion (`to` is null). */
    moved(from: string, to: string | null): void {
      const isUnder = (path: string) => path === from || path.startsWith(`${from}/`)
      const renamed = (path: string) => (to === null ? path : to + path.slice(from.length))
      const kept = [...opened.value].filter(path => to !== null || !isUnder(path))
      opened.value = new Set(kept.map(path => (isUnder(path) ? renamed(path) : path)))
      directories.value = new Map([...directories.value].filter(([path]) => !isUnder(path)))
      if (to !== null) void loadMissing()
    },
  }
}
