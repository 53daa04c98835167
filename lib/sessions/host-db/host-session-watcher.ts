/** Polls the host agent's sessions of every home that has readers, and publishes changes. */
import { type Clock, every } from '../../base/clock.ts'
import type { SessionRow } from '../../schema/session.ts'

export const POLL_MS = 5_000
export const FALLBACK_POLL_MS = 30_000
const HEARTBEAT_MS = 15_000

type WatchedHome = { readonly name: string; readonly dir: string }

export type HostSessionWatcherOptions = {
  /** Returns the same array, cheaply, while nothing changed. */
  rowsOf: (home: WatchedHome) => readonly SessionRow[]
  /** Why the rows cannot be read; null when they can. */
  problemOf: (home: WatchedHome) => string | null
  /** Polling is skipped while this is false. */
  enabled: () => boolean
  /** Publishes whether a home can be read, and that its sessions changed. */
  publish: (said: { alive: boolean; profile: string; changed?: boolean }) => void
  clock: Pick<Clock, 'timer'>
}

type Watcher = {
  home: WatchedHome
  rows: readonly SessionRow[]
  alive: boolean
  readers: number
  /** Incremented on every change; a slow reader gets only the newest state. */
  version: number
  wake: Set<() => void>
}

export type HostSessionWatcher = ReturnType<typeof createHostSessionWatcher>

export const createHostSessionWatcher = (deps: HostSessionWatcherOptions) => {
  const { rowsOf, problemOf, enabled, publish, clock } = deps
  const watchers = new Map<string, Watcher>()
  let stopPolling: (() => void) | null = null

  const isAlive = (home: WatchedHome): boolean => stopPolling !== null && problemOf(home) === null

  const wake = (watcher: Watcher): void => {
    for (const each of watcher.wake) each()
  }

  const check = (watcher: Watcher): void => {
    const { home } = watcher
    const rows = rowsOf(home)
    const alive = isAlive(home)
    const changed = rows !== watcher.rows
    if (!changed && alive === watcher.alive) return
    Object.assign(watcher, { rows, alive })
    if (changed) watcher.version += 1
    publish({ alive, profile: home.name, ...(changed ? { changed } : {}) })
    wake(watcher)
  }

  const poll = (): void => {
    for (const watcher of watchers.values()) {
      if (enabled()) check(watcher)
      else wake(watcher)
    }
  }

  const attach = (home: WatchedHome): { watcher: Watcher; leave: () => void } => {
    const known = watchers.get(home.dir)
    const watcher: Watcher = known ?? {
      home,
      rows: enabled() ? rowsOf(home) : [],
      alive: isAlive(home),
      readers: 0,
      version: 0,
      wake: new Set(),
    }
    watchers.set(home.dir, watcher)
    watcher.readers += 1
    return {
      watcher,
      leave() {
        watcher.readers -= 1
        if (watcher.readers === 0) watchers.delete(home.dir)
      },
    }
  }

  return {
    start(): void {
      stopPolling ??= every(clock, POLL_MS, poll)
    },
    /** False before the start, after the stop, and while the home's database cannot be read. */
    isAlive,
    /** Keeps the home watched until the returned function is called. */
    watch: (home: WatchedHome): (() => void) => attach(home).leave,
    /** Checks immediately, after a change of our own. */
    checkNow(home: WatchedHome): void {
      const watcher = watchers.get(home.dir)
      if (watcher && enabled()) check(watcher)
    },
    /** The rows now and after every change; `null` as a heartbeat. Ends when watching ends. */
    async *read(
      home: WatchedHome,
      signal: AbortSignal,
    ): AsyncGenerator<{ id: number; rows: readonly SessionRow[]; first: boolean } | null> {
      const { watcher, leave } = attach(home)
      let wakeReader: (() => void) | null = null
      let quiet = false
      const onWake = () => wakeReader?.()
      const stopBeating = every(clock, HEARTBEAT_MS, () => {
        quiet = true
        onWake()
      })
      watcher.wake.add(onWake)
      signal.addEventListener('abort', onWake)
      try {
        let seenVersion = watcher.version
        yield { id: seenVersion, rows: watcher.rows, first: true }
        while (!signal.aborted && enabled() && isAlive(home)) {
          if (watcher.version !== seenVersion) {
            seenVersion = watcher.version
            yield { id: seenVersion, rows: watcher.rows, first: false }
          } else if (quiet) {
            quiet = false
            yield null
          } else {
            await new Promise<void>(resolve => {
              wakeReader = resolve
            })
            wakeReader = null
          }
        }
      } finally {
        stopBeating()
        watcher.wake.delete(onWake)
        signal.removeEventListener('abort', onWake)
        leave()
      }
    },
    watched: (): string[] => [...watchers.keys()],
    stop(): void {
      stopPolling?.()
      stopPolling = null
      for (const watcher of watchers.values()) {
        watcher.alive = false
        wake(watcher)
      }
    },
  }
}
