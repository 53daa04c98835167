/** Git status of the workspace: branch, changed files, and the diffs of expanded ones. */
import { computed, signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Platform } from '../../platform.ts'

export type GitStatus = Api['GET /api/git/status']['output']
export type ChangedFile = GitStatus['files'][number]
export type DiffKind = 'staged' | 'unstaged' | 'untracked'
export type Mark = 'modified' | 'added' | 'deleted' | 'renamed' | 'untracked' | 'conflict'

/** A row of the list. A file has two rows when it is staged and changed again. */
export type Change = { key: string; path: string; from: string | null; kind: DiffKind; mark: Mark }
export type LoadedDiff = {
  state: 'loading' | 'ready' | 'failed'
  diff: string
  binary: boolean
  truncated: boolean
  /** Absent when it can only be staged as a whole. */
  id?: string
  /** Headers of the parts that are undone now, in the change of a turn. */
  undone?: readonly string[]
}

const letters: Readonly<Record<string, Mark>> = {
  M: 'modified',
  T: 'modified',
  A: 'added',
  C: 'added',
  D: 'deleted',
  R: 'renamed',
  U: 'conflict',
  '?': 'untracked',
}
const blank = (letter: string): boolean => letter.trim() === '' || letter === '.'
const isConflict = ({ index, worktree }: ChangedFile): boolean =>
  index === 'U' || worktree === 'U' || (index === worktree && (index === 'A' || index === 'D'))

const markOf = (file: ChangedFile): Mark => {
  if (isConflict(file)) return 'conflict'
  return letters[blank(file.worktree) ? file.index : file.worktree] ?? 'modified'
}

/** Staged and unstaged rows, each in git's order. */
export const splitChanges = (
  files: readonly ChangedFile[],
): { staged: Change[]; unstaged: Change[] } => {
  const staged: Change[] = []
  const unstaged: Change[] = []
  for (const file of files) {
    const { path, index, worktree } = file
    const from = file.old_path ?? null
    const add = (list: Change[], kind: DiffKind, mark: Mark) =>
      list.push({ key: `${kind}:${path}`, path, from, kind, mark })
    if (isConflict(file)) add(unstaged, 'unstaged', 'conflict')
    else if (worktree === '?') add(unstaged, 'untracked', 'untracked')
    else {
      if (!blank(index)) add(staged, 'staged', letters[index] ?? 'modified')
      if (!blank(worktree)) add(unstaged, 'unstaged', letters[worktree] ?? 'modified')
    }
  }
  return { staged, unstaged }
}

export const createGitChanges = ({ api }: Pick<Platform, 'api'>, sessionId: string) => {
  const status = signal<GitStatus | null>(null)
  const state = signal<'none' | 'loading' | 'ready' | 'failed'>('none')
  const error = signal('')
  const diffs = signal<ReadonlyMap<string, LoadedDiff>>(new Map())
  const opened = signal<ReadonlySet<string>>(new Set())
  const newest = createResponseOrder()

  const marks = computed(() => {
    const found = new Map<string, Mark>()
    for (const file of status.value?.files ?? []) found.set(file.path, markOf(file))
    return found
  })
  /** Directories that contain a change. */
  const touched = computed(() => {
    const found = new Set<string>()
    for (const path of marks.value.keys()) {
      for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
        found.add(path.slice(0, at))
      }
    }
    return found
  })
  const lines = computed(() => splitChanges(status.value?.files ?? []))

  const put = (key: string, diff: LoadedDiff): void => {
    diffs.value = new Map(diffs.value).set(key, diff)
  }
  const nothing = { diff: '', binary: false, truncated: false }

  const loadDiff = async ({ key, path, kind }: Change): Promise<void> => {
    if (!diffs.value.has(key)) put(key, { state: 'loading', ...nothing })
    const isNewest = newest(key)
    try {
      const found = await api('GET /api/git/diff', { session_id: sessionId, path, kind })
      const { diff, binary, truncated, id } = found
      const part = id ? { id } : {}
      if (isNewest()) put(key, { state: 'ready', diff, binary, truncated, ...part })
    } catch {
      // Shown in place of the diff; expanding it again retries.
      if (isNewest()) put(key, { state: 'failed', ...nothing })
    }
  }

  const load = async (): Promise<void> => {
    if (!status.value) state.value = 'loading'
    const isNewest = newest('')
    try {
      const found = await api('GET /api/git/status', { session_id: sessionId })
      if (!isNewest()) return
      status.value = found
      state.value = 'ready'
      const all = [...lines.value.staged, ...lines.value.unstaged]
      const keys = new Set(all.map(({ key }) => key))
      opened.value = new Set([...opened.value].filter(key => keys.has(key)))
      diffs.value = new Map([...diffs.value].filter(([key]) => opened.value.has(key)))
      await Promise.all(all.filter(({ key }) => opened.value.has(key)).map(loadDiff))
    } catch (thrown) {
      if (!isNewest()) return
      error.value = thrown instanceof Error ? thrown.message : String(thrown)
      state.value = 'failed'
    }
  }

  return {
    status,
    state,
    error,
    diffs,
    opened,
    marks,
    touched,
    lines,
    count: computed(() => status.value?.files.length ?? 0),
    load,
    /** The session works in another workspace. */
    reset(): void {
      newest.dropPending()
      status.value = null
      state.value = 'none'
      diffs.value = new Map()
      opened.value = new Set()
    },
    toggle(change: Change): void {
      const next = new Set(opened.value)
      if (!next.delete(change.key)) {
        next.add(change.key)
        void loadDiff(change)
      }
      opened.value = next
    },
  }
}

export type GitChanges = ReturnType<typeof createGitChanges>
