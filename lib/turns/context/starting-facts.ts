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

/** Answers are kept for half a minute. */
export const createStartingFacts = (
  options: WorkspaceGitOptions & { clock: Pick<Clock, 'monotonic'> },
) => {
  const { clock } = options
  const known = new Map<string, { at: number; facts: Promise<StartingFacts> }>()
  const collect = async (bounds: Bounds): Promise<StartingFacts> => ({
    ...startingProject(bounds),
    ...(await countChanges(projectRoot(bounds.root), options)),
  })
  /** `bounds`: the workspace, without what is hidden from requests. */
  return (bounds: Bounds): Promise<StartingFacts> => {
    const found = known.get(bounds.root)
    if (found && clock.monotonic() - found.at < CACHED_MS) return found.facts
    const facts = collect(bounds)
    known.delete(bounds.root)
    known.set(bounds.root, { at: clock.monotonic(), facts })
    const [oldest] = known.keys()
    if (known.size > MAX_CACHED && oldest !== undefined) known.delete(oldest)
    return facts
  }
}
