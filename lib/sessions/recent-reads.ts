/**
 * What was just read of sessions, for the next request of the same: pages read a session again after a reconnect, and several
 * devices at once. Bounded in bytes and time, because the service holds no transcript of a session that is not being read.
 */
import type { Clock } from '../base/clock.ts'

type CachedRead = { version: string; bytes: number; value: unknown }

export class RecentReads {
  readonly #clock: Clock
  readonly #maxBytes: number
  readonly #maxOne: number
  readonly #keptMs: number
  /** Least recently used first. */
  readonly #reads = new Map<string, CachedRead>()
  #newest: string | undefined
  #bytes = 0
  #usedAt = 0
  #cancel: (() => void) | undefined

  /** `maxOne`: of one value. Default: a quarter of all. */
  constructor(
    clock: Clock,
    {
      maxBytes,
      maxOne = maxBytes / 4,
      keptMs,
    }: { maxBytes: number; maxOne?: number; keptMs: number },
  ) {
    this.#clock = clock
    this.#maxBytes = maxBytes
    this.#maxOne = maxOne
    this.#keptMs = keptMs
  }

  #drop(key: string): void {
    this.#bytes -= this.#reads.get(key)?.bytes ?? 0
    this.#reads.delete(key)
  }

  clear(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#reads.clear()
    this.#bytes = 0
  }

  /** A use only notes its time: reads are frequent, and a timer for each of them is not free. */
  #clearAfter(ms: number): void {
    this.#cancel = this.#clock.timer(ms, () => {
      const restMs = this.#usedAt + this.#keptMs - this.#clock.monotonic()
      if (restMs > 0) this.#clearAfter(restMs)
      else this.clear()
    })
  }

  /** Undefined when it is not kept in this version. */
  find<T>(key: string, version: string): T | undefined {
    const entry = this.#reads.get(key)
    if (entry?.version !== version) return undefined
    // Moving one that is the last already would only make the map grow and be copied.
    if (key !== this.#newest) {
      this.#reads.delete(key)
      this.#reads.set(key, entry)
      this.#newest = key
    }
    this.#usedAt = this.#clock.monotonic()
    return entry.value as T
  }

  /** The value of this key and version, made when it is not kept. `sizeOf`: its size in bytes. */
  read<T>(key: string, version: string, make: () => T, sizeOf: (value: T) => number): T {
    const earlier = this.find<T>(key, version)
    if (earlier !== undefined) return earlier
    const value = make()
    this.keep(key, version, value, sizeOf(value))
    return value
  }

  keep(key: string, version: string, value: unknown, size: number): void {
    this.#drop(key)
    if (size > this.#maxOne) return
    this.#reads.set(key, { version, bytes: size, value })
    this.#newest = key
    this.#bytes += size
    for (const oldest of this.#reads.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.#drop(oldest)
    }
    this.#usedAt = this.#clock.monotonic()
    if (!this.#cancel) this.#clearAfter(this.#keptMs)
  }
}
