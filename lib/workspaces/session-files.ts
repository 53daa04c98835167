/** The files, git and uploads of sessions, for their endpoints. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import { UserError } from '../errors.ts'
import type { GitCommit, GitDiff, GitInfo, GitStatus, NamedCommit } from '../schema/git.ts'
import type { FileScopes, ScopeHome } from './file-scope.ts'
import { findCommits, readCommit } from './git-commit.ts'
import { type DiffKind, readDiff } from './git-diff.ts'
import { readInfo, readStatus } from './git-status.ts'
import { openGit, type WorkspaceGitOptions } from './git.ts'
import { Trash } from './trash.ts'

/** Git information, status and diffs for the workspace of a session. */
export class GitViews {
  readonly #areas: FileScopes
  readonly #places: WorkspaceGitOptions

  constructor(areas: FileScopes, places: WorkspaceGitOptions) {
    this.#areas = areas
    this.#places = places
  }

  async #open(home: ScopeHome, sessionId: string) {
    const area = this.#areas.of(home, sessionId)
    const isHidden = (path: string) => area.isHidden(join(area.root, path))
    return { area, isHidden, git: await openGit(area.root, this.#places) }
  }

  async info(home: ScopeHome, sessionId: string): Promise<GitInfo> {
    const area = this.#areas.of(home, sessionId)
    try {
      return await readInfo(await openGit(area.root, this.#places))
    } catch (error) {
      // A badge is not worth an error: git is missing, broken or too slow.
      if (error instanceof UserError && error.kind === 'unavailable') return { git: null }
      throw error
    }
  }

  async status(home: ScopeHome, sessionId: string): Promise<GitStatus> {
    const { git, isHidden } = await this.#open(home, sessionId)
    return readStatus(git, isHidden)
  }

  async diff(home: ScopeHome, sessionId: string, path: string, kind: DiffKind): Promise<GitDiff> {
    const { git, area, isHidden } = await this.#open(home, sessionId)
    return readDiff(git, area, isHidden, { path, kind })
  }

  /** Which of these ids are commits. */
  async commits(
    home: ScopeHome,
    sessionId: string,
    ids: readonly string[],
  ): Promise<NamedCommit[]> {
    if (ids.length === 0) return []
    const { git } = await this.#open(home, sessionId)
    return findCommits(git, ids)
  }

  async commit(home: ScopeHome, sessionId: string, id: string): Promise<GitCommit> {
    const { git, isHidden } = await this.#open(home, sessionId)
    return readCommit(git, isHidden, id)
  }
}

export class SessionFiles {
  readonly areas: FileScopes
  /** Uploads on their way. */
  readonly incomingDir: string
  readonly trash: Trash
  readonly git: GitViews

  constructor(config: Config, areas: FileScopes, clock: Clock) {
    const { stateDir, userHome, env } = config
    this.areas = areas
    this.incomingDir = join(stateDir, 'incoming')
    // Left by a killed process; the instance lock makes this process the only user of the folder.
    rmSync(this.incomingDir, { recursive: true, force: true })
    this.trash = new Trash(join(stateDir, 'file-trash'), clock)
    this.git = new GitViews(areas, {
      path: env.PATH,
      userHome,
      xdgConfigHome: env.XDG_CONFIG_HOME,
    })
  }
}
