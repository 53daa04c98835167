/** Rate-limits a program's log lines (token bucket), and logs how many were dropped. */
import type { Clock } from '../../base/clock.ts'

const BURST = 60
const REFILL_MS = 2_000
const LINE_CHARS = 500

export const createLogLimiter = (
  write: (line: string) => void,
  clock: Pick<Clock, 'monotonic'>,
): ((line: string) => void) => {
  let tokens = BURST
  let filledAt = clock.monotonic()
  let omitted = 0
  return line => {
    const more = Math.floor((clock.monotonic() - filledAt) / REFILL_MS)
    if (more > 0) {
      tokens = Math.min(BURST, tokens + more)
      filledAt += more * REFILL_MS
    }
    if (tokens <= 0) {
      if (omitted === 0) write('prints more than is kept; what follows is left out')
      omitted++
      return
    }
    if (omitted > 0) {
      // Only after a quiet period; otherwise every second line would be this notice.
      if (tokens < BURST / 2) {
        omitted++
        return
      }
      write(`${omitted} lines were left out`)
      omitted = 0
    }
    tokens--
    write(line.slice(0, LINE_CHARS))
  }
}
