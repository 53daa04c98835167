/** Changes of a Git repository by the person: index, commits, branches, remotes. The agent has no part in them. */
import { z } from 'zod'
import { redact } from '../lib/base/redact/redact.ts'
import { type Ctx, endpoint, mayChangeIn, requireOwner } from '../lib/context.ts'
import { GitBranch, GitLogEntry, GitDiscarded, GitOperation } from '../lib/schema/git.ts'
import { OneSession } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import * as branching from '../lib/workspaces/git-branches.ts'
import * as changes from '../lib/workspaces/git-changes.ts'
import type { PersonGit } from '../lib/workspaces/git-person.ts'

const LOG_COMMITS = 50

const open = async (ctx: Ctx, sessionId: string) => {
  const { app, home } = ctx
  const area = app.files.areas.of(home, sessionId)
  return { area, git: await app.personGit(home, area.root, mayChangeIn(ctx, sessionId)) }
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

/** Hooks run outside the sandbox, and a member can write them: the path to them, too, is a file of the workspace. */
const requireHookRights = (ctx: Ctx, hooks: z.output<typeof HookChoice>): void => {
  if (hooks !== undefined && hooks !== 'skip')
    requireOwner(ctx, 'Only an owner can run the programs of a repository. Go on without them.')
}

/** An action without a result of its own. */
const action = <S extends typeof OneSession>(
  summary: string,
  input: S,
  run: (git: PersonGit, input: z.output<S>) => Promise<unknown>,
) =>
  endpoint({
    once: 'disk',
    access: 'work',
    summary,
    input,
    output: Ok,
    run: async (ctx, input) => {
      const { git } = await open(ctx, (input as z.output<typeof OneSession>).session_id)
      await run(git, input as z.output<S>)
      return ok
    },
  })

export const overview = endpoint({
  access: 'read',
  summary: 'Branches, the last message, and what is in progress in a repository',
  input: OneSession,
  output: z.object({
    branches: z.array(GitBranch),
    operation: GitOperation.optional(),
    last: GitLogEntry.optional(),
  }),
  run: async (ctx, { session_id }) => {
    const { git } = await open(ctx, session_id)
    const [branches, operation, [last]] = [
      await branching.branches(git),
      await changes.operationOf(git),
      await changes.log(git, 0, 1),
    ]
    return {
      branches,
      ...(operation ? { operation } : {}),
      ...(last ? { last: { ...last, message: redact(last.message) } } : {}),
    }
  },
})

export const log = endpoint({
  access: 'read',
  summary: 'Commits of the current branch, newest first, 50 at a time',
  input: OneSession.extend({ skip: z.coerce.number().int().min(0).max(1_000_000).default(0) }),
  output: z.object({ commits: z.array(GitLogEntry), more: z.boolean() }),
  run: async (ctx, { session_id, skip }) => {
    const { git } = await open(ctx, session_id)
    const entries = await changes.log(git, skip, LOG_COMMITS + 1)
    const commits = entries
      .slice(0, LOG_COMMITS)
      .map(each => ({ ...each, message: redact(each.message) }))
    return { commits, more: entries.length > LOG_COMMITS }
  },
})

/** Those that the person sees, so that nothing unseen is staged. */
const Several = OneSession.extend({
  paths: z
    .array(Path.regex(/^[^\0]*$/))
    .min(1)
    .max(10_000),
})

export const stage = endpoint({
  access: 'work',
  summary: 'Stage a file, chosen lines of the diff that was shown, or several files: all or none',
  input: z.union([Selected.extend({ kind: z.enum(['unstaged', 'untracked']) }), Several]),
  output: Ok,
  run: async (ctx, input) => {
    const { git } = await open(ctx, input.session_id)
    if ('paths' in input) await changes.stageAll(git, input.paths)
    else await changes.stage(git, input)
    return ok
  },
})

export const unstage = endpoint({
  access: 'work',
  summary: 'Unstage a file, chosen lines of the diff that was shown, or several files: all or none',
  input: z.union([Selected.extend({ old_path: Path.optional() }), Several]),
  output: Ok,
  run: async (ctx, input) => {
    const { git } = await open(ctx, input.session_id)
    if ('paths' in input) await changes.unstageAll(git, input.paths)
    else await changes.unstage(git, { ...input, kind: 'staged', oldPath: input.old_path })
    return ok
  },
})

export const discard = endpoint({
  access: 'work',
  summary: 'Discard a change that is not staged; the reply undoes it',
  input: Selected,
  output: GitDiscarded,
  run: async (ctx, { session_id, ...rest }) => {
    const { git, area } = await open(ctx, session_id)
    return changes.discard(git, area, { ...rest, kind: 'unstaged' })
  },
})

export const undoDiscard = endpoint({
  access: 'work',
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
  once: 'disk',
  access: 'work',
  summary: 'Commit what is staged; 409 `git_hooks` names the hooks that would run',
  input: OneSession.extend({
    message: z.string().max(100_000),
    /** `skip`, or the id of the hooks to run. */
    hooks: HookChoice,
  }),
  output: z.object({ commit: z.string() }),
  run: async (ctx, { session_id, message, hooks }) => {
    requireHookRights(ctx, hooks)
    const { git } = await open(ctx, session_id)
    return changes.commit(git, { message, hooks })
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

export const fetchRemotes = action('Fetch from all remotes', OneSession, branching.fetchRemotes)
export const pull = action('Fetch, and fast-forward the current branch', OneSession, branching.pull)
export const push = endpoint({
  once: 'disk',
  access: 'work',
  summary:
    'Push the current branch, never by force; 409 `git_hooks` names the hooks that would run',
  input: OneSession.extend({ hooks: HookChoice }),
  output: Ok,
  run: async (ctx, { session_id, hooks }) => {
    requireHookRights(ctx, hooks)
    const { git } = await open(ctx, session_id)
    await branching.push(git, { hooks })
    return ok
  },
})
export const abort = action(
  'Abort the merge, rebase, cherry-pick or revert that is in progress',
  OneSession,
  changes.abort,
)
