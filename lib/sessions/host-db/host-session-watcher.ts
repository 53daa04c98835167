/** Polls the host agent's sessions of every home that has readers, and publishes changes. */
import { type Clock, every } from '../../base/clock.ts'
import type { SessionRow } from '../../schema/session.ts'
import type { HostHome } from './state-db.ts'

export const POLL_MS = 5_000
export const FALLBACK_POLL_MS = 30_000
const HEARTBEAT_MS = 15_000

type WatcherParts = {
  /** Returns the same array, cheaply, while nothing changed. */
  rowsOf: (home: HostHome) => readonly SessionRow[]
  /** Why the rows cannot be read; null when they can. */
  problemOf: (home: HostHome) => string | null
  /** Polling is skipped while this is false. */
  enabled: () => boolean
  /** Publishes whether a home can be read, and that its sessions changed. */
  publish: (event: { alive: boolean; profile: string; changed?: boolean }) => void
  clock: Clock
}

type Watched = {
  home: HostHome
  rows: readonly SessionRow[]
  alive: boolean
  readers: number
  /** Incremented on every change; a slow reader gets only the newest state. */
  version: number
  wake: Set<() => void>
}

export class HostSessionWatcher {
  readonly #parts: WatcherParts
  readonly #watched = new Map<string, Watched>()
  #stopPolling: (() => void) | null = null

  constructor(parts: WatcherParts) {
    this.#parts = parts
  }

  start(): void {
    this.#stopPolling ??= every(this.#parts.clock, POLL_MS, () => {
      for (const { home, wake } of this.#watched.values()) {
        if (this.#parts.enabled()) this.checkNow(home)
        else for (const each of wake) each()
      }
    })
  }

  stop(): void {
    this.#stopPolling?.()
    this.#stopPolling = null
    for (const watched of this.#watched.values()) {
      watched.alive = false
      for (const each of watched.wake) each()
    }
  }

  /** False before the start, after the stop, and while the home's database cannot be read. */
  isAlive(home: HostHome): boolean {
    return this.#stopPolling !== null && this.#parts.problemOf(home) === null
  }

  /** Checks immediately, also after a change of our own. */
  checkNow(home: HostHome): void {
    const watched = this.#watched.get(home.dir)
    if (!watched || !this.#parts.enabled()) return
    const rows = this.#parts.rowsOf(home)
    const alive = this.isAlive(home)
    const changed = rows !== watched.rows
    if (!changed && alive === watched.alive) return
    Object.assign(watched, { rows, alive })
    if (changed) watched.version += 1
    this.#parts.publish({ alive, profile: home.name, ...(changed ? { changed } : {}) })
    for (const each of watched.wake) each()
  }

  #attach(home: HostHome): Watched {
    const watched = this.#watched.get(home.dir) ?? {
      home,
      rows: this.#parts.enabled() ? this.#parts.rowsOf(home) : [],
      alive: this.isAlive(home),
      readers: 0,
      version: 0,
      wake: new Set(),
    }
    this.#watched.set(home.dir, watched)
    watched.readers += 1
    return watched
  }

  #detach(watched: Watched): void {
    watched.readers -= 1
    if (watched.readers === 0) this.#watched.delete(watched.home.dir)
  }

  /** Keeps the home watched until the returned function is called. */
  watch(home: HostHome): () => void {
    const watched = this.#attach(home)
    return () => this.#detach(watched)
  }

  watched(): string[] {
    return [...this.#watched.keys()]
  }

  /** The rows now and after every change; `null` as a heartbeat. Ends when watching ends. */
  async *read(
    home: HostHome,
    signal: AbortSignal,
  ): AsyncGenerator<{ id: number; rows: readonly SessionRow[]; first: boolean } | null> {
    const watched = this.#attach(home)
    let wakeReader: (() => void) | null = null
    let quiet = false
    const onWake = () => wakeReader?.()
    const stopBeating = every(this.#parts.clock, HEARTBEAT_MS, () => {
      quiet = true
      onWake()
    })
    watched.wake.add(onWake)
    signal.addEventListener('abort', onWake)
    try {
      let seenVersion = watched.version
      yield { id: seenVersion, rows: watched.rows, first: true }
      while (!signal.aborted && this.#parts.enabled() && this.isAlive(home)) {
        if (watched.version !== seenVersion) {
          seenVersion = watched.version
          yield { id: seenVersion, rows: watched.rows, first: false }
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
      watched.wake.delete(onWake)
      signal.removeEventListener('abort', onWake)
      this.#detach(watched)
    }
  }
}
