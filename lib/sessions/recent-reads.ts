/**
 * What was just read of sessions, for the next request of the same: pages read a session again after a reconnect, and several
 * devices at once. Bounded in bytes and time, because the service holds no transcript of a session that is not being read.
 */

import type { Clock } from '../base/clock.ts'

export type RecentReadsOptions = {
  clock: Pick<Clock, 'monotonic' | 'timer'>
  maxBytes?: number
  keptMs?: number
}

type Kept = { version: string; bytes: number; value: unknown }

const MAX_BYTES = 4 * 1024 * 1024
const KEPT_MS = 10_000

export const createRecentReads = ({
  clock,
  maxBytes = MAX_BYTES,
  keptMs = KEPT_MS,
}: RecentReadsOptions) => {
  /** Least recently used first. */
  const kept = new Map<string, Kept>()
  let newest: string | undefined
  let bytes = 0
  let usedAt = 0
  let cancel: (() => void) | undefined

  const drop = (key: string): void => {
    bytes -= kept.get(key)?.bytes ?? 0
    kept.delete(key)
  }

  const clear = (): void => {
    cancel?.()
    cancel = undefined
    kept.clear()
    bytes = 0
  }

  /** A use only notes its time: reads are frequent, and a timer for each of them is not free. */
  const clearAfter = (ms: number): void => {
    cancel = clock.timer(ms, () => {
      const left = usedAt + keptMs - clock.monotonic()
      if (left > 0) clearAfter(left)
      else clear()
    })
  }

  /** Undefined when it is not kept in this version. */
  const find = <T>(key: string, version: string): T | undefined => {
    const found = kept.get(key)
    if (found?.version !== version) return undefined
    if (key !== newest) {
      kept.delete(key)
      kept.set(key, found)
      newest = key
    }
    usedAt = clock.monotonic()
    return found.value as T
  }

  const keep = (key: string, version: string, value: unknown, size: number): void => {
    drop(key)
    if (size > maxBytes / 4) return
    kept.set(key, { version, bytes: size, value })
    newest = key
    bytes += size
    for (const oldest of kept.keys()) {
      if (bytes <= maxBytes) break
      drop(oldest)
    }
    usedAt = clock.monotonic()
    if (!cancel) clearAfter(keptMs)
  }

  return {
    find,
    keep,
    /** The value of this key and version, made when it is not kept. `sizeOf`: its size in bytes. */
    read<T>(key: string, version: string, make: () => T, sizeOf: (value: T) => number): T {
      const found = find<T>(key, version)
      if (found !== undefined) return found
      const value = make()
      keep(key, version, value, sizeOf(value))
      return value
    },
    clear,
  }
}
