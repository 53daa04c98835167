/** Watches the command-line sessions of every home that has readers, and tells them when something changed. */
import type { SessionRow } from './schema/session.ts'

export const POLL_MS = 5_000
export const FALLBACK_POLL_MS = 30_000
const HEARTBEAT_MS = 15_000

type WatchedHome = { readonly name: string; readonly dir: string }

export type HostSessionWatcherOptions = {
  /** The same array as long as nothing changed; cheap then. */
  rowsOf: (home: WatchedHome) => readonly SessionRow[]
  /** Why the rows cannot be read; null when they can. */
  problemOf: (home: WatchedHome) => string | null
  /** Off: nothing is polled. */
  enabled: () => boolean
  /** To every page: whether a home is watched, and that its sessions changed. */
  publish: (said: { alive: boolean; profile: string; changed?: boolean }) => void
  /** Calls `run` again and again until the answer is called. */
  every?: (run: () => void, ms: number) => () => void
}

type Watcher = {
  home: WatchedHome
  rows: readonly SessionRow[]
  alive: boolean
  readers: number
  /** Rises with every change; a reader that fell behind sees only the newest state. */
  version: number
  wake: Set<() => void>
}

const repeat = (run: () => void, ms: number): (() => void) => {
  const timer = setInterval(run, ms)
  timer.unref()
  return () => clearInterval(timer)
}

export type HostSessionWatcher = ReturnType<typeof createHostSessionWatcher>

export const createHostSessionWatcher = (deps: HostSessionWatcherOptions) => {
  const { rowsOf, problemOf, enabled, publish, every = repeat } = deps
  const watchers = new Map<string, Watcher>()
  let stopPolling: (() => void) | null = null

  const isAlive = (home: WatchedHome): boolean => stopPolling !== null && problemOf(home) === null

  const wake = (watcher: Watcher): void => {
    for (const each of watcher.wake) each()
  }

  const look = (watcher: Watcher): void => {
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
      if (enabled()) look(watcher)
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
      stopPolling ??= every(poll, POLL_MS)
    },
    /** False before the start, after the stop, and while the home's database cannot be read. */
    isAlive,
    /** Keeps the home watched until `signal` aborts. */
    watch(home: WatchedHome, signal: AbortSignal): void {
      if (signal.aborted) return
      const { leave } = attach(home)
      signal.addEventListener('abort', leave, { once: true })
    },
    /** We changed something ourselves: readers need not wait for the next look. */
    checkNow(home: WatchedHome): void {
      const watcher = watchers.get(home.dir)
      if (watcher && enabled()) look(watcher)
    },
    /** The rows now and after every change; `null` when it has been quiet for a while. Ends when nobody watches any more. */
    async *read(
      home: WatchedHome,
      signal: AbortSignal,
    ): AsyncGenerator<{ id: number; rows: readonly SessionRow[]; first: boolean } | null> {
      const { watcher, leave } = attach(home)
      let turn: (() => void) | null = null
      let quiet = false
      const onWake = () => turn?.()
      const stopBeating = every(() => {
        quiet = true
        onWake()
      }, HEARTBEAT_MS)
      watcher.wake.add(onWake)
      signal.addEventListener('abort', onWake)
      try {
        let told = watcher.version
        yield { id: told, rows: watcher.rows, first: true }
        while (!signal.aborted && enabled() && isAlive(home)) {
          if (watcher.version !== told) {
            told = watcher.version
            yield { id: told, rows: watcher.rows, first: false }
          } else if (quiet) {
            quiet = false
            yield null
          } else {
            await new Promise<void>(resolve => {
              turn = resolve
            })
            turn = null
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
