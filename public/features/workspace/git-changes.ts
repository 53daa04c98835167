/** Git status of the workspace: branch, changed files, and the diffs of expanded ones. */
import { computed, signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Shell } from '../shell/shell-state.ts'

export type GitStatus = Api['GET /api/git/status']['output']
export type ChangedFile = GitStatus['files'][number]
export type DiffKind = 'staged' | 'unstaged' | 'untracked'
export type Mark = 'modified' | 'added' | 'deleted' | 'renamed' | 'untracked' | 'conflict'

/** A row of the list. A file has two rows when it is staged and changed again. */
export type GitChange = {
  key: string
  path: string
  from: string | null
  kind: DiffKind
  mark: Mark
}
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
): { staged: GitChange[]; unstaged: GitChange[] } => {
  const staged: GitChange[] = []
  const unstaged: GitChange[] = []
  for (const file of files) {
    const { path, index, worktree } = file
    const from = file.old_path ?? null
    const add = (list: GitChange[], kind: DiffKind, mark: Mark) =>
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

export class GitChanges {
  readonly #shell: Shell
  readonly #session: { session_id: string }
  readonly status = signal<GitStatus | null>(null)
  readonly state = signal<'none' | 'loading' | 'ready' | 'failed'>('none')
  readonly error = signal('')
  readonly diffs = signal<ReadonlyMap<string, LoadedDiff>>(new Map())
  readonly openKeys = signal<ReadonlySet<string>>(new Set())
  readonly #newest = createResponseOrder()
  readonly marks = computed(() => {
    const marks = new Map<string, Mark>()
    for (const file of this.status.value?.files ?? []) marks.set(file.path, markOf(file))
    return marks
  })
  /** Directories that contain a change. */
  readonly touched = computed(() => {
    const paths = new Set<string>()
    for (const path of this.marks.value.keys()) {
      for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
        paths.add(path.slice(0, at))
      }
    }
    return paths
  })
  readonly lines = computed(() => splitChanges(this.status.value?.files ?? []))
  readonly #nothing = { diff: '', binary: false, truncated: false }
  readonly count = computed(() => this.status.value?.files.length ?? 0)

  constructor(shell: Shell, sessionId: string) {
    this.#shell = shell
    this.#session = { session_id: sessionId }
  }

  readonly #loadDiff = async ({ key, path, kind }: GitChange): Promise<void> => {
    const { api } = this.#shell
    if (!this.diffs.value.has(key)) this.#put(key, { state: 'loading', ...this.#nothing })
    const isNewest = this.#newest(key)
    try {
      const reply = await api('GET /api/git/diff', { ...this.#session, path, kind })
      const { diff, binary, truncated, id } = reply
      const part = id ? { id } : {}
      if (isNewest()) this.#put(key, { state: 'ready', diff, binary, truncated, ...part })
    } catch {
      // Shown in place of the diff; expanding it again retries.
      if (isNewest()) this.#put(key, { state: 'failed', ...this.#nothing })
    }
  }

  async load(): Promise<void> {
    const { api } = this.#shell
    if (!this.status.value) this.state.value = 'loading'
    const isNewest = this.#newest('')
    try {
      const reply = await api('GET /api/git/status', this.#session)
      if (!isNewest()) return
      this.status.value = reply
      this.state.value = 'ready'
      const all = [...this.lines.value.staged, ...this.lines.value.unstaged]
      const keys = new Set(all.map(({ key }) => key))
      this.openKeys.value = new Set([...this.openKeys.value].filter(key => keys.has(key)))
      this.diffs.value = new Map(
        [...this.diffs.value].filter(([key]) => this.openKeys.value.has(key)),
      )
      await Promise.all(all.filter(({ key }) => this.openKeys.value.has(key)).map(this.#loadDiff))
    } catch (thrown) {
      if (!isNewest()) return
      this.error.value = thrown instanceof Error ? thrown.message : String(thrown)
      this.state.value = 'failed'
    }
  }

  /** The session works in another workspace. */
  reset(): void {
    this.#newest.dropPending()
    this.status.value = null
    this.state.value = 'none'
    this.diffs.value = new Map()
    this.openKeys.value = new Set()
  }

  toggle(change: GitChange): void {
    const next = new Set(this.openKeys.value)
    if (!next.delete(change.key)) {
      next.add(change.key)
      void this.#loadDiff(change)
    }
    this.openKeys.value = next
  }

  /** Opens it, unless it is open. */
  show(change: GitChange): void {
    if (!this.openKeys.peek().has(change.key)) this.toggle(change)
  }

  #put(key: string, diff: LoadedDiff): void {
    this.diffs.value = new Map(this.diffs.value).set(key, diff)
  }
}
