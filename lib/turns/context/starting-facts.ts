/** Facts about a workspace from which the page suggests what to work on. Nothing of the workspace is executed. */
import type { Bounds } from '../../store/dir-handle.ts'
import type { WorkspaceGitOptions } from '../../workspaces/git.ts'
import { projectRoot } from './context-files.ts'
import { changedFiles, openFacts, STATUS } from './git-facts.ts'
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

const NO_MATCH = 1

const countChanges = async (root: string, options: WorkspaceGitOptions) => {
  const read = await openFacts(root, options)
  const [status, marks] = await Promise.all([
    read?.(STATUS),
    read?.(['grep', '-I', '-c', '-w', '--no-color', '-e', 'TODO', '-e', 'FIXME'], NO_MATCH),
  ])
  const counts = marks?.split('\n').map(line => Number(/:(\d+)$/.exec(line)?.[1] ?? 0))
  return {
    changed_files: status == null ? null : changedFiles(status).length,
    todos: counts ? counts.reduce((sum, count) => sum + count, 0) : null,
  }
}

/** `bounds`: the workspace, without what is hidden from requests. */
export const startingFacts = async (
  bounds: Bounds,
  git: WorkspaceGitOptions,
): Promise<StartingFacts> => ({
  ...startingProject(bounds),
  ...(await countChanges(projectRoot(bounds.root), git)),
})
