/** The one source of time for the service, the page, and their tests. Every duration and moment inside is in milliseconds. */

export type Clock = {
  /** Milliseconds since 1970-01-01 UTC. Goes back when the clock of the computer is set back. */
  now(): number
  /** Milliseconds since some moment; never goes back. For durations that a clock that is set must not change. */
  monotonic(): number
  /** Calls `run` once after `ms`, unless the returned function is called before. Does not keep the process alive. */
  timer(ms: number, run: () => void): () => void
  /** Resolves after `ms`; rejects with the reason of `signal` when it is aborted before. Keeps the process alive. */
  delay(ms: number, signal?: AbortSignal): Promise<void>
}

/** Node's timers can let the process end; those of a browser are numbers. */
const unref = (timer: unknown): void => (timer as { unref?: () => void }).unref?.()

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(ms, run) {
    const timer = setTimeout(run, ms)
    unref(timer)
    return () => clearTimeout(timer)
  },
  delay: (ms, signal) =>
    new Promise((resolve, reject) => {
      const abort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      if (signal?.aborted) return reject(signal.reason)
      signal?.addEventListener('abort', abort, { once: true })
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', abort)
        resolve()
      }, ms)
    }),
}

/** Calls `run` after each `ms`, until the returned function is called. Does not keep the process alive. */
export const every = (clock: Pick<Clock, 'timer'>, ms: number, run: () => void): (() => void) => {
  const tick = () => {
    cancel = clock.timer(ms, tick)
    run()
  }
  let cancel = clock.timer(ms, tick)
  return () => cancel()
}

/** Milliseconds since 1970 that rise with every call, also when the clock is set back: for what is ordered by time. */
export const rising = (clock: Pick<Clock, 'now'>): (() => number) => {
  let last = 0
  return () => {
    last = Math.max(clock.now(), last + 1)
    return last
  }
}

/** Of files and of the wire, which count seconds. */
export const toSeconds = (ms: number): number => ms / 1_000

/** The other way. */
export const fromSeconds = (seconds: number): number => seconds * 1_000
