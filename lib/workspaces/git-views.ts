/** Git information, status and diffs for the workspace of a session. */
import { join } from 'node:path'
import { UserError } from '../errors.ts'
import type { GitCommit, GitDiff, GitInfo, GitStatus, NamedCommit } from '../schema/git.ts'
import type { FileScope, ScopeHome } from './file-scope.ts'
import { findCommits, readCommit } from './git-commit.ts'
import { type WorkspaceGitOptions, openGit } from './git.ts'
import { type DiffKind, readDiff } from './git-diff.ts'
import { readInfo, readStatus } from './git-status.ts'

export type GitViews = {
  info(home: ScopeHome, sessionId: string): Promise<GitInfo>
  status(home: ScopeHome, sessionId: string): Promise<GitStatus>
  diff(home: ScopeHome, sessionId: string, path: string, kind: DiffKind): Promise<GitDiff>
  /** Which of these ids are commits. */
  commits(home: ScopeHome, sessionId: string, ids: readonly string[]): Promise<NamedCommit[]>
  commit(home: ScopeHome, sessionId: string, id: string): Promise<GitCommit>
}

export const createGitViews = (
  areaOf: (home: ScopeHome, sessionId: string) => FileScope,
  places: WorkspaceGitOptions,
): GitViews => {
  const open = async (home: ScopeHome, sessionId: string) => {
    const area = areaOf(home, sessionId)
    const isHidden = (path: string) => area.isHidden(join(area.root, path))
    return { area, isHidden, git: await openGit(area.root, places) }
  }
  return {
    async info(home, sessionId) {
      const area = areaOf(home, sessionId)
      try {
        return await readInfo(await openGit(area.root, places))
      } catch (error) {
        // A badge is not worth an error: git is missing, broken or too slow.
        if (error instanceof UserError && error.kind === 'unavailable') return { git: null }
        throw error
      }
    },
    async status(home, sessionId) {
      const { git, isHidden } = await open(home, sessionId)
      return readStatus(git, isHidden)
    },
    async diff(home, sessionId, path, kind) {
      const { git, area, isHidden } = await open(home, sessionId)
      return readDiff(git, area, isHidden, { path, kind })
    },
    async commits(home, sessionId, ids) {
      if (ids.length === 0) return []
      const { git } = await open(home, sessionId)
      return findCommits(git, ids)
    },
    async commit(home, sessionId, id) {
      const { git, isHidden } = await open(home, sessionId)
      return readCommit(git, isHidden, id)
    },
  }
}
