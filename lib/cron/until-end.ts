/** Waits for the end of the turn of a task, bounded in time: a stuck turn must not block the jobs behind it. */
import { sentence, type Words } from '../base/sentences.ts'
import { type Clock, every, toSeconds } from '../base/clock.ts'
import type { Failure, Outcome } from '../agent/types.ts'

export type StartedTurn = {
  turn: {
    sessionId: string
    streamId: string
    /** It continues after a restart. */
    readonly isResumable: boolean
    readonly parking: 'asked' | 'suspended' | null
    log: { position(): number }
    retries: { isWaiting(): boolean }
  }
  result: Promise<Outcome | null>
}

export type RunOutcome = { response: string } | { error: Words; interrupted?: boolean }

/** The service stopped, and the run cannot continue. */
export const CUT = { error: sentence('task.interrupted'), interrupted: true } as const

/** Null: the turn continues in another process. */
const toRunOutcome = (
  outcome: Outcome | null,
  turn: StartedTurn['turn'],
  signal: AbortSignal,
): RunOutcome | null => {
  if (signal.aborted && !turn.isResumable) return CUT
  if (!outcome && turn.parking === 'suspended') return null
  if (!outcome) return { error: sentence('task.stopped') }
  if (outcome.status !== 'finished')
    return { error: outcome.failure?.message ?? sentence('task.unfinished') }
  return outcome.text.trim() ? { response: outcome.text } : { error: sentence('turn.no_response') }
}

/** Resolves with null when the turn continues in another process. `stop` ends a turn. */
export const untilEnd = async (
  clock: Clock,
  stop: (streamId: string, failure: Failure) => unknown,
  { turn, result }: StartedTurn,
  { idleMs, maxMs }: { idleMs: number; maxMs: number },
  signal: AbortSignal,
): Promise<RunOutcome | null> => {
  const { promise: early, resolve: giveUp } = Promise.withResolvers<RunOutcome>()
  const end = (failure: Failure, outcome: RunOutcome): void => {
    stop(turn.streamId, failure)
    // The engine finishes in the background; the next job does not wait for it.
    giveUp(outcome)
  }
  const outOfTime = (why: Words) => end({ type: 'interrupted', message: why }, { error: why })
  const everyMs = Math.min(5_000, idleMs / 4)
  // Looks are counted, not time: while the machine does not run this process, nothing can happen.
  const seen = { position: -1, unchanged: 0 }
  const look = (): void => {
    const position = turn.log.position()
    // The wait before a retry is bounded by the engine.
    const isActive = position !== seen.position || turn.retries.isWaiting()
    Object.assign(seen, { position, unchanged: isActive ? 0 : seen.unchanged + 1 })
    if (seen.unchanged * everyMs >= idleMs)
      outOfTime(sentence('task.idle', { seconds: toSeconds(idleMs) }))
  }
  const tooLong = () => outOfTime(sentence('task.too_long', { seconds: toSeconds(maxMs) }))
  const stopLooking = idleMs > 0 ? every(clock, everyMs, look) : undefined
  const cancelEnd = maxMs > 0 ? clock.timer(maxMs, tooLong) : undefined
  // One that continues after a restart is parked with the others.
  const onAbort = () => turn.isResumable || end({ type: 'interrupted', message: CUT.error }, CUT)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([early, result.then(outcome => toRunOutcome(outcome, turn, signal))])
  } finally {
    stopLooking?.()
    cancelEnd?.()
    signal.removeEventListener('abort', onAbort)
  }
}
