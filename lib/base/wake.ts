/** Waits that end early. */
import type { Clock } from './clock.ts'

export const createWake = (clock: Pick<Clock, 'delay'>) => {
  let over = new AbortController()
  return {
    /** Ends the wait that is under way, else the next one. */
    wake: (): void => over.abort(),
    /** Keeps the process alive. */
    async sleep(ms: number): Promise<void> {
      // Rejects only when it was woken.
      await clock.delay(ms, over.signal).catch(() => undefined)
      over = new AbortController()
    },
  }
}
