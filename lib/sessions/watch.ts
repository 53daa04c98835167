/** Watches the session directory for changes by other programs, with a periodic sweep as a fallback. */
import { type FSWatcher, statSync, watch as watchFs } from 'node:fs'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../errors.ts'

export type WatchOptions = {
  dir: string
  clock: Clock
  /** Compares the whole directory with the catalog; resolves when all changes were handled. */
  sweep: () => Promise<void>
  log: (line: string, extra?: Record<string, unknown>) => void
  /** A file was changed, by us or by another program. */
  changed: () => void
  /** Tests pass one that fails. */
  watch?: typeof watchFs | undefined
}

const SWEEP_MS = 60_000
/** Interval of sweeps when the system does not report changes. */
export const POLL_MS = 5_000

export class Watch {
  readonly #options: WatchOptions
  #names = new Set<string>()
  #watcher: FSWatcher | null = null
  #cancel = (): void => undefined
  #isClosed = false
  #lastTime: bigint

  constructor(options: WatchOptions) {
    this.#options = options
    this.#lastTime = this.#dirTime()
    try {
      const { dir, changed, watch = watchFs } = options
      this.#watcher = watch(dir, { persistent: false }, (_, name) => {
        if (name !== null) this.#names.add(name)
        else this.#lastTime = -1n
        changed()
      })
      this.#watcher.on('error', error => this.#poll(error))
      this.#schedule()
    } catch (error) {
      // No inotify, or no watches left.
      this.#poll(error)
    }
  }

  #dirTime(): bigint {
    return statSync(this.#options.dir, { bigint: true }).mtimeNs
  }

  #schedule(): void {
    if (this.#isClosed) return
    const { clock, sweep, log } = this.#options
    this.#cancel = clock.timer(this.isPolling ? POLL_MS : SWEEP_MS, () => {
      sweep()
        .catch((error: unknown) => {
          // The next sweep retries; requests check the session they need anyway.
          log('could not sweep the session directory', { error: messageOf(error) })
        })
        .then(() => this.#schedule())
    })
  }

  #poll(error: unknown): void {
    this.#watcher?.close()
    this.#watcher = null
    this.#options.changed()
    this.#options.log('could not watch the session files; polling instead', {
      error: messageOf(error),
    })
    this.#cancel()
    this.#schedule()
  }

  /** File names that may have changed since the last call; null: any of them. */
  takeChanged(): Set<string> | null {
    const now = this.#dirTime()
    const moved = now !== this.#lastTime
    this.#lastTime = now
    const names = this.#names
    this.#names = new Set()
    return moved ? null : names
  }

  /** Runs our own creates, renames and deletes, which also change the directory's time, without reporting them as changes. */
  ignoreOwn<T>(work: () => T): T {
    const isQuiet = this.#dirTime() === this.#lastTime
    try {
      return work()
    } finally {
      // Another program changed the directory before us: keep the difference, so that `takeChanged` reports it.
      if (isQuiet) this.#lastTime = this.#dirTime()
    }
  }

  get isPolling(): boolean {
    return this.#watcher === null
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
    this.#watcher?.close()
  }
}
