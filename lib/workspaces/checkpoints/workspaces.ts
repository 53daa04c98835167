/** Per-workspace state shared by all checkpoint operations: open stores, locks, running turns and pending work. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, rising } from '../../base/clock.ts'
import type { Bounds } from '../../store/dir-handle.ts'
import { Mutex } from '../../store/mutex.ts'
import { isBelow, realPath } from '../../store/path-within.ts'
import { type CheckpointContext, checkpointDir, CheckpointStore } from './checkpoint-store.ts'
import { DEFAULT_LIMITS, type ScanLimits } from './scan-workspace.ts'

export type CheckpointHome = { readonly name: string; readonly dir: string }

/** A turn waits at most this long for its files to be recorded. */
const TIMEOUT_MS = 15_000

export type CheckpointsOptions = {
  /** The real path of a workspace and what is hidden in it. Throws when the workspace does not exist. */
  boundsOf: (home: CheckpointHome, workspace: string) => Bounds
  clock: Clock
  log: (line: string, extra?: Record<string, unknown>) => void
  /** The current id of a session; undefined when it was deleted. */
  resolve: (sessionId: string) => string | undefined
  limits?: ScanLimits
  timeoutMs?: number
}

export class CheckpointWorkspaces {
  readonly #options: CheckpointsOptions
  readonly clock: Clock
  readonly log: CheckpointsOptions['log']
  readonly timeoutMs: number
  /** Milliseconds since 1970 that rise with every call: records are ordered by it. */
  readonly now: () => number
  readonly #mutex = new Mutex()
  /** Stream ids of turns by workspace root. */
  readonly #running = new Map<string, Set<string>>()
  readonly #stores = new Map<string, CheckpointStore>()
  readonly #pending = new Set<Promise<unknown>>()
  readonly #warned = new Set<string>()

  constructor(options: CheckpointsOptions) {
    this.#options = options
    this.clock = options.clock
    this.log = options.log
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS
    this.now = rising(options.clock)
  }

  boundsOf(home: CheckpointHome, workspace: string): Bounds {
    const { root, isHidden } = this.#options.boundsOf(home, workspace)
    const own = realPath(join(home.dir, 'checkpoints'))
    return {
      root,
      isHidden: real => isBelow(own, real) || isHidden(real),
    }
  }

  storeOf(home: CheckpointHome, root: string): CheckpointStore {
    const dir = checkpointDir(home.dir, root)
    const earlier = this.#stores.get(dir)
    // The directory may have been deleted since it was opened.
    if (earlier && existsSync(join(dir, 'webui', 'turns'))) return earlier
    const store = new CheckpointStore(dir, root)
    this.#stores.set(dir, store)
    return store
  }

  /** Runs `work` when all earlier work on the checkpoints of this workspace has ended. */
  exclusive<T>(home: CheckpointHome, root: string, work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(checkpointDir(home.dir, root), work)
  }

  contextOf(home: CheckpointHome, workspace: string): CheckpointContext {
    const bounds = this.boundsOf(home, workspace)
    const { limits = DEFAULT_LIMITS } = this.#options
    return { store: this.storeOf(home, bounds.root), bounds, limits }
  }

  addTurn(root: string, streamId: string): void {
    this.#running.set(root, (this.#running.get(root) ?? new Set()).add(streamId))
  }

  removeTurn(root: string, streamId: string): void {
    const turns = this.#running.get(root)
    turns?.delete(streamId)
    if (turns?.size === 0) this.#running.delete(root)
  }

  /** How many turns run in this workspace. */
  turnCount(root: string): number {
    return this.#running.get(root)?.size ?? 0
  }

  /** A folder in which a turn runs that can change files of this workspace: the same, one above it, or one below it. */
  busyFolder(root: string): string | undefined {
    return [...this.#running.keys()].find(each => isBelow(root, each) || isBelow(each, root))
  }

  isRunning(streamId: string): boolean {
    return [...this.#running.values()].some(turns => turns.has(streamId))
  }

  /** False when the session was already warned that this workspace is too large. */
  isFirstWarning(root: string, sessionId: string): boolean {
    const key = `${root}\0${sessionId}`
    return !this.#warned.has(key) && this.#warned.add(key).size > 0
  }

  /** Makes `settled` wait for this. */
  track(work: Promise<unknown>): void {
    this.#pending.add(work)
    const remove = () => void this.#pending.delete(work)
    work.then(remove, remove)
  }

  /** Resolves when all work tracked before the call has ended, however it ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#pending])
  }
}
