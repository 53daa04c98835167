/** The time in a component. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Clock, every, toSeconds } from '../../lib/base/clock.ts'

/** Seconds since 1970; the component is drawn again each second. */
export const useSeconds = (clock: Clock): number => {
  const now = useSignal(toSeconds(clock.now()))
  useEffect(
    () =>
      every(clock, 1_000, () => {
        now.value = toSeconds(clock.now())
      }),
    [clock],
  )
  return now.value
}
