/** Records which versions of files each tool call of a turn left, so that the files at any step can be shown. */
import { readContent } from './file-content.ts'
import {
  type CheckpointContext,
  MAX_TOUCHED_BYTES,
  permsOf,
  recordedPath,
  resolvePath,
  takeScan,
  toVersion,
} from './record-changes.ts'
import { realPath } from '../../store/path-within.ts'
import { type OpenRecord, sameVersion, type StepRecord, type Version } from './records.ts'
import { DEFAULT_LIMITS } from './scan-workspace.ts'
import { blobId } from './shadow-git.ts'

/** Versions in all steps of a turn. Later steps are marked as not recorded. */
const MAX_VERSIONS = 20_000

/** What the calls of a step may have changed. */
export type MayChange = {
  paths: ReadonlySet<string>
  workspace: boolean
  /** A change of the step could not be captured before it was made. */
  isLost: boolean
}

type Files = [string, Version | null][]

/** One per turn. */
export const createStepCapture = () => {
  /** The last known version of each file that a step changed. */
  const latest = new Map<string, Version | null>()
  let tree: string | undefined
  let count = 0
  let isSlow = false

  const differs = (path: string, before: Version | null, now: Version | null): boolean =>
    !sameVersion(latest.has(path) ? (latest.get(path) ?? null) : before, now)

  const scanned = async (context: CheckpointContext, open: OpenRecord): Promise<Files | null> => {
    const { store, limits = DEFAULT_LIMITS } = context
    const { git } = store
    if (!git || !open.scan || isSlow) return null
    const startedAt = performance.now()
    const taken = await takeScan(context)
    isSlow = performance.now() - startedAt > limits.stepMs
    if (!taken) return null
    const perms = permsOf(taken.scan)
    const found: Files = []
    for (const { path, from, to } of await git.diffTrees(tree ?? open.scan.tree, taken.tree)) {
      const now = toVersion(to.mode, to.id, perms[path])
      const before = toVersion(from.mode, from.id, open.scan.perms[path])
      if (differs(path, before, now)) found.push([path, now])
    }
    tree = taken.tree
    await git.protect(open.id, [tree])
    return found
  }

  const written = async (
    { store, bounds }: CheckpointContext,
    open: OpenRecord,
    paths: ReadonlySet<string>,
  ): Promise<Files | null> => {
    const found: Files = []
    const stored: string[] = []
    const before = new Map(open.touched)
    for (const given of paths) {
      const path = recordedPath(bounds.root, realPath(given))
      const [within, name] = resolvePath(bounds, path)
      const read = readContent(within, name, MAX_TOUCHED_BYTES)
      if ('problem' in read || !before.has(path)) return null
      const { content } = read
      const { kind, perm } = content ?? { kind: 'file', perm: 0 }
      const now: Version | null = content && {
        kind,
        perm,
        id: blobId(content.bytes),
        store: store.git ? 'git' : 'plain',
      }
      if (!differs(path, before.get(path) ?? null, now)) continue
      const version = content && (await store.put(content))
      if (version) stored.push(version.id)
      found.push([path, version])
    }
    await store.git?.protect(open.id, stored)
    return found
  }

  /** Adds the step to the record, if it changed anything or that is not known. */
  return async (
    context: CheckpointContext,
    open: OpenRecord,
    { calls, at, may }: { calls: string[]; at: number; may: MayChange },
  ): Promise<void> => {
    const lists = may.isLost
      ? [null]
      : [
          may.paths.size > 0 ? await written(context, open, may.paths) : [],
          may.workspace ? await scanned(context, open) : [],
        ]
    const isKnown = lists.every(list => list !== null)
    const files = new Map(lists.flatMap(list => list ?? []))
    if (isKnown && files.size === 0) return
    for (const [path, version] of files) latest.set(path, version)
    count += files.size
    const step: StepRecord = {
      calls,
      at,
      files: isKnown && count <= MAX_VERSIONS ? [...files] : null,
    }
    open.steps = [...(open.steps ?? []), step]
    context.store.writeOpenRecord(open)
  }
}
