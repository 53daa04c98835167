/** The saved workspaces, and folders to choose from. */
import { signal } from '@preact/signals'
import type { FileEntry, FolderList, FoundFile, Workspace } from '../../../lib/schema/workspace.ts'
import type { Platform } from '../../platform.ts'
import { t } from '../../strings/t.ts'

const folderName = (path: string): string => path.split('/').filter(Boolean).at(-1) ?? path

/** The server calls the default folder Home, which no person named so: it has the name of its folder. */
const shownName = ({ name, path }: Workspace): string => (name === 'Home' ? folderName(path) : name)

export class Workspaces {
  readonly #platform: Platform
  readonly list = signal<readonly Workspace[]>([])
  /** The workspace used last, and the default of new sessions. */
  readonly last = signal('')
  /** The service's own folder, for chats when nobody chose one. */
  readonly #scratch = signal('')

  constructor(platform: Platform) {
    this.#platform = platform
  }

  nameOf(path: string): string {
    if (path && path === this.#scratch.value) return t('chip.workspace.scratch')
    const match = this.list.value.find(workspace => workspace.path === path)
    return match ? shownName(match) : folderName(path)
  }

  async load(): Promise<void> {
    const reply = await this.#platform.api('GET /api/workspaces')
    this.list.value = reply.workspaces
    this.last.value = reply.last
    this.#scratch.value = reply.scratch
  }

  /** The folders inside of one that the person may choose; those where to begin for an empty path. */
  folders(path: string): Promise<FolderList> {
    return this.#platform.api('GET /api/workspaces/folders', { path })
  }

  /** Selecting a new directory saves it, which marks it as trusted. */
  async trust(path: string): Promise<void> {
    if (this.list.value.some(workspace => workspace.path === path)) return
    this.list.value = (await this.#platform.api('POST /api/workspaces/add', { path })).workspaces
  }

  /** Files and folders at any depth, by parts of their path. */
  async search(sessionId: string, query: string): Promise<FoundFile[]> {
    return (await this.#platform.api('GET /api/files/search', { session_id: sessionId, q: query }))
      .files
  }

  async entries(sessionId: string, path: string): Promise<FileEntry[]> {
    return (await this.#platform.api('GET /api/list', { session_id: sessionId, path: path || '.' }))
      .entries
  }
}
