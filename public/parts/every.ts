/** What is done again and again by a clock. */
import { useEffect, useState } from 'preact/hooks'
import { type Clock, toSeconds } from '../../lib/base/clock.ts'

/** Calls `run` every `ms` until the returned function is called. */
export const every = (clock: Clock, ms: number, run: () => void): (() => void) => {
  let stop: () => void
  const next = () => {
    stop = clock.timer(ms, next)
    run()
  }
  stop = clock.timer(ms, next)
  return () => stop()
}

/** Seconds since 1970; the component is drawn again each second. */
export const useSeconds = (clock: Clock): number => {
  const [now, setNow] = useState(() => toSeconds(clock.now()))
  useEffect(() => every(clock, 1_000, () => setNow(toSeconds(clock.now()))), [clock])
  return now
}
