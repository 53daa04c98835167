/** The server's clock, estimated from the `Date` header of its replies: the clock of a device may be wrong. */

/** The header has whole seconds, and the reply takes time: a smaller difference is no evidence of a wrong clock. */
const TOLERANCE_MS = 2_000
/** The middle of the second that the header names. */
const HALF_SECOND_MS = 500

export const createServerClock = (nowMs: () => number = Date.now) => {
  let aheadMs = 0
  return {
    /** Takes the `Date` header of a reply that has just arrived. */
    observe(date: string | null): void {
      const ms = Date.parse(date ?? '')
      if (Number.isNaN(ms)) return
      const differenceMs = ms + HALF_SECOND_MS - nowMs()
      aheadMs = Math.abs(differenceMs) < TOLERANCE_MS ? 0 : differenceMs
    },
    /** Seconds since 1970. */
    now: (): number => (nowMs() + aheadMs) / 1_000,
  }
}

export const serverClock = createServerClock()
