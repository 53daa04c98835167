/** Does failed work again: after a while, and after twice as long each further time. */
import type { Clock } from '../../lib/base/clock.ts'

const FIRST_MS = 3_000
const MAX_MS = 60_000

export const createTryAgain = (clock: Pick<Clock, 'timer'>) => {
  let ms = FIRST_MS
  let cancel = () => {}
  let work: (() => void) | null = null
  /** It is being done. */
  const stop = (): void => {
    cancel()
    work = null
  }
  /** Not later; nothing when nothing is to be done again. */
  const now = (): void => {
    const next = work
    stop()
    next?.()
  }
  return {
    stop,
    now,
    /** It has not failed since it last succeeded. */
    isFirst: (): boolean => ms === FIRST_MS,
    later(next: () => void): void {
      stop()
      work = next
      cancel = clock.timer(ms, now)
      ms = Math.min(ms * 2, MAX_MS)
    },
    /** It succeeded, or need not be done any more. */
    end(): void {
      stop()
      ms = FIRST_MS
    },
  }
}

export type TryAgain = ReturnType<typeof createTryAgain>
