/**
 * What was just read of sessions, for the next request of the same: pages read a session again after a reconnect, and several
 * devices at once. Bounded in bytes and time, because the service holds no transcript of a session that is not being read.
 */

export type RecentReadsOptions = {
  maxBytes?: number
  keptMs?: number
}

type Kept = { version: string; bytes: number; value: unknown }

const MAX_BYTES = 4 * 1024 * 1024
const KEPT_MS = 10_000

export type RecentReads = ReturnType<typeof createRecentReads>

export const createRecentReads = ({
  maxBytes = MAX_BYTES,
  keptMs = KEPT_MS,
}: RecentReadsOptions = {}) => {
  /** Least recently used first. */
  const kept = new Map<string, Kept>()
  let bytes = 0
  let timer: NodeJS.Timeout | undefined

  const drop = (key: string): void => {
    bytes -= kept.get(key)?.bytes ?? 0
    kept.delete(key)
  }

  const clear = (): void => {
    clearTimeout(timer)
    timer = undefined
    kept.clear()
    bytes = 0
  }

  return {
    /** The value of this key and version, made when it is not kept. `sizeOf`: its size in bytes. */
    read<T>(key: string, version: string, make: () => T, sizeOf: (value: T) => number): T {
      const found = kept.get(key)
      if (found) drop(key)
      const same = found?.version === version ? found : undefined
      const value = same ? (same.value as T) : make()
      const size = same?.bytes ?? sizeOf(value)
      if (size > maxBytes / 4) return value
      kept.set(key, { version, bytes: size, value })
      bytes += size
      for (const oldest of kept.keys()) {
        if (bytes <= maxBytes) break
        drop(oldest)
      }
      if (timer) timer.refresh()
      else timer = setTimeout(clear, keptMs).unref()
      return value
    },
    clear,
  }
}
