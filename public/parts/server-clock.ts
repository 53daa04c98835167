/** The server's clock, estimated from the `Date` header of its replies: the clock of a device may be wrong. */
import type { Clock } from '../../lib/base/clock.ts'

/** The header has whole seconds, and the reply takes time: a smaller difference is no evidence of a wrong clock. */
const TOLERANCE_MS = 2_000
/** The middle of the second that the header names. */
const HALF_SECOND_MS = 500

export type ServerClock = Clock & {
  /** Takes the `Date` header of a reply that has just arrived. */
  observe(date: string | null): void
}

/** Its timers are those of `clock`, the clock of the device. */
export const createServerClock = (clock: Clock): ServerClock => {
  let aheadMs = 0
  return {
    ...clock,
    now: () => clock.now() + aheadMs,
    observe(date) {
      const ms = Date.parse(date ?? '')
      if (Number.isNaN(ms)) return
      const differenceMs = ms + HALF_SECOND_MS - clock.now()
      aheadMs = Math.abs(differenceMs) < TOLERANCE_MS ? 0 : differenceMs
    },
  }
}
