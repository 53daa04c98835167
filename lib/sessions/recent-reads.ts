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

export const createRecentReads = ({
  maxBytes = MAX_BYTES,
  keptMs = KEPT_MS,
}: RecentReadsOptions = {}) => {
  /** Least recently used first. */
  const kept = new Map<string, Kept>()
  let newest: string | undefined
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

  /** Undefined when it is not kept in this version. */
  const find = <T>(key: string, version: string): T | undefined => {
    const found = kept.get(key)
    if (found?.version !== version) return undefined
    if (key !== newest) {
      kept.delete(key)
      kept.set(key, found)
      newest = key
    }
    timer?.refresh()
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
    if (timer) timer.refresh()
    else timer = setTimeout(clear, keptMs).unref()
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
