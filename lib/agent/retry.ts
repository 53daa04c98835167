/** Retry delays, and waiting that an abort signal ends. */
import type { Clock } from '../base/clock.ts'
import type { RetryReason } from '../schema/retry.ts'
import type { ProviderFailure } from './failure.ts'
import { type FailureKind, KINDS } from './failure-kinds.ts'

/** Rejects with the reason of `signal`; `end` ends the wait early. */
export type Wait = (ms: number, signal: AbortSignal, end?: AbortSignal) => Promise<void>

const BASE_MS = 2_000
const CAP_MS = 60_000
/**
 * The longest requested delay that is waited for, unless the turn says otherwise. Limits per hour end within it; for a longer
 * one the call fails, because the user has other plans by then, and a call before that time would fail again.
 */
export const MAX_RETRY_WAIT_MS = 3_600_000

/** A server that loads a model is asked this often, for ten minutes: 70 GB take that long from a slow disk. */
const LOADING_POLL_MS = 5_000
const LOADING_ATTEMPTS = 120

/** Limits per minute have passed by then. */
const RATE_LIMIT_MS = 120_000
const MIN_RATE_ATTEMPTS = 4
const MAX_RATE_ATTEMPTS = 14
/** Takes two minutes or more, with the delays of the backoff. */
const RATE_ATTEMPTS = 8
/** Longest additional wait after the requested delay. A delay of minutes is announced as it is. */
const MAX_JITTER_MS = 5_000
const MAX_JITTERED_MS = 60_000
/** Longest additional wait for a provider that keeps asking for a shorter one. */
const MAX_STEP_MS = 15_000

/**
 * Exponential backoff with jitter over half the delay, so that calls that failed together do not retry together.
 * `attempt` starts at 1. A delay requested by the provider takes precedence; the jitter comes after it.
 */
export const retryDelayMs = (
  attempt: number,
  failure: { retryAfterMs?: number | undefined; kind?: FailureKind },
  random: () => number,
): number => {
  const { retryAfterMs, kind } = failure
  if (retryAfterMs !== undefined) {
    // A provider that requests no or too short a delay but keeps failing gets a minimum that grows.
    const minMs = attempt > 2 ? Math.min((BASE_MS / 2) * 2 ** (attempt - 3), MAX_STEP_MS) : 0
    const jitterMs =
      retryAfterMs > MAX_JITTERED_MS ? 0 : Math.min(retryAfterMs / 2, MAX_JITTER_MS) * random()
    return Math.max(Math.ceil(retryAfterMs + jitterMs), minMs)
  }
  if (kind === 'loading') return LOADING_POLL_MS
  const full = Math.min(BASE_MS * 2 ** (attempt - 1), CAP_MS)
  return Math.round(full / 2 + (full / 2) * random())
}

/** How often a call is made in all. */
export const attemptsFor = ({ kind, retryAfterMs }: ProviderFailure): number => {
  switch (KINDS[kind].repeats) {
    case 'none':
      return 1
    case 'once':
      return 2
    case 'few':
      return kind === 'unreachable' ? 3 : 4
    case 'busy':
      return 6
    case 'loading':
      return LOADING_ATTEMPTS
    case 'rate': {
      if (retryAfterMs === undefined) return RATE_ATTEMPTS
      const needed = Math.ceil(RATE_LIMIT_MS / Math.max(1, retryAfterMs)) + 1
      return Math.min(Math.max(needed, MIN_RATE_ATTEMPTS), MAX_RATE_ATTEMPTS)
    }
  }
}

const REASONS: Partial<Record<FailureKind, RetryReason>> = {
  rate_limit: 'rate_limit',
  no_response: 'empty',
  only_thought: 'empty',
  loading: 'loading',
  unreachable: 'unreachable',
  overloaded: 'overloaded',
  server_error: 'server_error',
  connection: 'connection',
  cut_while_working: 'connection',
}

/** Why a call is repeated. */
export const retryReasonOf = ({ kind }: ProviderFailure): RetryReason => REASONS[kind] ?? 'error'

/** Delays and randomness of retries, replaced in tests. */
export type RetryTiming = { wait?: Wait; random?: () => number }

/** Waits on this clock. */
export const waitOn =
  (clock: Clock): Wait =>
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
