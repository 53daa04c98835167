/** Brings one checkout up to what it follows, with local changes set aside and put back; says in one value how that ended. */
import type { UpdateResult } from '../schema/update.ts'
import { compareRef, FETCH_MS, type Git, outputOf, PULL_MS, upstreamOf } from './git.ts'

const MAX_ERROR_CHARS = 300
const STASH_NAME = 'agent-webui: local changes set aside for an update'

/**
 * `from` is where the checkout stood: an update that does not work goes back there. `changed`: it stands elsewhere now,
 * which is also true of an update that failed only in bringing local changes back.
 */
export type PullResult = { from: string; changed: boolean; failure?: UpdateResult }

type Flags = Pick<UpdateResult, 'conflict' | 'diverged' | 'stash_conflict'>
const failed = (from: string, message: string, flags: Flags = {}): PullResult => ({
  from,
  changed: false,
  failure: { ok: false, message, ...flags },
})

/** Tracked files only: what git does not know it will not overwrite. */
const statusOf = (git: Git): Promise<string> =>
  outputOf(git(['status', '--porcelain', '--untracked-files=no']))

const UNMERGED = /^(?:DD|AU|UD|UA|DU|AA|UU) /m

/** Sets local changes aside. Empty when there are none, undefined when it did not work; else what to bring back. */
export const stashChanges = async (git: Git): Promise<string | undefined> => {
  if ((await statusOf(git)) === '') return ''
  const before = await outputOf(git(['rev-parse', '--verify', '--quiet', 'refs/stash']))
  if (!(await git(['stash', 'push', '--quiet', '--message', STASH_NAME])).ok) return undefined
  const made = await outputOf(git(['rev-parse', '--verify', '--quiet', 'refs/stash']))
  return made === before ? undefined : made
}

/** False when they no longer fit: they stay in the stash, and the checkout is clean. */
export const restoreStash = async (git: Git, stash: string): Promise<boolean> => {
  if (stash === '') return true
  if ((await git(['stash', 'pop', '--quiet', '--index'])).ok) return true
  await git(['reset', '--quiet', '--hard'])
  // The index alone may have been in the way.
  if ((await git(['stash', 'pop', '--quiet'])).ok) return true
  // Conflict marks in the files would keep the service from starting. What was set aside is still there.
  await git(['reset', '--quiet', '--hard'])
  return false
}

const fastForward = async (git: Git, from: string, ref: string): Promise<PullResult> => {
  const moved = await git(['merge', '--ff-only', '--quiet', ref], PULL_MS)
  if (!moved.ok) return failed(from, `Pull failed: ${moved.message.slice(0, MAX_ERROR_CHARS)}`)
  return { from, changed: (await outputOf(git(['rev-parse', 'HEAD']))) !== from }
}

/** Fast-forward only. */
export const pull = async (git: Git): Promise<PullResult> => {
  const from = await outputOf(git(['rev-parse', 'HEAD']))
  if (UNMERGED.test(await statusOf(git))) {
    return failed(from, 'There are unresolved conflicts in the checkout: resolve them first.', {
      conflict: true,
    })
  }
  const fetched = await git(['fetch', '--quiet'], FETCH_MS)
  if (!fetched.ok) return failed(from, `Fetch failed: ${fetched.message.slice(0, MAX_ERROR_CHARS)}`)
  const ref = await upstreamOf(git)
  if (!ref) return failed(from, 'This checkout follows no branch of its remote.')
  const stash = await stashChanges(git)
  if (stash === undefined) return failed(from, 'Failed to stash local changes')
  const behind = (await git(['merge-base', '--is-ancestor', 'HEAD', ref])).ok
  const ahead = !behind && (await git(['merge-base', '--is-ancestor', ref, 'HEAD'])).ok
  const pulled =
    behind || ahead
      ? await fastForward(git, from, ref)
      : failed(from, 'The checkout has commits of its own: a fast-forward is impossible.', {
          diverged: true,
        })
  if (await restoreStash(git, stash)) return pulled
  if (!pulled.failure)
    return {
      ...failed(from, 'Updated but stash pop failed -- manual merge needed', {
        stash_conflict: true,
      }),
      changed: pulled.changed,
    }
  const { message, ...flags } = pulled.failure
  return failed(from, `${message} Your local changes are in the stash: git stash pop`, {
    ...flags,
    stash_conflict: true,
  })
}

/** Throws local changes and commits away: the checkout is what its remote has. */
export const resetToRemote = async (git: Git): Promise<PullResult> => {
  const from = await outputOf(git(['rev-parse', 'HEAD']))
  const fetched = await git(['fetch', '--quiet'], FETCH_MS)
  if (!fetched.ok) return failed(from, `Fetch failed: ${fetched.message.slice(0, MAX_ERROR_CHARS)}`)
  const ref = await compareRef(git)
  await git(['checkout', '--quiet', '--force', '--', '.'])
  const reset = await git(['reset', '--quiet', '--hard', ref], PULL_MS)
  if (!reset.ok) return failed(from, `Reset failed: ${reset.message.slice(0, MAX_ERROR_CHARS)}`)
  return { from, changed: (await outputOf(git(['rev-parse', 'HEAD']))) !== from }
}

/** Back to where it was, with local changes as they are now. */
export const revertTo = async (git: Git, from: string): Promise<boolean> => {
  const stash = await stashChanges(git)
  const back = await git(['reset', '--quiet', '--hard', from])
  return (await restoreStash(git, stash ?? '')) && back.ok
}
