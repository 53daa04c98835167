/** Notices what other programs do to the session files: marks names as changed, and looks through all of them now and then. */
import { type FSWatcher, statSync, watch as watchFs } from 'node:fs'
import { messageOf } from '../errors.ts'

export type WatchOptions = {
  dir: string
  /** Looks through the whole directory; what it found is already handled when it resolves. */
  sweep: () => Promise<void>
  log: (line: string, extra?: Record<string, unknown>) => void
  sweepMs?: number
  /** How often without change notices from the system. */
  pollMs?: number
  /** Tests pass one that fails. */
  watch?: typeof watchFs
}

export type Watch = {
  /** Names in the directory that may have changed since the last call; null: any of them. */
  takeChanged(): Set<string> | null
  /** Our own creating, renaming and removing moves the directory's time too: `work` does not count as foreign. */
  ignoreOwn<T>(work: () => T): T
  readonly isPolling: boolean
  close(): void
}

export const createWatch = ({
  dir,
  sweep,
  log,
  sweepMs = 60_000,
  pollMs = 5_000,
  watch = watchFs,
}: WatchOptions): Watch => {
  let names = new Set<string>()
  let watcher: FSWatcher | null = null
  let timer: NodeJS.Timeout | null = null
  let closed = false

  const dirTime = (): bigint => statSync(dir, { bigint: true }).mtimeNs
  let known = dirTime()

  const schedule = (): void => {
    if (closed) return
    timer = setTimeout(
      () => {
        sweep()
          .catch((error: unknown) => {
            // The next one may do better; requests still check the session they ask for.
            log('the session directory could not be looked through', { error: messageOf(error) })
          })
          .then(schedule)
      },
      watcher ? sweepMs : pollMs,
    )
    timer.unref()
  }

  const startPolling = (error: unknown): void => {
    watcher?.close()
    watcher = null
    log('changes of session files cannot be watched; looking every few seconds instead', {
      error: messageOf(error),
    })
    if (timer) clearTimeout(timer)
    schedule()
  }

  try {
    watcher = watch(dir, { persistent: false }, (_, name) => {
      if (name !== null) names.add(name)
      else known = -1n
    })
    watcher.on('error', startPolling)
    schedule()
  } catch (error) {
    // No inotify here, or no more of it to be had.
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
        // Something foreign came before ours: leave the difference standing, so that `take` still sees it.
        if (quiet) known = dirTime()
      }
    },
    get isPolling() {
      return watcher === null
    },
    close() {
      closed = true
      if (timer) clearTimeout(timer)
      watcher?.close()
    },
  }
}
