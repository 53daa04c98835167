/** Work for many receivers, done for all of them in rounds instead of at each event. */

/** So long a receiver may wait for others: the time of one frame of a screen. */
const MAX_PAUSE_MS = 16

type Options = {
  nowMs?: () => number
  later?: (work: () => void, ms: number) => void
}

/**
 * Returns a function that asks for `work` of one item in the next round, once however often it is asked for. A round begins in
 * the same iteration of the event loop while there is little to do; otherwise after a pause as long as the last one took, at
 * most 16 ms, so that rounds take half of the time at most. `work` must not throw.
 */
export const createRounds = <T>(
  work: (item: T) => void,
  { nowMs = () => performance.now(), later = setTimeout }: Options = {},
): ((item: T) => void) => {
  let waiting = new Set<T>()
  let restUntilMs = 0

  const run = () => {
    const startedMs = nowMs()
    const items = waiting
    waiting = new Set()
    // Promises that are settled by the work are followed by the next immediate, so it counts what they lead to.
    setImmediate(() => {
      const endedMs = nowMs()
      restUntilMs = endedMs + Math.min(endedMs - startedMs, MAX_PAUSE_MS)
    })
    for (const item of items) work(item)
  }

  return item => {
    waiting.add(item)
    if (waiting.size > 1) return
    const restMs = restUntilMs - nowMs()
    if (restMs < 1) setImmediate(run)
    else later(run, restMs)
  }
}
