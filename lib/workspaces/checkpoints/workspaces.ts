/** Per-workspace state shared by all checkpoint operations: open stores, locks, running turns and pending work. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import type { Bounds } from '../../store/dir-handle.ts'
import { mutex } from '../../store/mutex.ts'
import { realPath } from '../../store/path-within.ts'
import { checkpointDir, type CheckpointStore, openCheckpointStore } from './checkpoint-store.ts'
import type { CheckpointContext } from './record-changes.ts'
import type { ScanLimits } from './scan-workspace.ts'

export type CheckpointHome = { readonly name: string; readonly dir: string }

export type WorkspacesOptions = {
  /** The real path of a workspace and what is hidden in it. Throws when the workspace does not exist. */
  boundsOf: (home: CheckpointHome, workspace: string) => Bounds
  /** Search path for git. */
  path: string | undefined
  log: (line: string, extra?: Record<string, unknown>) => void
  limits?: ScanLimits
}

/** A workspace that exceeds the scan limits. `at`: of the scan, on the monotonic clock. `warned`: session ids. */
export type Oversized = { reason: string; at: number; warned: Set<string> }

const isWithin = (path: string, root: string): boolean =>
  path === root || path.startsWith(root === '/' ? root : `${root}/`)

export type CheckpointWorkspaces = ReturnType<typeof createCheckpointWorkspaces>

export const createCheckpointWorkspaces = (options: WorkspacesOptions) => {
  const { path, log, limits } = options
  const lock = mutex()
  const running = new Map<string, Set<string>>()
  const stores = new Map<string, Promise<CheckpointStore>>()
  const pending = new Set<Promise<unknown>>()

  const boundsOf = (home: CheckpointHome, workspace: string): Bounds => {
    const { root, isHidden } = options.boundsOf(home, workspace)
    const own = realPath(join(home.dir, 'checkpoints'))
    return {
      root,
      isHidden: real => real === own || real.startsWith(`${own}/`) || isHidden(real),
    }
  }

  const storeOf = (home: CheckpointHome, root: string): Promise<CheckpointStore> => {
    const dir = checkpointDir(home.dir, root)
    const known = stores.get(dir)
    // The directory may have been deleted since it was opened.
    if (known && existsSync(join(dir, 'webui', 'turns'))) return known
    const opening = openCheckpointStore(dir, root, { path })
    stores.set(dir, opening)
    opening.catch(() => stores.delete(dir))
    return opening
  }

  /** Runs `work` when all earlier work on the checkpoints of this workspace has ended. */
  const exclusive = <T>(home: CheckpointHome, root: string, work: () => Promise<T>): Promise<T> =>
    lock(checkpointDir(home.dir, root), work)

  return {
    /** By workspace root. */
    oversized: new Map<string, Oversized>(),
    boundsOf,
    exclusive,

    /** The store of a workspace. Opened once; a failed open is retried on the next call. */
    storeOf,

    async contextOf(home: CheckpointHome, workspace: string): Promise<CheckpointContext> {
      const bounds = boundsOf(home, workspace)
      return { store: await storeOf(home, bounds.root), bounds, limits }
    },

    addTurn: (root: string, streamId: string): void =>
      void running.set(root, (running.get(root) ?? new Set()).add(streamId)),

    removeTurn(root: string, streamId: string): void {
      const turns = running.get(root)
      turns?.delete(streamId)
      if (turns?.size === 0) running.delete(root)
    },

    /** How many turns run in this workspace. */
    turnCount: (root: string): number => running.get(root)?.size ?? 0,
    /** A folder in which a turn runs that can change files of this workspace: the same, one above it, or one below it. */
    busyFolder: (root: string): string | undefined =>
      [...running.keys()].find(each => isWithin(each, root) || isWithin(root, each)),
    isRunning: (streamId: string): boolean =>
      [...running.values()].some(turns => turns.has(streamId)),

    /** Makes `settled` wait for this. */
    track(work: Promise<unknown>): void {
      pending.add(work)
      const done = () => void pending.delete(work)
      work.then(done, done)
    },

    /** Resolves when all work tracked before the call has ended, however it ended. */
    settled: async (): Promise<void> => void (await Promise.allSettled([...pending])),

    /** Never rejects. */
    collectGarbage: (home: CheckpointHome, { store }: CheckpointContext): Promise<void> =>
      exclusive(home, store.root, async () => store.git?.collectGarbage()).catch((error: unknown) =>
        log('could not collect garbage in a checkpoint store', { error: messageOf(error) }),
      ),
  }
}
