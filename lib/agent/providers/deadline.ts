/** One abort signal out of three reasons to stop: a person, silence for too long, or too long altogether. */
import { ProviderFailure } from '../failure.ts'

export const createDeadline = (signal: AbortSignal, host: string, overallMs: number) => {
  const own = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const overall = setTimeout(
    () => own.abort(new ProviderFailure('network', `The answer of ${host} took too long.`)),
    overallMs,
  )
  return {
    signal: AbortSignal.any([signal, own.signal]),
    /** Allows this much silence from now; 0 allows any. */
    allow(ms: number): void {
      clearTimeout(timer)
      if (ms > 0)
        timer = setTimeout(
          () => own.abort(new ProviderFailure('network', `${host} has been silent for too long.`)),
          ms,
        )
    },
    /** Why our own clock stopped the call, if it did. */
    reason: (): unknown => (own.signal.aborted ? own.signal.reason : undefined),
    close(): void {
      clearTimeout(timer)
      clearTimeout(overall)
    },
  }
}
