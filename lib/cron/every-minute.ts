/** The ticks of scheduled jobs. */
import type { Clock } from '../base/clock.ts'

const MINUTE_MS = 60_000

/**
 * Calls `tick` when a minute of the wall clock begins, until the returned function is called. A tick may come late, or twice when
 * the clock is set: it reads the current time, so nothing is missed or repeated. Does not keep the process alive.
 */
export const everyMinute = (clock: Clock, tick: () => void): (() => void) => {
  const wait = () =>
    clock.timer(MINUTE_MS - (clock.now() % MINUTE_MS), () => {
      cancel = wait()
      tick()
    })
  let cancel = wait()
  return () => cancel()
}
