/** Fast-forwards a checkout to its upstream branch; local changes are stashed and restored. */
import type { UpdateResult } from '../../schema/update.ts'
import { compareRef, FETCH_MS, type Git, outputOf, PULL_MS, upstreamOf } from './git.ts'

const MAX_ERROR_CHARS = 300
const STASH_NAME = 'agent-webui: local changes set aside for an update'

/**
 * `from` is the commit before the update. `changed`: HEAD is another commit now, which is also true when
 * only restoring the local changes has failed.
 */
export type PullResult = { from: string; changed: boolean; failure?: UpdateResult }

type Flags = Pick<UpdateResult, 'conflict' | 'diverged' | 'stash_conflict'>
const failure = (from: string, message: string, flags: Flags = {}): PullResult => ({
  from,
  changed: false,
  failure: { ok: false, message, ...flags },
})

/** Tracked files only: git does not overwrite untracked ones. */
const statusOf = (git: Git): Promise<string> =>
  outputOf(git(['status', '--porcelain', '--untracked-files=no']))

const UNMERGED = /^(?:DD|AU|UD|UA|DU|AA|UU) /m

/** Stashes local changes. Returns the stash, an empty string without changes, undefined on failure. */
const stashChanges = async (git: Git): Promise<string | undefined> => {
  if ((await statusOf(git)) === '') return ''
  const before = await outputOf(git(['rev-parse', '--verify', '--quiet', 'refs/stash']))
  if (!(await git(['stash', 'push', '--quiet', '--message', STASH_NAME])).ok) return undefined
  const stash = await outputOf(git(['rev-parse', '--verify', '--quiet', 'refs/stash']))
  return stash === before ? undefined : stash
}

/** False when they no longer apply: they stay in the stash, and the checkout is clean. */
const restoreStash = async (git: Git, stash: string): Promise<boolean> => {
  if (stash === '') return true
  if ((await git(['stash', 'pop', '--quiet', '--index'])).ok) return true
  await git(['reset', '--quiet', '--hard'])
  // It may fail only because of the index.
  if ((await git(['stash', 'pop', '--quiet'])).ok) return true
  // Conflict markers would prevent the service from starting. The stash still exists.
  await git(['reset', '--quiet', '--hard'])
  return false
}

const fastForward = async (git: Git, from: string, ref: string): Promise<PullResult> => {
  const moved = await git(['merge', '--ff-only', '--quiet', ref], PULL_MS)
  if (!moved.ok) return failure(from, `Pull failed: ${moved.message.slice(0, MAX_ERROR_CHARS)}`)
  return { from, changed: (await outputOf(git(['rev-parse', 'HEAD']))) !== from }
}

/** Fast-forward only. */
export const pull = async (git: Git): Promise<PullResult> => {
  const from = await outputOf(git(['rev-parse', 'HEAD']))
  if (UNMERGED.test(await statusOf(git))) {
    return failure(from, 'There are unresolved conflicts in the checkout: resolve them first.', {
      conflict: true,
    })
  }
  const fetched = await git(['fetch', '--quiet'], FETCH_MS)
  if (!fetched.ok)
    return failure(from, `Fetch failed: ${fetched.message.slice(0, MAX_ERROR_CHARS)}`)
  const ref = await upstreamOf(git)
  if (!ref) return failure(from, 'This checkout follows no branch of its remote.')
  const stash = await stashChanges(git)
  if (stash === undefined) return failure(from, 'Failed to stash local changes')
  const behind = (await git(['merge-base', '--is-ancestor', 'HEAD', ref])).ok
  const ahead = !behind && (await git(['merge-base', '--is-ancestor', ref, 'HEAD'])).ok
  const pulled =
    behind || ahead
      ? await fastForward(git, from, ref)
      : failure(from, 'The checkout has commits of its own: a fast-forward is impossible.', {
          diverged: true,
        })
  if (await restoreStash(git, stash)) return pulled
  if (!pulled.failure)
    return {
      ...failure(from, 'Updated but stash pop failed -- manual merge needed', {
        stash_conflict: true,
      }),
      changed: pulled.changed,
    }
  const { message, ...flags } = pulled.failure
  return failure(from, `${message} Your local changes are in the stash: git stash pop`, {
    ...flags,
    stash_conflict: true,
  })
}

/** Discards local changes and commits: the checkout becomes what the remote has. */
export const resetToRemote = async (git: Git): Promise<PullResult> => {
  const from = await outputOf(git(['rev-parse', 'HEAD']))
  const fetched = await git(['fetch', '--quiet'], FETCH_MS)
  if (!fetched.ok)
    return failure(from, `Fetch failed: ${fetched.message.slice(0, MAX_ERROR_CHARS)}`)
  const ref = await compareRef(git)
  await git(['checkout', '--quiet', '--force', '--', '.'])
  const reset = await git(['reset', '--quiet', '--hard', ref], PULL_MS)
  if (!reset.ok) return failure(from, `Reset failed: ${reset.message.slice(0, MAX_ERROR_CHARS)}`)
  return { from, changed: (await outputOf(git(['rev-parse', 'HEAD']))) !== from }
}
