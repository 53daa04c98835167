/** The clock of scheduled jobs. */
const MINUTE_MS = 60_000

export type EveryMinuteOptions = {
  /** Milliseconds since 1970. */
  now?: () => number
  /** Calls `run` once after so many milliseconds, until the returned function is called. */
  after?: (run: () => void, ms: number) => () => void
}

const afterMs = (run: () => void, ms: number): (() => void) => {
  const timer = setTimeout(run, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/**
 * Calls `tick` when a minute of the wall clock begins, until the returned function is called. A tick may come late, or twice when
 * the clock is set: it reads the current time, so nothing is missed or repeated. Does not keep the process alive.
 */
export const everyMinute = (
  tick: () => void,
  { now = Date.now, after = afterMs }: EveryMinuteOptions = {},
): (() => void) => {
  const wait = () =>
    after(
      () => {
        cancel = wait()
        tick()
      },
      MINUTE_MS - (now() % MINUTE_MS),
    )
  let cancel = wait()
  return () => cancel()
}
