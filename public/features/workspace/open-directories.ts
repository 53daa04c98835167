/** The directories a person has expanded in the file tree: loading, expanding, and the visible rows. */
import { computed, signal } from '@preact/signals'
import type { FileEntry } from '../../../lib/schema/workspace.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Shell } from '../shell/shell-state.ts'

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

export class OpenDirectories {
  protected readonly shell: Shell
  protected readonly session: { session_id: string }
  readonly directories = signal<ReadonlyMap<string, Directory>>(new Map())
  readonly openPaths = signal<ReadonlySet<string>>(new Set())
  readonly #newest = createResponseOrder()
  readonly rows = computed(() => this.#rowsOf('', 1))

  constructor(shell: Shell, sessionId: string) {
    this.shell = shell
    this.session = { session_id: sessionId }
  }

  readonly load = async (path: string): Promise<void> => {
    const directory = this.directories.value.get(path)
    if (!directory) this.#put(path, LOADING)
    const isNewest = this.#newest(path)
    try {
      const input = { ...this.session, path: path || '.' }
      const { entries, total } = await this.shell.api('GET /api/list', input)
      if (isNewest()) this.#put(path, { state: 'ready', entries, total, error: '' })
    } catch (error) {
      if (!isNewest()) return
      const message = error instanceof Error ? error.message : String(error)
      this.#put(path, { ...(directory ?? LOADING), state: 'failed', error: message })
    }
  }

  /** Reloads every expanded directory; one that no longer exists is collapsed. */
  readonly reload = async (): Promise<void> => {
    await Promise.all(['', ...this.openPaths.value].map(this.load))
    const deleted = [...this.openPaths.value].filter(
      path => this.directories.value.get(path)?.state === 'failed',
    )
    if (deleted.length === 0) return
    this.openPaths.value = new Set(
      [...this.openPaths.value].filter(path => !deleted.includes(path)),
    )
    this.directories.value = new Map(
      [...this.directories.value].filter(([path]) => !deleted.includes(path)),
    )
  }

  readonly open = (path: string): void => {
    if (!path || this.openPaths.value.has(path)) return
    this.openPaths.value = new Set(this.openPaths.value).add(path)
    void this.load(path)
  }

  readonly close = (path: string): void => {
    this.openPaths.value = new Set([...this.openPaths.value].filter(one => one !== path))
  }

  /** The session works in another workspace. */
  reset(): void {
    this.#newest.dropPending()
    this.directories.value = new Map()
    this.openPaths.value = new Set()
  }

  /** Follows a rename or move (`to`) or a deletion (`to` is null). */
  readonly moved = (from: string, to: string | null): void => {
    const isUnder = (path: string) => path === from || path.startsWith(`${from}/`)
    const renamed = (path: string) => (to === null ? path : to + path.slice(from.length))
    const remaining = [...this.openPaths.value].filter(path => to !== null || !isUnder(path))
    this.openPaths.value = new Set(remaining.map(path => (isUnder(path) ? renamed(path) : path)))
    this.directories.value = new Map([...this.directories.value].filter(([path]) => !isUnder(path)))
    if (to !== null) void this.#loadMissing()
  }

  #put(path: string, directory: Directory): void {
    this.directories.value = new Map(this.directories.value).set(path, directory)
  }

  async #loadMissing(): Promise<void> {
    await Promise.all(
      [...this.openPaths.value].filter(path => !this.directories.value.has(path)).map(this.load),
    )
  }

  #rowsOf(path: string, level: number): TreeRow[] {
    const children = this.directories.value.get(path)?.entries ?? []
    const entries = children.filter(({ name }) => name !== GIT_DIR)
    return entries.flatMap((entry, index) => {
      const isOpen = entry.type === 'dir' && this.openPaths.value.has(entry.path)
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
      return isOpen ? [row, ...this.#rowsOf(entry.path, level + 1)] : [row]
    })
  }
}
