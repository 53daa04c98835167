/** The saved workspaces, and path suggestions. */
import { signal } from '@preact/signals'
import type { FileEntry, FoundFile, Workspace } from '../../../lib/schema/workspace.ts'
import type { Platform } from '../../platform.ts'

export const createWorkspaces = ({ api }: Pick<Platform, 'api'>) => {
  const list = signal<readonly Workspace[]>([])
  /** The workspace used last, and the default of new sessions. */
  const last = signal('')

  return {
    list,
    last,
    nameOf(path: string): string {
      const saved = list.value.find(workspace => workspace.path === path)
      return saved?.name ?? path.split('/').filter(Boolean).at(-1) ?? path
    },
    async load(): Promise<void> {
      const reply = await api('GET /api/workspaces')
      list.value = reply.workspaces
      last.value = reply.last
    },
    suggest: async (prefix: string, signal?: AbortSignal): Promise<string[]> =>
      (await api('GET /api/workspaces/suggest', { prefix }, signal ? { signal } : {})).suggestions,
    /** Selecting a new directory saves it, which marks it as trusted. */
    async trust(path: string): Promise<void> {
      if (list.value.some(workspace => workspace.path === path)) return
      list.value = (await api('POST /api/workspaces/add', { path })).workspaces
    },
    /** Files and folders at any depth, by parts of their path. */
    search: async (sessionId: string, query: string): Promise<FoundFile[]> =>
      (await api('GET /api/files/search', { session_id: sessionId, q: query })).files,
    entries: async (sessionId: string, path: string): Promise<FileEntry[]> =>
      (await api('GET /api/list', { session_id: sessionId, path: path || '.' })).entries,
  }
}

export type Workspaces = ReturnType<typeof createWorkspaces>
