/** Retry delays, and waiting that an abort signal ends. */
import type { Clock } from '../base/clock.ts'
import type { RetryReason } from '../schema/retry.ts'
import type { ProviderFailure } from './failure.ts'

/** Rejects with the reason of `signal`; `end` ends the wait early. */
export type Wait = (ms: number, signal: AbortSignal, end?: AbortSignal) => Promise<void>

const BASE_MS = 2_000
const CAP_MS = 60_000
/**
 * The longest requested delay that is waited for, unless the turn says otherwise. Limits per hour end within it; for a longer
 * one the call fails, because the user has other plans by then, and a call before that time would fail again.
 */
export const MAX_RETRY_WAIT_MS = 3_600_000

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
    return Math.max(Math.ceil(failure.retryAfterMs), minMs)
  }
  const full = Math.min(BASE_MS * 2 ** (attempt - 1), CAP_MS)
  return Math.round(full / 2 + (full / 2) * random())
}

const OVERLOADED = /overloaded|server is busy|capacity/i

/** Why a call is repeated. 529 is Anthropic's status for an overloaded service, in use by others as well. */
export const retryReasonOf = ({
  type,
  status,
  isUnreachable,
  message,
}: ProviderFailure): RetryReason => {
  if (type === 'rate_limit') return 'rate_limit'
  if (type === 'no_response') return 'empty'
  if (type !== 'network') return 'error'
  if (isUnreachable) return 'unreachable'
  if (status === 503 || status === 529 || OVERLOADED.test(message)) return 'overloaded'
  return status === undefined ? 'connection' : 'server_error'
}

/** Waits on this clock. */
export const waitOn =
  (clock: Pick<Clock, 'delay'>): Wait =>
  async (ms, signal, end) => {
    try {
      await clock.delay(ms, end ? AbortSignal.any([signal, end]) : signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!end?.aborted) throw error
    }
  }

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
