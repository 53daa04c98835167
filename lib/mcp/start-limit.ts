/** Limits how often an MCP server is started: at most five times a minute, with growing pauses after failures. */
import type { Clock } from '../base/clock.ts'

const MINUTE_MS = 60_000
const STARTS_PER_MINUTE = 5
/** Pause after the n-th failure in a row. None after the first: most servers that crash once work when restarted. */
const BACKOFF_MS = [0, 0, 2_000, 10_000, 30_000, 60_000]

export const createStartLimit = (clock: Pick<Clock, 'monotonic'>) => {
  const now = clock.monotonic
  let failures = 0
  let failedAtMs = 0
  let starts: number[] = []
  return {
    mayStart(): boolean {
      starts = starts.filter(at => now() - at < MINUTE_MS)
      const pauseMs = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? 0
      return starts.length < STARTS_PER_MINUTE && (failures === 0 || now() - failedAtMs >= pauseMs)
    },
    recordStart: () => void starts.push(now()),
    recordFailure(): void {
      failures += 1
      failedAtMs = now()
    },
    recordSuccess(): void {
      failures = 0
    },
    /** The next start is allowed at once. */
    reset(): void {
      failures = 0
      starts = []
    },
  }
}
