/** Retry delays, and waiting that an abort signal ends. */
import type { ProviderFailure } from './failure.ts'

export type Wait = (ms: number, signal: AbortSignal) => Promise<void>

const BASE_MS = 2_000
const CAP_MS = 60_000
/** Upper bound of the delay a provider may request. */
const RETRY_AFTER_CAP_MS = 120_000

/**
 * Exponential backoff with jitter over half the delay, so that turns that failed together do not retry together.
 * `attempt` starts at 1. A delay requested by the provider takes precedence.
 */
export const retryDelayMs = (
  attempt: number,
  failure: Pick<ProviderFailure, 'retryAfterMs'> | null,
  random: () => number,
): number => {
  if (failure?.retryAfterMs !== undefined) {
    // A provider that requests no delay but keeps failing gets a minimum.
    const minMs = attempt > 2 ? BASE_MS / 2 : 0
    return Math.min(Math.max(Math.ceil(failure.retryAfterMs), minMs), RETRY_AFTER_CAP_MS)
  }
  const full = Math.min(BASE_MS * 2 ** (attempt - 1), CAP_MS)
  return Math.round(full / 2 + (full / 2) * random())
}

/** Resolves after `ms`, rejects with the signal's reason as soon as it is aborted. */
export const wait: Wait = (ms, signal) =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })

/** Settles with `promise`, or rejects with the signal's reason, whichever is first. */
export const raceAbort = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) {
      // A late rejection must not become an unhandled one.
      promise.catch(() => undefined)
      return stop()
    }
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
