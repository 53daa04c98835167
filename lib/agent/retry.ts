/** How long to wait before a call is made again, and a wait that a person can end. */
import type { ProviderFailure } from './failure.ts'

export type Wait = (ms: number, signal: AbortSignal) => Promise<void>

const BASE_MS = 2_000
const CAP_MS = 60_000
/** A provider may ask for more than our own cap, but not for the whole evening. */
const RETRY_AFTER_CAP_MS = 120_000

/**
 * Doubles with each attempt (the first is 1) and is spread over half its length, so that many turns
 * that failed together do not come back together. The provider's own wish goes before.
 */
export const retryDelayMs = (
  attempt: number,
  failure: Pick<ProviderFailure, 'retryAfterMs'> | null,
  random: () => number,
): number => {
  if (failure?.retryAfterMs !== undefined) {
    // Who asks for no pause at all and refuses again and again is not taken at its word for ever.
    const least = attempt > 2 ? BASE_MS / 2 : 0
    return Math.min(Math.max(Math.ceil(failure.retryAfterMs), least), RETRY_AFTER_CAP_MS)
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

/** Settles with `promise`, or rejects with the signal's reason, whichever comes first. */
export const raceAbort = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) {
      // The loser must not surface as an unhandled rejection.
      promise.catch(() => undefined)
      return stop()
    }
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
