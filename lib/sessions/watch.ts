/** Watches the session directory for changes by other programs, with a periodic sweep as a fallback. */
import { type FSWatcher, statSync, watch as watchFs } from 'node:fs'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../errors.ts'

export type WatchOptions = {
  dir: string
  clock: Pick<Clock, 'timer'>
  /** Compares the whole directory with the catalog; resolves when all changes were handled. */
  sweep: () => Promise<void>
  log: (line: string, extra?: Record<string, unknown>) => void
  /** A file was changed, by us or by another program. */
  changed?: () => void
  sweepMs?: number | undefined
  /** Interval of sweeps when the system does not report changes. */
  pollMs?: number
  /** Tests pass one that fails. */
  watch?: typeof watchFs
}

export type Watch = {
  /** File names that may have changed since the last call; null: any of them. */
  takeChanged(): Set<string> | null
  /** Runs our own creates, renames and deletes, which also change the directory's time, without reporting them as changes. */
  ignoreOwn<T>(work: () => T): T
  readonly isPolling: boolean
  close(): void
}

export const createWatch = ({
  dir,
  clock,
  sweep,
  log,
  changed = () => undefined,
  sweepMs = 60_000,
  pollMs = 5_000,
  watch = watchFs,
}: WatchOptions): Watch => {
  let names = new Set<string>()
  let watcher: FSWatcher | null = null
  let cancel = (): void => undefined
  let closed = false

  const dirTime = (): bigint => statSync(dir, { bigint: true }).mtimeNs
  let known = dirTime()

  const schedule = (): void => {
    if (closed) return
    cancel = clock.timer(watcher ? sweepMs : pollMs, () => {
      sweep()
        .catch((error: unknown) => {
          // The next sweep retries; requests check the session they need anyway.
          log('could not sweep the session directory', { error: messageOf(error) })
        })
        .then(schedule)
    })
  }

  const startPolling = (error: unknown): void => {
    watcher?.close()
    watcher = null
    changed()
    log('could not watch the session files; polling instead', {
      error: messageOf(error),
    })
    cancel()
    schedule()
  }

  try {
    watcher = watch(dir, { persistent: false }, (_, name) => {
      if (name !== null) names.add(name)
      else known = -1n
      changed()
    })
    watcher.on('error', startPolling)
    schedule()
  } catch (error) {
    // No inotify, or no watches left.
    startPolling(error)
  }

  return {
    takeChanged() {
      const now = dirTime()
      const moved = now !== known
      known = now
      const taken = names
      names = new Set()
      return moved ? null : taken
    },
    ignoreOwn(work) {
      const quiet = dirTime() === known
      try {
        return work()
      } finally {
        // Another program changed the directory before us: keep the difference, so that `takeChanged` reports it.
        if (quiet) known = dirTime()
      }
    },
    get isPolling() {
      return watcher === null
    },
    close() {
      closed = true
      cancel()
      watcher?.close()
    },
  }
}
