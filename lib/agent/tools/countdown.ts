/** A time limit that stands still while someone is asked. */
import type { Clock } from '../../base/clock.ts'

export type Countdown = {
  /** Each needs its own `go`: several questions may be open. */
  pause: () => void
  go: () => void
  stop: () => void
}

export const createCountdown = (clock: Clock, totalMs: number, onEnd: () => void): Countdown => {
  let left = totalMs
  let since = 0
  let pauses = 0
  let cancel: (() => void) | undefined
  let isStopped = false
  const start = () => {
    since = clock.monotonic()
    cancel = clock.timer(Math.max(0, left), onEnd)
  }
  const halt = () => {
    cancel?.()
    if (cancel) left -= clock.monotonic() - since
    cancel = undefined
  }
  start()
  return {
    pause() {
      pauses++
      halt()
    },
    go() {
      pauses--
      if (pauses === 0 && !isStopped) start()
    },
    stop() {
      isStopped = true
      halt()
    },
  }
}
