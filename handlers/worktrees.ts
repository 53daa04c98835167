/** Worktrees of a repository in which chats work on branches of their own. */
import { join } from 'node:path'
import { z } from 'zod'
import { controlGuard, type Ctx, endpoint, mayChangeIn } from '../lib/context.ts'
import { GitWorktree } from '../lib/schema/git.ts'
import { OneSession } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import * as worktrees from '../lib/workspaces/worktrees.ts'

const open = async (ctx: Ctx, sessionId: string) => {
  const { app, home } = ctx
  const { root } = app.files.areas.of(home, sessionId)
  // The files of a worktree could name any repository: only one that is a workspace is changed.
  const openAt = (path: string) => {
    const real = app.workspaces.check(home, path)
    return app.personGit(home, real, controlGuard(ctx, home, real))
  }
  const dir = join(app.config.stateDir, 'worktrees')
  return { git: await app.personGit(home, root, mayChangeIn(ctx, sessionId)), root, openAt, dir }
}

export const list = endpoint({
  access: 'read',
  summary: 'Worktrees of chats in the repository of a session',
  input: OneSession,
  output: z.object({ worktrees: z.array(GitWorktree) }),
  run: async (ctx, { session_id }) => {
    const { git, dir, root } = await open(ctx, session_id)
    return { worktrees: await worktrees.worktrees(git, dir, root) }
  },
})

export const create = endpoint({
  once: 'disk',
  access: 'own',
  summary: 'Create a branch and a worktree for it outside the repository',
  input: OneSession.extend({
    branch: z.string().min(1).max(200),
    /** Also copy changes of tracked files that are not committed. */
    carry: z.boolean().default(false),
  }),
  output: z.object({ path: z.string() }),
  run: async (ctx, { session_id, branch, carry }) => {
    const { git, root, dir } = await open(ctx, session_id)
    const openAt = (path: string) => ctx.app.personGit(ctx.home, path)
    return worktrees.createWorktree(git, openAt, { dir, root, branch, carry })
  },
})

export const update = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Merge the main checkout into the worktree of a session',
  input: OneSession,
  output: Ok,
  run: async (ctx, { session_id }) => {
    const { git, dir, root } = await open(ctx, session_id)
    await worktrees.updateWorktree(git, await worktrees.currentWorktree(git, dir, root))
    return ok
  },
})

export const merge = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Merge the worktree of a session into the main checkout; conflicts change nothing',
  input: OneSession,
  output: Ok,
  run: async (ctx, { session_id }) => {
    const { git, dir, root, openAt } = await open(ctx, session_id)
    const worktree = await worktrees.currentWorktree(git, dir, root)
    await worktrees.mergeWorktree(git, await openAt(worktree.main), worktree)
    return ok
  },
})

export const remove = endpoint({
  access: 'own',
  summary:
    'Remove a worktree with its branch; 409 `git_unmerged` when work would be lost, unless `force`',
  input: OneSession.extend({
    path: z.string().min(1).max(4_096),
    force: z.boolean().default(false),
  }),
  output: Ok,
  run: async (ctx, { session_id, path, force }) => {
    const { git, dir, root, openAt } = await open(ctx, session_id)
    const worktree = (await worktrees.worktrees(git, dir, root)).find(each => each.path === path)
    const main = await openAt(worktree?.main ?? root)
    const openWorktree = (place: string) => ctx.app.personGit(ctx.home, place)
    await worktrees.removeWorktree(main, openWorktree, worktree, force)
    return ok
  },
})
