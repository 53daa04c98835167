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

/** Longer timers of Node and of browsers run at once. */
const LONGEST_MS = 2 ** 31 - 1

/** A timer of any length; the function that cancels it. */
const start = (ms: number, run: () => void, keepsAlive: boolean): (() => void) => {
  let timer: ReturnType<typeof setTimeout>
  const wait = (ms: number): void => {
    const next = () => (ms > LONGEST_MS ? wait(ms - LONGEST_MS) : run())
    timer = setTimeout(next, Math.min(ms, LONGEST_MS))
    // Those of a browser are numbers.
    if (!keepsAlive) (timer as { unref?: () => void }).unref?.()
  }
  wait(ms)
  return () => clearTimeout(timer)
}

/** `delay` of a clock with these timers. */
export const delayWith =
  (timer: Clock['timer']): Clock['delay'] =>
  (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const abort = () => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = timer(ms, () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      })
      signal?.addEventListener('abort', abort, { once: true })
    })

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer: (ms, run) => start(ms, run, false),
  delay: delayWith((ms, run) => start(ms, run, true)),
}

/** Calls `run` after each `ms`, until the returned function is called. Does not keep the process alive. */
export const every = (clock: Clock, ms: number, run: () => void): (() => void) => {
  const tick = () => {
    cancel = clock.timer(ms, tick)
    run()
  }
  let cancel = clock.timer(ms, tick)
  return () => cancel()
}

/** What `work` resolves to; undefined when it takes longer than `ms`. */
export const waitAtMost = async <T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
): Promise<T | undefined> => {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const cancel = clock.timer(ms, () => resolve(undefined))
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
  }
}

/** Milliseconds since 1970 that rise with every call, also when the clock is set back: for what is ordered by time. */
export const rising = (clock: Clock): (() => number) => {
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
