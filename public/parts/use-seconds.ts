/** The time in a component. */
import { useEffect, useState } from 'preact/hooks'
import { type Clock, every, toSeconds } from '../../lib/base/clock.ts'

/** Seconds since 1970; the component is drawn again each second. */
export const useSeconds = (clock: Clock): number => {
  const [now, setNow] = useState(() => toSeconds(clock.now()))
  useEffect(() => every(clock, 1_000, () => setNow(toSeconds(clock.now()))), [clock])
  return now
}
