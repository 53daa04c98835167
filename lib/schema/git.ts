/** Git state of a workspace. */
import { z } from 'zod'

const counts = {
  branch: z.string(),
  /** All lines of `git status --porcelain`. */
  dirty: z.number(),
  modified: z.number(),
  untracked: z.number(),
  ahead: z.number(),
  behind: z.number(),
}

/** The six fields are sent twice, for two kinds of clients. Only `git: null` without a repository. */
export const GitInfo = z
  .object({
    git: z.object({ ...counts, is_git: z.literal(true) }).nullable(),
    ...z.object(counts).partial().shape,
  })
  .meta({ id: 'GitInfo' })
export type GitInfo = z.infer<typeof GitInfo>

export const GitFile = z
  .object({
    /** Relative to the workspace. */
    path: z.string(),
    old_path: z.string().optional(),
    /** Status letters of git for index and working tree: M T A D R C U, `?`, or a space for unchanged. */
    index: z.string(),
    worktree: z.string(),
    status: z.enum([
      'modified',
      'added',
      'deleted',
      'renamed',
      'copied',
      'typechange',
      'untracked',
      'conflict',
    ]),
  })
  .meta({ id: 'GitFile' })
export type GitFile = z.infer<typeof GitFile>

export const GitStatus = z
  .object({
    is_git: z.boolean(),
    /** The abbreviated commit when HEAD is detached; null without a repository. */
    branch: z.string().nullable(),
    detached: z.boolean(),
    upstream: z.string().nullable(),
    ahead: z.number(),
    behind: z.number(),
    files: z.array(GitFile),
    /** There are more files than these. */
    truncated: z.boolean(),
  })
  .meta({ id: 'GitStatus' })
export type GitStatus = z.infer<typeof GitStatus>

export const GitDiff = z
  .object({
    path: z.string(),
    diff: z.string(),
    binary: z.boolean(),
    truncated: z.boolean(),
    /** Names exactly this change: staging lines of it is refused when the file has changed since. Absent when it can only be staged as a whole. */
    id: z.string().optional(),
  })
  .meta({ id: 'GitDiff' })
export type GitDiff = z.infer<typeof GitDiff>

/** As people write it: abbreviated to no fewer than seven digits. */
export const CommitId = z.string().regex(/^[0-9a-f]{7,40}$/)

export const GitCommit = z
  .object({
    id: z.string(),
    author: z.string(),
    email: z.string(),
    /** Author date in seconds. */
    time: z.number(),
    message: z.string(),
    /** How many files it changed. */
    files: z.number(),
    diff: z.string(),
    truncated: z.boolean(),
  })
  .meta({ id: 'GitCommit' })
export type GitCommit = z.infer<typeof GitCommit>

export const GitOperation = z.enum(['merge', 'rebase', 'cherry-pick', 'revert'])
export type GitOperation = z.infer<typeof GitOperation>

export const GitBranch = z
  .object({
    /** With the name of the remote for a branch of one. */
    name: z.string(),
    remote: z.boolean(),
    current: z.boolean(),
    upstream: z.string().optional(),
    ahead: z.number(),
    behind: z.number(),
    /** Seconds since 1970, like all times here. */
    committed_at: z.number(),
  })
  .meta({ id: 'GitBranch' })
export type GitBranch = z.infer<typeof GitBranch>

export const GitLogEntry = z
  .object({
    id: z.string(),
    author: z.string(),
    committed_at: z.number(),
    /** Branches and tags at this commit, as `git log` names them. */
    refs: z.string(),
    message: z.string(),
  })
  .meta({ id: 'GitLogEntry' })
export type GitLogEntry = z.infer<typeof GitLogEntry>

/** What a discard replaced, to undo it: blobs of the file before and after; empty for a file that was not there. */
export const GitDiscarded = z
  .object({ path: z.string(), before: z.string(), after: z.string() })
  .meta({ id: 'GitDiscarded' })

/** A worktree in which a chat works on a branch of its own. */
export const GitWorktree = z
  .object({
    path: z.string(),
    branch: z.string(),
    /** It is the workspace of this session. */
    current: z.boolean(),
    /** The checkout that it is merged into, and the branch there. */
    main: z.string(),
    base: z.string(),
    /** Commits that only the worktree has, and that only the base has. */
    ahead: z.number(),
    behind: z.number(),
  })
  .meta({ id: 'GitWorktree' })
export type GitWorktree = z.infer<typeof GitWorktree>
