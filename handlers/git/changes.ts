/** Changes of a Git repository by the person: index, commits, branches, stashes, remotes. The agent has no part in them. */
import { z } from 'zod'
import { endpoint } from '../../lib/context.ts'
import type { Ctx } from '../../lib/context.ts'
import {
  GitBranch,
  GitLogEntry,
  GitDiscarded,
  GitOperation,
  GitStash,
} from '../../lib/schema/git.ts'
import { OneSession } from '../../lib/schema/ids.ts'
import { Ok, ok } from '../../lib/schema/ok.ts'
import * as branching from '../../lib/workspaces/git-branches.ts'
import * as changes from '../../lib/workspaces/git-changes.ts'
import type { PersonGit } from '../../lib/workspaces/git-person.ts'

const LOG_COMMITS = 50

const open = async ({ app, home }: Ctx, sessionId: string) => {
  const area = app.files.areas.of(home, sessionId)
  return { area, git: await app.personGit(home, area.root) }
}

const Path = z.string().min(1).max(4_096)
const ObjectId = z.string().regex(/^[0-9a-f]{40,64}$/)
const Selected = OneSession.extend({
  path: Path,
  /** Of the diff that was shown. */
  id: z.string().max(64).optional(),
  /** Numbers of its added and removed lines, from 0. All of them when absent. */
  lines: z.array(z.number().int().min(0)).min(1).max(100_000).optional(),
})
const HookChoice = z.string().max(64).optional()

/** An action without a result of its own. */
const action = <S extends typeof OneSession>(
  summary: string,
  input: S,
  run: (git: PersonGit, input: z.output<S>) => Promise<unknown>,
) =>
  endpoint({
    summary,
    input,
    output: Ok,
    run: async (ctx, given) => {
      const { git } = await open(ctx, (given as z.output<typeof OneSession>).session_id)
      await run(git, given as z.output<S>)
      return ok
    },
  })

export const overview = endpoint({
  summary: 'Branches, stashes, the last message, and what is in progress in a repository',
  input: OneSession,
  output: z.object({
    branches: z.array(GitBranch),
    stashes: z.array(GitStash),
    operation: GitOperation.optional(),
    last: GitLogEntry.optional(),
  }),
  run: async (ctx, { session_id }) => {
    const { git } = await open(ctx, session_id)
    const [branches, stashes, operation, [last]] = [
      await branching.branches(git),
      await branching.stashes(git),
      await changes.operationOf(git),
      await changes.log(git, 0, 1),
    ]
    return {
      branches,
      stashes: stashes.map(each => ({ ...each, message: ctx.app.redact(each.message) })),
      ...(operation ? { operation } : {}),
      ...(last ? { last: { ...last, message: ctx.app.redact(last.message) } } : {}),
    }
  },
})

export const log = endpoint({
  summary: 'Commits of the current branch, newest first, 50 at a time',
  input: OneSession.extend({ skip: z.coerce.number().int().min(0).max(1_000_000).default(0) }),
  output: z.object({ commits: z.array(GitLogEntry), more: z.boolean() }),
  run: async (ctx, { session_id, skip }) => {
    const { git } = await open(ctx, session_id)
    const found = await changes.log(git, skip, LOG_COMMITS + 1)
    const commits = found
      .slice(0, LOG_COMMITS)
      .map(each => ({ ...each, message: ctx.app.redact(each.message) }))
    return { commits, more: found.length > LOG_COMMITS }
  },
})

export const stage = action(
  'Stage a change: a file, or chosen lines of the diff that was shown',
  Selected.extend({ kind: z.enum(['unstaged', 'untracked']) }),
  changes.stage,
)

export const unstage = action(
  'Unstage a change: a file, or chosen lines of the diff that was shown',
  Selected.extend({ old_path: Path.optional() }),
  (git, { old_path, ...rest }) =>
    changes.unstage(git, { ...rest, kind: 'staged', oldPath: old_path }),
)

export const discard = endpoint({
  summary: 'Discard a change that is not staged; the reply undoes it',
  input: Selected,
  output: GitDiscarded,
  run: async (ctx, { session_id, ...rest }) => {
    const { git, area } = await open(ctx, session_id)
    return changes.discard(git, area, { ...rest, kind: 'unstaged' })
  },
})

export const undoDiscard = endpoint({
  summary: 'Undo a discard; refused when the file has changed since',
  input: OneSession.extend({ path: Path, before: ObjectId.or(z.literal('')), after: ObjectId }),
  output: Ok,
  run: async (ctx, { session_id, ...discarded }) => {
    const { git, area } = await open(ctx, session_id)
    await changes.undoDiscard(git, area, discarded)
    return ok
  },
})

export const commit = endpoint({
  summary: 'Commit what is staged; 409 `git_hooks` names the hooks that would run',
  input: OneSession.extend({
    message: z.string().max(100_000),
    amend: z.boolean().default(false),
    /** `skip`, or the id of the hooks to run. */
    hooks: HookChoice,
  }),
  output: z.object({ commit: z.string() }),
  run: async (ctx, { session_id, message, amend, hooks }) => {
    const { git } = await open(ctx, session_id)
    return changes.commit(git, { message, amend, hooks })
  },
})

export const switchBranch = action(
  'Switch to a branch, or create one from the current commit; refused when local changes would be lost',
  OneSession.extend({
    name: z.string().min(1).max(255),
    create: z.boolean().default(false),
    /** `name` is a branch of a remote: a local one that follows it is created. */
    remote: z.boolean().default(false),
  }),
  branching.switchBranch,
)

export const stash = action(
  'Put all changes aside, new files included',
  OneSession.extend({ message: z.string().max(500).default('') }),
  (git, { message }) => branching.stash(git, message),
)

const OneStash = OneSession.extend({ id: ObjectId })
export const popStash = action(
  'Bring stashed changes back and forget the stash',
  OneStash,
  (git, { id }) => branching.popStash(git, id),
)
export const dropStash = action('Delete a stash', OneStash, (git, { id }) =>
  branching.dropStash(git, id),
)

export const fetchRemotes = action('Fetch from all remotes', OneSession, branching.fetchRemotes)
export const pull = action('Fetch, and fast-forward the current branch', OneSession, branching.pull)
export const push = action(
  'Push the current branch, never by force; 409 `git_hooks` names the hooks that would run',
  OneSession.extend({ hooks: HookChoice }),
  branching.push,
)
export const abort = action(
  'Abort the merge, rebase, cherry-pick or revert that is in progress',
  OneSession,
  changes.abort,
)
