/** How long a card still waits for an answer, by the server's clock. */
import { useSeconds } from '../../parts/use-seconds.ts'
import type { ServerClock } from '../../parts/server-clock.ts'

type Props = {
  /** Seconds since 1970. */
  until: number
  clock: ServerClock
  text: (time: string) => string
}

/** `4:09`. */
const formatLeft = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`

/** Not announced by screen readers: it changes each second. */
export function Countdown({ until, clock, text }: Props) {
  const left = Math.max(0, Math.ceil(until - useSeconds(clock)))
  return (
    <p class={left <= 30 ? 'ask-time ask-soon' : 'ask-time'} role="timer" aria-live="off">
      {text(formatLeft(left))}
    </p>
  )
}
