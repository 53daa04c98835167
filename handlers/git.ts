/** Git status and diffs of a session's workspace. Read-only. */
import { join } from 'node:path'
import { z } from 'zod'
import { redact } from '../lib/base/redact/redact.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { UserError } from '../lib/errors.ts'
import { CommitId, GitCommit, GitDiff, GitInfo, GitStatus } from '../lib/schema/git.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { describeDiff } from '../lib/workspaces/git-changes.ts'
import { readCommit } from '../lib/workspaces/git-diff.ts'
import { type DiffKind, readDiff } from '../lib/workspaces/git-diff.ts'
import { readInfo, readStatus } from '../lib/workspaces/git-status.ts'
import { openGit } from '../lib/workspaces/git.ts'

const OneSession = z.object({ session_id: SessionId })

const open = async ({ app, home }: Ctx, sessionId: string) => {
  const area = app.files.areas.of(home, sessionId)
  const isHidden = (path: string) => area.isHidden(join(area.root, path))
  return { area, isHidden, git: await openGit(area.root, app.files.gitOptions) }
}

export const info = endpoint({
  access: 'read',
  summary: 'Branch and change counts, or null without a repository',
  input: OneSession,
  output: GitInfo,
  run: async (ctx, { session_id }) => {
    try {
      return await readInfo((await open(ctx, session_id)).git)
    } catch (error) {
      // A badge is not worth an error: git is missing, broken or too slow.
      if (error instanceof UserError && error.kind === 'unavailable') return { git: null }
      throw error
    }
  },
})

export const status = endpoint({
  access: 'read',
  summary: 'Branch, upstream and changed files of the workspace',
  input: OneSession,
  output: GitStatus,
  run: async (ctx, { session_id }) => {
    const { git, isHidden } = await open(ctx, session_id)
    return readStatus(git, isHidden)
  },
})

/** Names that other clients use for the same kinds. */
const KINDS: Readonly<Record<string, DiffKind>> = { staged: 'index', unstaged: 'worktree' }

export const diff = endpoint({
  access: 'read',
  summary: 'The diff of one changed file: of the working tree, of the index, or of a new file',
  input: OneSession.extend({
    path: z.string().min(1),
    kind: z.enum(['worktree', 'index', 'untracked', 'unstaged', 'staged']).default('worktree'),
  }),
  output: GitDiff,
  run: async (ctx, { session_id, path, kind: kindName }) => {
    const { app, home } = ctx
    const { git, isHidden, area } = await open(ctx, session_id)
    const kind = KINDS[kindName] ?? (kindName as DiffKind)
    const raw = await readDiff(git, area, isHidden, { path, kind })
    const view = { ...raw, diff: redact(raw.diff) }
    if (kind === 'untracked') return view
    const { id, divisible } = await describeDiff(
      await app.personGit(home, area.root),
      path,
      kind === 'index' ? 'staged' : 'unstaged',
    )
    // A masked secret of several lines changes their numbers.
    const isWhole = !raw.truncated && view.diff === raw.diff
    return divisible && isWhole ? { ...view, id } : view
  },
})

export const commit = endpoint({
  access: 'read',
  summary: 'A commit with its diff; of a merge, the diff against its first parent',
  input: OneSession.extend({ commit: CommitId }),
  output: GitCommit,
  run: async (ctx, { session_id, commit: id }) => {
    const { git, isHidden } = await open(ctx, session_id)
    const commit = await readCommit(git, isHidden, id)
    return { ...commit, message: redact(commit.message), diff: redact(commit.diff) }
  },
})
