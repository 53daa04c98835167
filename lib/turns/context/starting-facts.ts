/** Facts about a workspace from which the page suggests what to work on. Nothing of the workspace is executed. */
import type { Clock } from '../../base/clock.ts'
import type { Bounds } from '../../store/dir-handle.ts'
import { openGit, type WorkspaceGitOptions } from '../../workspaces/git.ts'
import { projectRoot } from './context-files.ts'
import { changedFiles, STATUS } from './git-facts.ts'
import { startingProject } from './project-facts.ts'

export type StartingFacts = {
  /** There is nothing in the directory. */
  empty: boolean
  readme: boolean
  /** The command that runs the tests, where a file names it. */
  test_command: string | null
  /** Uncommitted files; null without a repository, or when git did not answer in time. */
  changed_files: number | null
  /** TODO and FIXME marks in files that git tracks; null like `changed_files`. */
  todos: number | null
}

/** Per command of git. */
const TIMEOUT_MS = 400
const MAX_BYTES = 1024 * 1024
const CACHED_MS = 30_000
const MAX_CACHED = 50
const NO_MATCH = 1

const countChanges = async (root: string, options: WorkspaceGitOptions) => {
  const git = await openGit(root, { timeoutMs: TIMEOUT_MS, ...options }).catch(() => undefined)
  const read = async (args: readonly string[]): Promise<string | null> => {
    try {
      const found = await git?.(args, { maxBytes: MAX_BYTES })
      if (!found || found.isCut) return null
      return found.code === 0 ? found.text : found.code === NO_MATCH ? '' : null
    } catch {
      // A timeout: the fact is left out.
      return null
    }
  }
  const [status, marks] = await Promise.all([
    read(STATUS),
    read(['grep', '-I', '-c', '-w', '--no-color', '-e', 'TODO', '-e', 'FIXME']),
  ])
  const counts = marks?.split('\n').map(line => Number(/:(\d+)$/.exec(line)?.[1] ?? 0))
  return {
    changed_files: status === null ? null : changedFiles(status).length,
    todos: counts ? counts.reduce((sum, count) => sum + count, 0) : null,
  }
}

/** The facts of workspaces, each for half a minute. */
export class StartingFactsCache {
  readonly #clock: Clock
  readonly #git: WorkspaceGitOptions
  readonly #known = new Map<string, { at: number; facts: Promise<StartingFacts> }>()

  constructor(clock: Clock, git: WorkspaceGitOptions) {
    this.#clock = clock
    this.#git = git
  }

  /** `bounds`: the workspace, without what is hidden from requests. */
  of(bounds: Bounds): Promise<StartingFacts> {
    const now = this.#clock.monotonic()
    const known = this.#known.get(bounds.root)
    if (known && now - known.at < CACHED_MS) return known.facts
    const facts = countChanges(projectRoot(bounds.root), this.#git).then(counts => ({
      ...startingProject(bounds),
      ...counts,
    }))
    this.#known.delete(bounds.root)
    this.#known.set(bounds.root, { at: now, facts })
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_CACHED && oldest !== undefined) this.#known.delete(oldest)
    return facts
  }
}
