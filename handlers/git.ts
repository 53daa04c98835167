/** Git status and diffs of a session's workspace. Read-only. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { CommitId, GitCommit, GitDiff, GitInfo, GitStatus } from '../lib/schema/git.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { describeDiff } from '../lib/workspaces/git-changes.ts'
import type { DiffKind } from '../lib/workspaces/git-diff.ts'

const OneSession = z.object({ session_id: SessionId })

export const info = endpoint({
  access: 'read',
  summary: 'Branch and change counts, or null without a repository',
  input: OneSession,
  output: GitInfo,
  run: ({ app, home }, { session_id }) => app.files.git.info(home, session_id),
})

export const status = endpoint({
  access: 'read',
  summary: 'Branch, upstream and changed files of the workspace',
  input: OneSession,
  output: GitStatus,
  run: ({ app, home }, { session_id }) => app.files.git.status(home, session_id),
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
  run: async ({ app, home }, { session_id, path, kind }) => {
    const found = await app.files.git.diff(
      home,
      session_id,
      path,
      KINDS[kind] ?? (kind as DiffKind),
    )
    const shown = { ...found, diff: app.redact(found.diff) }
    if (kind === 'untracked') return shown
    const { root } = app.files.areas.of(home, session_id)
    const { id, divisible } = await describeDiff(
      await app.personGit(home, root),
      path,
      kind === 'index' || kind === 'staged' ? 'staged' : 'unstaged',
    )
    // A masked secret of several lines changes their numbers.
    const isWhole = !found.truncated && shown.diff === found.diff
    return divisible && isWhole ? { ...shown, id } : shown
  },
})

export const commit = endpoint({
  access: 'read',
  summary: 'A commit with its diff; of a merge, the diff against its first parent',
  input: OneSession.extend({ commit: CommitId }),
  output: GitCommit,
  run: async ({ app, home }, { session_id, commit: id }) => {
    const found = await app.files.git.commit(home, session_id, id)
    return { ...found, message: app.redact(found.message), diff: app.redact(found.diff) }
  },
})
